"""Reads the site as a browser would, decodes and compares: `enable` makes sure of its dictionary,
and `check` reports what keeps a dictionary from being used, in httpd or in front of it."""

import hashlib
import re
import secrets
import ssl
import typing
import urllib.parse

from codeckit import decoders, dictionaries
from dictionarykit import exchange, report, sources, unprivileged, visit
from dictionarykit.exchange import Failed, Refused

AWAITED = 15  # seconds until httpd has reloaded
CHECKED = 300  # seconds for the rest: pages may be slow
RATE = 50
VISITS_MOST = 5  # to a page that changes
PAUSE = 0.5  # seconds between these: some pages contain the time, in seconds
PAGES_MOST = 10
ALL, WITH_DICTIONARY = "gzip, br, zstd", "dcb, dcz"
DOCUMENT = {"Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Site": "none"}
OF_PAGE = {"Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Site": "same-origin"}

OK, ADVICE, PROBLEM = "ok", "advice", "problem"
LOOPBACK = ("localhost", "127.0.0.1", "::1")  # http counts as secure there, too
DAY = 86400
COMPRESSED_LEAST = 2000  # bytes; the server does not compress bodies of a packet or two
# A browser's destination for a media type; all others are requested as documents.
DESTINATIONS = {"text/css": "style", "text/javascript": "script",
                "application/javascript": "script", "application/json": "empty"}
# Fields that reveal caches and CDNs.
IN_FRONT = ("via", "cf-ray", "cf-cache-status", "x-cache", "x-served-by", "cdn-cache", "age")
ASK_ORIGIN = "with --resolve ADDRESS the origin is asked itself, past a CDN"
HONOUR_VARY = "let caches in front honour Vary, and proxies change no bodies; " + ASK_ORIGIN
MATCH = re.compile(r'(?:^|[ ,])match="([^"]*)"')
DESTINATION = re.compile(r"match-dest=\(([^)]*)\)")
IDENTIFIER = re.compile(r'(?:^|[ ,])id=("(?:[^"\\]|\\.)*")')


class Finding(typing.NamedTuple):
    verdict: str
    subject: str
    seen: str
    change: str = ""


class Fault(Failed):
    """The fault of a site, and the change that mends it."""

    def __init__(self, seen, change, verdict=PROBLEM):
        super().__init__(seen)
        self.change, self.verdict = change, verdict


def require(good, *fault):
    if not good:
        raise Fault(*fault)


def is_secure(url):
    scheme, host, _ = exchange.origin(url)
    return scheme == "https" or host in LOOPBACK or host.endswith(".localhost")


def decoded(answer, content=b""):
    try:
        return decoders.decode(answer.coding(), answer.body, content, exchange.BODY_MOST)
    except ValueError as problem:
        raise Fault(f"a response is broken: {problem}", HONOUR_VARY) from None


class Browser:
    def __init__(self, reach, seconds):
        self.visitor = visit.Visitor(None, RATE, seconds, reach)
        self.fields, self.at = DOCUMENT, ""  # the target of redirects

    def ask(self, url, codings=ALL, content=b"", **more):
        """The response, after redirects of the URL's own host. `content`: a dictionary of the
        browser."""
        fields = {"User-Agent": visit.AGENT, "Accept": "text/html, */*;q=0.5",
                  "Accept-Encoding": codings, **self.fields, **more}
        if content:
            fields["Available-Dictionary"] = dictionaries.field(content)
        try:
            self.at, answer = self.visitor.follow(url, exchange.BODY_MOST, fields=fields)
            return answer
        except Refused as problem:
            raise Failed(f"{url}: {problem}") from None

    def is_page(self, url, body):
        """True if the body has all that the page has at each visit, and, for a page that never
        changes, nothing else. Parts that change may be equal by chance, and then differ in the
        body."""
        first = same = decoded(self.ask(url, "identity"))
        changes = False
        for number in range(VISITS_MOST):
            if number:
                self.visitor.sleep(PAUSE)
            found = decoded(self.ask(url, "identity"))
            changes = changes or found != first
            same = visit.common(same, found)
            if body == first or changes and visit.common(same, body) == same:
                return True
        return False


def check(reach, content, pages, files=()):
    """The check of `enable`. Returns {"pages", "used", "bytes", "bytes_without"} of the site as it
    is sent now, with headers. `files` are URLs of versioned files."""
    browser, links = Browser(reach, AWAITED), []
    # httpd has reloaded when a page names the dictionary.
    while not links or not links[0].endswith("/" + hashlib.sha256(content).hexdigest()[:32]):
        try:
            links = browser.ask(pages[0]).links()
        except Failed as problem:
            told = "" if not reach.scheme else "does httpd know that it is asked by https, as by " \
                "SetEnvIf X-Forwarded-Proto https HTTPS=on, "
            raise Failed(
                f"the site does not name the dictionary after a reload ({problem}): {told}is "
                "`Elastic On` in force there, and may httpd's user write to "
                "ElasticDictionaryStore? Its error log says more") from None
        if len(links) > 1:
            raise Failed(f"{pages[0]} names {links[-1]}, too: remove that first")
    link = urllib.parse.urljoin(pages[0], links[0])
    browser.visitor.until = browser.visitor.clock() + CHECKED
    answer = browser.ask(link, **OF_PAGE)
    if decoded(answer) != content or not answer.lifetime() or not answer.values(
            "use-as-dictionary"):
        raise Failed(f"{link} is another one, or may not be kept")
    used = []
    for url in pages[:PAGES_MOST]:
        # Among all codings, a busy server may prefer a cheaper one.
        answer, without = browser.ask(url, WITH_DICTIONARY, content), browser.ask(url)
        if answer.status != 200 or not browser.is_page(url, decoded(answer, content)):
            raise Failed(f"{url} is another page with the dictionary")
        if answer.coding() in dictionaries.HEADS:
            used.append([one.head() + len(one.body) for one in (answer, without)])
    if not used:
        raise Failed("httpd did not use the dictionary for any page: is `Elastic On` in force "
                     "there? If so, the note elastic-dictionary in its log says why")
    for url in files:
        if not browser.ask(url).values("use-as-dictionary"):
            raise Failed(f"{url} is not given out as a dictionary")
    with_it, without = map(sum, zip(*used))
    return {"pages": len(pages[:PAGES_MOST]), "used": len(used), "bytes": with_it,
            "bytes_without": without}


class Examination:
    """A method for each line of `check`, which returns its observation."""

    def __init__(self, browser, url):
        self.browser, self.as_what = browser, "document"
        self.page = browser.ask(url, f"{ALL}, {WITH_DICTIONARY}")
        self.url, self.coding = browser.at, self.page.coding() or "identity"
        self.link, self.content, self.more = "", b"", {}

    def https(self):
        require(is_secure(self.url), self.url,
                "serve it by https: browsers use dictionaries with nothing else")
        return self.url

    def in_front(self):
        found = [f"{name}: {value}" for name in IN_FRONT for value in self.page.values(name)]
        require(not found, "; ".join(found), "if the difference does not come, let the fields of "
                "RFC 9842 and dcb, dcz through; in Cloudflare, set shared dictionaries to "
                "passthrough", ADVICE)
        return "no cache or CDN that says so"

    def whole(self):
        size = len(self.page.body)
        require(self.page.status == 200, f"{self.url} has the status {self.page.status}",
                "check a URL that a visitor without a password gets")
        self.as_what = DESTINATIONS.get(self.page.media_type(), "document")
        if self.as_what != "document":
            self.browser.fields = {**OF_PAGE, "Sec-Fetch-Dest": self.as_what}
        require(self.browser.is_page(self.url, decoded(self.page)), f"what comes as {self.coding} "
                "is not what comes without codings", HONOUR_VARY)
        require(self.coding != "identity" or size < COMPRESSED_LEAST, f"{ALL} were asked for, and "
                "identity came", "set Elastic On; a proxy must let Accept-Encoding through: "
                + ASK_ORIGIN, ADVICE)
        return f"{size:,} bytes, {self.coding}"

    def named(self):
        links = self.page.links() or sources.Markup(self.url, decoded(self.page)).dictionaries or [
            self.url] * bool(self.page.values("use-as-dictionary"))
        require(links, "the page names no dictionary", "set ElasticDictionaryFile or "
                "ElasticDictionaryLink, and ElasticDictionaryStore; it is for HTML")
        self.link = urllib.parse.urljoin(self.url, links[0])
        require(exchange.origin(self.link) == exchange.origin(self.url), f"the dictionary is at "
                f"{self.link}", "serve it where the page is: it is for its own origin only")
        return self.link

    def dictionary(self):
        fields = {**OF_PAGE, "Referer": self.url}
        answer = self.browser.ask(self.link, **fields)
        require(answer.status == 200, f"{self.link} has the status {answer.status}",
                "correct what the page names")
        use, seconds = ", ".join(answer.values("use-as-dictionary")), answer.lifetime() or 0
        match, dest, named = (found.search(use) for found in (MATCH, DESTINATION, IDENTIFIER))
        require(match, f"Use-As-Dictionary: {use or 'is missing'}; Cache-Control: "
                f"{', '.join(answer.values('cache-control')) or 'is missing'}", "set "
                "ElasticDictionary for this URL, and ElasticDictionaryStore; everyone has to be "
                "allowed to keep it, without a cookie, and for a time (max-age); " + ASK_ORIGIN)
        pattern, target = (exchange.target_of(url) for url in (
            urllib.parse.urljoin(self.link, match[1]), self.url))
        target = target if "?" in pattern else target.partition("?")[0]
        require(sources.matches(pattern + "$", target)
                and (not dest or f'"{self.as_what}"' in dest[1].split()),
                f"{use} does not match {self.url} as {self.as_what}",
                "change match or match-dest, or check a page that it is for")
        self.content, self.more = decoded(answer), {"Dictionary-ID": named[1]} if named else {}
        require(decoded(self.browser.ask(self.link, "identity", **fields)) == self.content,
                "it is another one each time", "make it a file; " + HONOUR_VARY)
        require(seconds >= DAY, f"a browser keeps it for {seconds} seconds", "visitors who come "
                'back later fetch it again: Header set Cache-Control "public, max-age=2592000"',
                ADVICE if seconds else PROBLEM)
        return f"{use}, {len(answer.body):,} bytes, for {seconds / DAY:.1f} days"

    def difference(self):
        answer = self.browser.ask(self.url, f"{ALL}, {WITH_DICTIONARY}", self.content, **self.more)
        coding = answer.coding() or "identity"
        require(coding in dictionaries.HEADS, f"with the dictionary the page comes as {coding} all "
                "the same", "the note elastic-dictionary in httpd's log says why; with `outdone` "
                "the server is busy, or the page shares too little with it. A CDN must let "
                "Available-Dictionary, and dcb and dcz in Accept-Encoding through: " + ASK_ORIGIN,
                PROBLEM if coding == "identity" else ADVICE)
        require(self.browser.is_page(self.url, decoded(answer, self.content)), f"{coding} decodes "
                "to another page than comes without a dictionary", HONOUR_VARY)
        return f"{coding}, {len(answer.body):,} bytes instead of {len(self.page.body):,} " \
               f"({self.coding})"

    def vary(self):
        """Checks Vary on each answer, and that no client gets a coding that it did not accept."""
        for who, codings, content in (
                ("browsers without codings", "identity", b""),
                ("those without a dictionary", ALL, b""),
                ("those with another dictionary", ALL, secrets.token_bytes(32)),
                ("those with the dictionary", f"{ALL}, {WITH_DICTIONARY}", self.content)):
            answer = self.browser.ask(self.url, codings, content, **self.more)
            coding = answer.coding() or "identity"
            require(coding in f"identity, {codings}".split(", "), f"{who} get {coding}", "a cache "
                    "in front does not honour Vary: correct it, or send pages with Cache-Control: "
                    "private")
            found, control = (exchange.directives(answer.values(name))
                              for name in ("vary", "cache-control"))
            require("*" in found or {"accept-encoding", "available-dictionary"} <= found,
                    f"{', '.join(sorted(found)) or 'is missing'} for {who}", "a shared cache would "
                    "give one answer to all browsers: let it through from httpd, or Header merge "
                    'Vary "Accept-Encoding, Available-Dictionary"',
                    ADVICE if control & {"private", "no-store"} else PROBLEM)
        return "names Accept-Encoding and Available-Dictionary, and is honoured"


def examine(reach, url):
    """All findings, until one makes further requests useless."""
    found, one = [], Examination(Browser(reach, CHECKED), url)
    for subject, question in (("https", one.https), ("in front", one.in_front), ("page", one.whole),
                              ("link", one.named), ("dictionary", one.dictionary),
                              ("difference", one.difference), ("Vary", one.vary)):
        try:
            found.append(Finding(OK, subject, question()))
        except Fault as fault:
            found.append(Finding(fault.verdict, subject, str(fault), fault.change))
            if fault.verdict == PROBLEM and subject in ("page", "link", "dictionary"):
                break
    return found


def run(args):
    host, port = args.resolve or ("", 0)
    context = ssl.create_default_context(cafile=args.cafile or None)
    reach = exchange.Reach((host,) if host else (), context, port)
    found = unprivileged.call(examine, reach, args.url, seconds=CHECKED)
    if args.cafile:
        found.append(Finding(ADVICE, "certificate", "--cafile: authorities of your own",
                             "Chromium uses no dictionary under a certificate that it does not "
                             "know by itself: take one of a public authority"))
    for verdict, subject, seen, change in found:
        change = f". Change: {change}" if change else ""
        print(report.plain(f"{verdict:<8} {subject:<18} {seen}{change}"))
    verdicts = [verdict for verdict, *_ in found]
    print(f"{verdicts.count(PROBLEM)} problems, {verdicts.count(ADVICE)} pieces of advice")
    return int(PROBLEM in verdicts)
