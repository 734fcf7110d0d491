"""`check`: what a browser, a shared cache and a CDN in front make of a page and its dictionary."""

import argparse
import re
import secrets
import ssl
import typing
import urllib.parse

from codeckit import decoders, dictionaries, libraries
from dictionarykit import (arguments, exchange, failure, markup, report, response, robots, sources,
                           unprivileged, visit)

HELP = "ask for a page as a browser does, and say what keeps its dictionary from being used"
OK, ADVICE, PROBLEM = "ok", "advice", "problem"
DAY = 86400
SECONDS = 300  # for all of it
WORTH_MOST = 0.8  # of a page's bytes: with more, the server may well prefer another coding
COMPRESSED_LEAST = 2000  # bytes; the server leaves what fits into a packet or two
ENCODINGS = "gzip, br, zstd"
NAVIGATION = {"Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate",
              "Sec-Fetch-Site": "none", "Sec-Fetch-User": "?1", "Upgrade-Insecure-Requests": "1"}
# What a browser calls a use of a media type; all others are asked for as a document.
DESTINATIONS = {"text/css": "style", "text/javascript": "script",
                "application/javascript": "script", "application/json": "empty"}
# Fields by which caches and CDNs show themselves.
IN_FRONT = ("via", "cf-ray", "cf-cache-status", "x-cache", "x-served-by", "cdn-cache", "age")
ASK_ORIGIN = "with --resolve ADDRESS the origin is asked itself, past a CDN"
HONOUR_VARY = "let caches in front honour Vary, and proxies change no bodies; " + ASK_ORIGIN
MATCH = re.compile(r'(?:^|[ ,])match="([^"]*)"')
DESTINATION = re.compile(r"match-dest=\(([^)]*)\)")
IDENTIFIER = re.compile(r'(?:^|[ ,])(?:id=("(?:[^"\\]|\\.)*"))')
UNWANTED = {"cache-control": {"private", "no-store", "no-cache"},
            "vary": {"cookie", "authorization", "*"}}
CODINGS = ("", "identity", *decoders.PLAIN)  # of who has no dictionary
MAX_AGE = 'Header set Cache-Control "public, max-age=2592000"'


class Finding(typing.NamedTuple):
    verdict: str
    subject: str
    seen: str
    change: str = ""


class Answer(typing.NamedTuple):
    """A response, and the URL to which redirects led."""

    url: str
    response: response.Response

    def coding(self):
        return ", ".join(self.response.values("content-encoding")).strip().lower()

    def body(self, dictionary=b""):
        """Without its coding; ValueError: it does not decode, or a browser would not."""
        return decoders.decode(self.coding(), self.response.body, dictionary, exchange.BODY_MOST)

    def body_or_none(self):
        try:
            return self.body()
        except ValueError:
            return None


class Browser:
    """`resolve`: (host, port or 0), the address to ask, or None."""

    def __init__(self, context, resolve):
        at, port = resolve or ("", 0)
        self.reach = exchange.Reach((at,) if at else (), context, port)
        # dcb where it can be decoded here.
        is_dcb = libraries.load_dictionaries("brotli decoder")
        self.codings = ENCODINGS + (", dcb" if is_dcb else "") + ", dcz"
        self.fields = NAVIGATION

    def follow(self, url, asked):
        """Of the URL's own host: what is elsewhere may be meant for this machine alone."""
        for _ in range(visit.REDIRECTS_MOST + 1):
            try:
                answer = exchange.get(url, self.reach, {"User-Agent": visit.AGENT, "Accept": "*/*",
                                                        **asked}, exchange.BODY_MOST)
                found = exchange.redirect_of(url, answer)
            except exchange.Refused as problem:
                raise failure.Failed(f"{url}: {problem}") from None
            if not found:
                return Answer(url, answer)
            url = found
        raise failure.Failed(f"{url}: redirects again and again")

    def ask(self, url, encodings=ENCODINGS, **more):
        """A page; underscores in the names of further fields are hyphens."""
        return self.follow(url, {"Accept-Encoding": encodings, **self.fields, **{
            name.replace("_", "-"): value for name, value in more.items()}})

    def ask_dictionary(self, url, page, encodings=ENCODINGS):
        """What a page links to as its dictionary."""
        return self.follow(url, {
            "Accept-Encoding": encodings, "Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": "cors",
            "Sec-Fetch-Site": "same-origin", "Referer": page})

    def become(self, destination):
        """From now on what was a page is asked for as that."""
        if destination != "document":
            self.fields = {"Sec-Fetch-Dest": destination, "Sec-Fetch-Mode": "cors",
                           "Sec-Fetch-Site": "same-origin"}


def check_secure(answer):
    scheme, host, _ = sources.origin(answer.url)
    if scheme == "https" or host in arguments.LOOPBACK or host.endswith(".localhost"):
        return Finding(OK, "https", answer.url)
    return Finding(PROBLEM, "https", answer.url, "serve it by https: browsers use dictionaries "
                   "with nothing else")


def check_status(subject, answer):
    status = answer.response.status
    if status == 200:
        return Finding(OK, subject, f"{answer.url}, {len(answer.response.body):,} bytes, "
                       + (answer.coding() or "not compressed"))
    return Finding(PROBLEM, subject, f"{answer.url} has the status {status}",
                   "check a URL that a visitor without a password gets")


def unnamed(body, plain):
    """The coding of a body that was sent without naming one; None: it has none."""
    for coding, head in dictionaries.HEADS.items():
        if body.startswith(head):
            return coding
    for coding in decoders.PLAIN:
        try:
            if body != plain and decoders.decode(coding, body, most=exchange.BODY_MOST) == plain:
                return coding
        except ValueError:
            pass
    return None


def check_coding(subject, answer, plain, change):
    """Whether the body decodes to what is sent without a coding, which `plain` is, or None: that
    changes with each request. `change`: what to do where it is another."""
    coding = answer.coding()
    removed = None if coding else unnamed(answer.response.body, plain)
    if removed:
        return Finding(PROBLEM, subject, f"it is {removed}, and no Content-Encoding says so",
                       "a proxy in front removes Content-Encoding: let it through; " + ASK_ORIGIN)
    try:
        body = answer.body()
    except ValueError as problem:
        return Finding(PROBLEM, subject, str(problem), HONOUR_VARY)
    if plain is not None and body != plain:
        return Finding(PROBLEM, subject, f"what comes as {coding or 'identity'} is not what comes "
                       "without codings", change)
    if not coding and len(body) >= COMPRESSED_LEAST:
        return Finding(ADVICE, subject, f"{ENCODINGS} were asked for, and identity came",
                       "set Elastic On; a proxy must let Accept-Encoding through: " + ASK_ORIGIN)
    return Finding(OK, subject, coding or "identity")


def link_of(page, destination):
    """(the URL of the page's dictionary or None, how it is named)."""
    links = response.linked(page.response.values("link"))
    if links:
        return urllib.parse.urljoin(page.url, links[0]), "a Link field"
    body = page.body_or_none() if destination == "document" else None
    links = markup.Markup(page.url, body or b"").dictionaries
    if links:
        return links[0], "a <link>"
    if page.response.values("use-as-dictionary"):
        return page.url, "the file is a dictionary itself"
    return None, ""


def why_no_dictionary(answer):
    """What keeps ElasticDictionary from making one of it, or else how to set it."""
    reasons = [f"{name.title()}: {found}" for name, unwanted in UNWANTED.items()
               for found in sorted(response.directives(answer.values(name)) & unwanted)]
    reasons += ["Set-Cookie"] * bool(answer.values("set-cookie"))
    if reasons:
        return "remove what says that it is not for everyone: " + ", ".join(reasons)
    if not response.lifetime(answer):
        return "say for how long it may be kept: " + MAX_AGE
    return "set ElasticDictionary for this URL, and ElasticDictionaryStore; " + ASK_ORIGIN


def check_use(answer, url, destination):
    """Use-As-Dictionary, as the module writes it."""
    subject, text = "Use-As-Dictionary", ", ".join(answer.response.values("use-as-dictionary"))
    if not text:
        return Finding(PROBLEM, subject, "is missing", why_no_dictionary(answer.response))
    pattern, wanted = MATCH.search(text), DESTINATION.search(text)
    if not pattern:
        return Finding(PROBLEM, subject, f"{text}: no match", "a browser ignores it: correct it, "
                       "or leave it to the module")
    parts = urllib.parse.urlsplit(urllib.parse.urljoin(answer.url, pattern[1]))
    path, query = (getattr(urllib.parse.urlsplit(url), name) for name in ("path", "query"))
    if not robots.matches(parts.path + "$", path) or parts.query and not robots.matches(
            parts.query + "$", query):
        return Finding(PROBLEM, subject, f'match="{pattern[1]}" does not match {url}',
                       "change match, or check a page that it is for")
    if wanted and f'"{destination}"' not in wanted[1].split():
        return Finding(PROBLEM, subject, f"match-dest has no \"{destination}\"",
                       f"add {destination} to match-dest, or check a URL that it is for")
    return Finding(OK, subject, text)


def check_lifetime(answer):
    seconds = response.lifetime(answer.response)
    if not seconds:
        return Finding(PROBLEM, "lifetime", "a browser may not keep the dictionary" if seconds == 0
                       else "nothing says for how long the dictionary may be kept", MAX_AGE)
    seen = f"a browser keeps the dictionary for {seconds / DAY:,.1f} days"
    return Finding(OK, "lifetime", seen) if seconds >= DAY else Finding(
        ADVICE, "lifetime", seen, "visitors who come back later fetch it again: " + MAX_AGE)


def could_save(dictionary, page):
    """Whether a difference would be far smaller than what was sent."""
    body = page.body_or_none()
    with dictionaries.Dcz(dictionary) as coding:
        return body is None or coding.size(body) < WORTH_MOST * len(page.response.body)


def check_difference(answer, page, dictionary, plain):
    """What came of a request that names the dictionary; `plain` as in check_coding()."""
    coding, body = answer.coding(), answer.response.body
    if not coding and body.startswith(tuple(dictionaries.HEADS.values())):
        return check_coding("difference", answer, plain, "")
    if coding not in dictionaries.HEADS:
        seen = f"with the dictionary the page comes as {coding or 'identity'} all the same"
        if not could_save(dictionary, page):
            return Finding(ADVICE, "difference", seen, "the page shares too little with the "
                           "dictionary: make one that is more like it")
        if coding:
            return Finding(ADVICE, "difference", seen, "a busy server may prefer that coding for "
                           "now: the note elastic-dictionary in httpd's log is `outdone` then. "
                           "Otherwise a CDN must let Available-Dictionary, and dcb and dcz in "
                           "Accept-Encoding through: " + ASK_ORIGIN)
        return Finding(PROBLEM, "difference", seen, "the note elastic-dictionary in httpd's log "
                       "says why; " + ASK_ORIGIN)
    try:
        decoded = answer.body(dictionary)
        if plain is not None and decoded != plain:
            raise ValueError("decodes to another page than comes without a dictionary")
    except ValueError as problem:
        return Finding(PROBLEM, "difference", f"{coding}: {problem}", HONOUR_VARY)
    return Finding(OK, "difference", f"{coding}, {len(body):,} bytes instead of "
                   f"{len(page.response.body):,} ({page.coding() or 'identity'})")


def check_vary(answers):
    """That every answer of the page names what it depends on."""
    lacking = {}
    for which, answer in answers.items():
        found = response.directives(answer.response.values("vary"))
        missing = [] if "*" in found else [name for name in ("Accept-Encoding",
                                                             "Available-Dictionary")
                                           if name.lower() not in found]
        if missing:
            lacking.setdefault(", ".join(missing), []).append(which)
    if not lacking:
        return Finding(OK, "Vary", "names Accept-Encoding and Available-Dictionary on all answers")
    seen = "; ".join(f"{missing} is missing {' and '.join(which)}"
                     for missing, which in lacking.items())
    is_kept = any(may_share(answer.response) for answer in answers.values())
    return Finding(PROBLEM if is_kept else ADVICE, "Vary", seen, "a shared cache would give one "
                   "answer to all browsers: let it through from httpd, or Header merge Vary "
                   '"Accept-Encoding, Available-Dictionary"')


def may_share(answer):
    return not {"private", "no-store"} & response.directives(answer.values("cache-control"))


def check_others(answers):
    """That browsers get no coding that they did not ask for: {which: (answer, codings)}."""
    for which, (answer, codings) in answers.items():
        if answer.coding() not in codings:
            return Finding(PROBLEM, "other browsers", f"{which} get {answer.coding()}",
                           "a cache in front does not honour Vary: correct it, or send pages with "
                           "Cache-Control: private")
    return Finding(OK, "other browsers", "get codings that they know")


def check_caches(page):
    text = ", ".join(page.response.values("cache-control"))
    if not may_share(page.response):
        return Finding(OK, "shared caches", f"keep no page: Cache-Control: {text}")
    if response.lifetime(page.response) is None and "s-maxage" not in text:
        return Finding(ADVICE, "shared caches", "nothing says for how long they may keep the page",
                       "say it: Cache-Control: no-cache, private or max-age")
    return Finding(OK, "shared caches", f"keep an answer for each coding and dictionary: {text}")


def check_front(answer):
    seen = [f"{name}: {value}" for name in IN_FRONT for value in answer.response.values(name)]
    if not seen:
        return Finding(OK, "in front", "no cache or CDN that says so")
    is_cloudflare = any(name.startswith("cf-") for name, _ in answer.response.fields)
    return Finding(ADVICE, "in front", "; ".join(seen), "if the difference does not come: "
                   + ("turn shared dictionaries (passthrough) on in Cloudflare" if is_cloudflare
                      else "let the fields of RFC 9842 and dcb, dcz through"))


def examine_difference(browser, page, plainly, dictionary, plain):
    """The page for who has the dictionary, its content and its id, and for who has not."""
    content, identifier = dictionary

    def ask(content):
        more = {"Dictionary_ID": identifier[1]} if identifier else {}
        return browser.ask(page.url, browser.codings,
                           Available_Dictionary=dictionaries.field(content), **more)

    found, other = ask(content), ask(secrets.token_bytes(32))
    yield check_difference(found, page, content, plain)
    yield check_others({"those without codings": (plainly, ("", "identity")),
                        "those without a dictionary": (browser.ask(page.url), CODINGS),
                        "those with another dictionary": (other, CODINGS)})
    yield check_vary({"without a dictionary": page, "with it": found, "with another": other})


def examine_dictionary(browser, url, page, destination):
    """The dictionary of a page. Returns its content and id, None where it is of no use."""
    answer = browser.ask_dictionary(url, page.url)
    yield check_status("dictionary", answer)
    if answer.response.status != 200:
        return None
    yield check_use(answer, page.url, destination)
    content = browser.ask_dictionary(url, page.url, "identity").body_or_none()
    yield check_coding("dictionary coding", answer, content,
                       "a dictionary must be the same for everyone, each time: make it a file")
    yield check_lifetime(answer)
    use = answer.response.values("use-as-dictionary")
    return (content, IDENTIFIER.search(", ".join(use))) if use and content else None


def examine(browser, url):
    """All findings, until one leaves nothing to ask for."""
    page = browser.ask(url)
    yield check_secure(page)
    yield check_status("page", page)
    if page.response.status != 200:
        return
    destination = DESTINATIONS.get(page.response.media_type(), "document")
    browser.become(destination)
    plainly, again = browser.ask(page.url, "identity"), browser.ask(page.url, "identity")
    is_same = plainly.response.body == again.response.body and not plainly.coding()
    plain = plainly.response.body if is_same else None
    yield check_coding("page coding", page, plain,
                       "look for what makes pages by Accept-Encoding; " + HONOUR_VARY)
    named, how = link_of(page, destination)
    if not named:
        yield Finding(PROBLEM, "link", "the page names no dictionary", "set ElasticDictionaryFile "
                      "or ElasticDictionaryLink, and ElasticDictionaryStore; it is for HTML with "
                      "the status 200")
        return
    yield Finding(OK, "link", f"{how}: {named}")
    if sources.origin(named) != sources.origin(page.url):
        yield Finding(PROBLEM, "same origin", f"the dictionary is at {named}", "serve it where the "
                      "page is: it is for URLs of its own origin only")
        return
    dictionary = yield from examine_dictionary(browser, named, page, destination)
    if dictionary:
        yield from examine_difference(browser, page, plainly, dictionary, plain)
    yield check_caches(page)
    yield check_front(page)


def address(text):
    """(host, port or 0)."""
    try:
        parts = urllib.parse.urlsplit("//" + text)
        if parts.hostname and not parts.path:
            return parts.hostname, parts.port or 0
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"'{text}': give an address, with a port if need be")


def add_arguments(parser):
    parser.add_argument("url", type=arguments.url, metavar="URL",
                        help="a page, or a file that is a dictionary for its next release")
    parser.add_argument("--cafile", metavar="FILE",
                        help="certificates of authorities to trust, in place of the system's")
    parser.add_argument("--resolve", type=address, metavar="ADDRESS[:PORT]",
                        help="ask this address for the URL's host: the origin past a CDN, or one "
                             "server of many")


def findings(url, context, resolve):
    """Those of examine(), and why it ended early."""
    found = []
    try:
        for finding in examine(Browser(context, resolve), url):
            found.append(finding)
    except (failure.Failed, sources.Unusable, ValueError) as problem:
        return found, str(problem)
    return found, ""


def run(args):
    context = ssl.create_default_context(cafile=args.cafile)
    found, problem = unprivileged.call(findings, args.url, context, args.resolve, seconds=SECONDS)
    if args.cafile:
        found.append(Finding(ADVICE, "certificate", "--cafile: authorities of your own",
                             "Chromium uses no dictionary under a certificate that it does not "
                             "know by itself: take one of a public authority"))
    for verdict, subject, seen, change in found:
        change = f". Change: {change}" if change else ""
        print(report.plain(f"{verdict:<8} {subject:<18} {seen}{change}"))
    if problem:
        raise failure.Failed(problem)
    verdicts = [verdict for verdict, *_ in found]
    print(f"{verdicts.count(PROBLEM)} problems, {verdicts.count(ADVICE)} pieces of advice")
    return int(PROBLEM in verdicts)
