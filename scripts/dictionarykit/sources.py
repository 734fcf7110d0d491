"""The URLs to visit: from a file, a sitemap or a page's markup, as robots.txt allows (RFC 9309);
and versioned scripts and styles, each release of which is the dictionary of the next."""

import contextlib
import html.parser
import io
import re
import typing
import urllib.parse
import zlib
from xml.etree import ElementTree

from dictionarykit import exchange
from dictionarykit.exchange import Refused

# Sitemaps have at most 50,000 URLs (sitemaps.org), and an index as many sitemaps.
SITEMAP_MOST = 50 << 20  # bytes, uncompressed
URLS_MOST = 50_000
SITEMAPS_MOST = 20  # of an index
DEPTH_MOST = 8  # of elements

# Applications whose URLs have a query: MediaWiki, WordPress, DokuWiki. Their links to actions have
# further arguments.
PAGE_QUERIES = ("id", "p", "page", "page_id", "title")
NO_PAGE = re.compile(r"\.(?!html?$|php\d?$|aspx?$|jsp$|xhtml$|cgi$)[a-z][a-z0-9]{1,4}$",
                     re.IGNORECASE)

ROBOTS_MOST = 500 << 10  # §2.5
REDIRECTS_MOST = 5  # §2.3.1.2
DELAY = re.compile(r"[0-9]{1,5}(?:\.[0-9]{1,3})?\Z")
DELAY_MOST = 60  # seconds; a larger value means that no visitor is wanted
UNRESERVED = re.compile(r"[A-Za-z0-9._~-]\Z")

DESTINATIONS = {"js": "script", "mjs": "script", "css": "style"}
TYPES = {"script": ("text/javascript", "application/javascript", "application/x-javascript"),
         "style": ("text/css",)}

NAME = re.compile(r"(?P<stem>.+?)(?P<end>(?:\.(?:min|chunk|bundle|prod))*\.(?P<kind>js|mjs|css))\Z")
# Versions at a stem's end: numbers with dots; hexadecimal digits, as of webpack and hugo; eight
# characters of vite that are no words.
NUMBERS = re.compile(r"(?P<before>.*?[A-Za-z].*?[-._]v?)(?P<version>\d+(?:\.\d+)+)\Z")
DIGITS = re.compile(r"(?P<before>.*[A-Za-z0-9].*[-._])(?P<version>[0-9a-f]{6,64})\Z")
MIXED = re.compile(r"(?P<before>.*[A-Za-z].*[-.])(?P<version>[A-Za-z0-9_-]{8})\Z")
WORDS = re.compile(r"[A-Z]?[a-z]+(?:[A-Z][a-z]+|[-_][a-z]+)*\Z")
NAME_MOST = 200  # characters; this bounds the time of these expressions

QUERY = re.compile(r"(?P<name>v|ver|version|rev|h|hash|digest)=[\w.~-]+\Z", re.ASCII)
# The configuration would have to spell a path with %XX differently from the URL.
PLAIN_PATH = re.compile(r"(?:/[A-Za-z0-9_@~,=-][A-Za-z0-9._@~,=-]*)+\Z")

FILES_MOST = 40  # to examine; pages of a site load the same files


def unique(urls):
    """Each URL once, without fragments, in the given order."""
    return list(dict.fromkeys(url.partition("#")[0] for url in urls))


def of_lines(text):
    """One URL a line, without empty lines and those that begin with #."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def spread(urls, count):
    """`count` of them, evenly spaced, because similar pages are often adjacent."""
    if len(urls) <= count:
        return urls
    return [urls[number * len(urls) // count] for number in range(count)]


class Sitemap:
    """The <loc>s of a sitemap, read until it ends or is broken."""

    def __init__(self, body):
        self.pages, self.sitemaps, above = [], [], []
        kinds = {"url": self.pages, "sitemap": self.sitemaps}
        with contextlib.suppress(ElementTree.ParseError, zlib.error, ValueError, LookupError):
            if body.startswith(b"\x1f\x8b"):
                body = zlib.decompressobj(31).decompress(body, SITEMAP_MOST)
            if b"<!DOCTYPE" in body:  # its entities may grow without bounds
                return
            for event, element in ElementTree.iterparse(io.BytesIO(body), ("start", "end")):
                if event == "start":
                    above.append(element)
                    if len(above) > DEPTH_MOST or len(self.pages) == URLS_MOST:
                        return
                    continue
                above.pop()
                parent = above[-1] if above else element
                kind, name = (one.tag.rpartition("}")[2] for one in (parent, element))
                if name == "loc" and kind in kinds:
                    kinds[kind].append((element.text or "").strip())
                parent.clear()  # free the memory of parsed elements


def collect_sitemap(url, fetch):
    """All pages of a sitemap, or of the available ones that an index names. `fetch` returns the
    body of a URL."""
    first = Sitemap(fetch(url))
    pages = first.pages
    for sitemap in first.sitemaps[:SITEMAPS_MOST]:
        with contextlib.suppress(Refused):
            pages += Sitemap(fetch(sitemap)).pages
    if not pages:
        raise Refused(f"{url}: no <loc> of a page is in it")
    return unique(pages)


def is_page(url):
    """True if a link's URL may be a page, and causes no action."""
    parts = urllib.parse.urlsplit(url)
    name, equals, _ = parts.query.partition("=")
    is_query = not parts.query or (equals and "&" not in parts.query and name in PAGE_QUERIES)
    return bool(is_query) and not NO_PAGE.search(parts.path)


class Markup(html.parser.HTMLParser):
    """The relevant URLs of a page's markup: links, loaded files, and dictionaries, without
    fragments, in their order. The parser is not closed, because it would read an unfinished tag
    again for each tag that begins in it."""

    def __init__(self, url, body):
        super().__init__()
        self.base, self.has_base = url, False
        self.links, self.loaded, self.dictionaries = [], [], []
        with contextlib.suppress(AssertionError, ValueError):  # the part read before counts
            self.feed(body.decode("utf-8", "replace"))

    def add(self, found, target):
        with contextlib.suppress(ValueError, Refused):
            url = urllib.parse.urljoin(self.base, (target or "").strip()).partition("#")[0]
            exchange.origin(url)
            found += [url] if target else []

    def handle_starttag(self, tag, attrs):
        values = {name: value or "" for name, value in reversed(attrs)}
        rel, href = values.get("rel", "").lower().split(), values.get("href")
        if tag == "a" and "nofollow" not in rel:
            self.add(self.links, href)
        elif tag == "script":
            self.add(self.loaded, values.get("src"))
        elif tag == "link":
            preloads = "preload" in rel and values.get("as", "").lower() in ("script", "style")
            if preloads or {"stylesheet", "modulepreload"} & set(rel):
                self.add(self.loaded, href)
            elif "compression-dictionary" in rel:
                self.add(self.dictionaries, href)
        elif tag == "base" and href and not self.has_base:
            found = []
            self.add(found, href)
            self.base, self.has_base = (found or [self.base])[0], True


def normal(text):
    """Unifies characters that may appear as themselves or as %XX (§2.2.2)."""
    def one(found):
        character = chr(int(found[1], 16))
        return character if UNRESERVED.match(character) else found[0].upper()

    whole = urllib.parse.quote(text, safe="".join(map(chr, range(33, 127))))
    return re.sub("%([0-9A-Fa-f]{2})", one, whole)


def matches(pattern, path):
    """True if the path begins with the pattern; in it, * is any text, and $ marks the end. The time
    only grows with both lengths."""
    is_whole = pattern.endswith("$")
    first, *others = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    if not others:
        return not is_whole or path == first
    at = len(first)
    last = others.pop() if is_whole else ""
    for part in others:
        found = path.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return not is_whole or len(path) - len(last) >= at and path.endswith(last)


class Robots(typing.NamedTuple):
    rules: list  # of (pattern, allowed)
    delay: float = 0  # seconds between two requests
    sitemaps: list = []

    def allow(self, url):
        """The longest pattern decides; among equals, the one that allows (§2.2.2)."""
        path = normal(exchange.target_of(url))
        found = [(len(pattern), allows) for pattern, allows in self.rules if matches(pattern, path)]
        return max(found, default=(0, True))[1]


EVERYTHING = Robots([])


def parse_robots(text, agent):
    """The rules of all groups for the agent, or else of those for *."""
    groups, delays, sitemaps = {}, {}, []
    names, is_head = set(), False
    for line in text[:ROBOTS_MOST].splitlines():
        name, colon, value = line.partition("#")[0].partition(":")
        name, value = name.strip().lower(), value.strip()
        if not colon:
            continue
        if name == "sitemap":
            sitemaps.append(value)
        elif name == "user-agent":
            names = (names if is_head else set()) | {value.lower()} & {agent, "*"}
            is_head = True
            groups.update({one: groups.get(one, []) for one in names})
        else:
            is_head = False
            for one in names:
                if name in ("allow", "disallow") and value:
                    groups[one].append((normal(value), name == "allow"))
                elif name == "crawl-delay" and DELAY.match(value):
                    delays[one] = min(float(value), DELAY_MOST)
    which = agent if agent in groups else "*"
    return Robots(groups.get(which, []), delays.get(which, 0), sitemaps)


class Rule(typing.NamedTuple):
    """The rule of a versioned file."""

    location: str  # regular expression of the paths
    match: str
    dest: str


def rule_of(url):
    """The rule for the URL of a script or style; None if it has no version."""
    parts = urllib.parse.urlsplit(url)
    folder, slash, name = parts.path.rpartition("/")
    found = NAME.match(name[:NAME_MOST + 1])
    if not found or len(name) > NAME_MOST or not PLAIN_PATH.match(parts.path):
        return None
    dest = DESTINATIONS[found["kind"]]
    query = QUERY.match(parts.query)
    if query:
        return Rule(f"^{re.escape(parts.path)}$", f"{parts.path}?{query['name']}=*", dest)
    for kind, required in ((NUMBERS, ""), (DIGITS, r"\d"), (MIXED, "[A-Z]")):
        version = None if parts.query else kind.match(found["stem"])
        if not version or not re.search(required, version["version"]) or (
                kind is MIXED and WORDS.match(version["version"])):
            continue
        begin, size = folder + slash + version["before"], len(version["version"])
        pattern = {NUMBERS: r"[0-9]+(\.[0-9]+)+", DIGITS: f"[0-9a-f]{{{size}}}",
                   MIXED: "[A-Za-z0-9_-]{8}"}[kind]
        return Rule(f"^{re.escape(begin)}{pattern}{re.escape(found['end'])}$",
                          f"{begin}*{found['end']}", dest)
    return None


def reason_against(visitor, url, dest):
    """The reason to leave a file out; "": none."""
    try:
        answer = visitor.ask(url, exchange.PAGE_MOST)
    except Refused as problem:
        return str(problem)
    if answer.status != 200 or answer.media_type() not in TYPES[dest]:
        return f"has the status {answer.status} and the type {answer.media_type()}"
    reason = answer.header_refusal()
    if reason or exchange.directives(answer.values("vary")) & {"cookie", "authorization", "*"}:
        return reason or "varies by visitor"
    return "" if answer.lifetime() else "has no Cache-Control: max-age"


def find_versioned(visitor, pages):
    """(URLs of versioned files that may have a rule, [(URL, why it has none)])."""
    good, refused, seen = [], [], set()
    for page in pages:
        for url in Markup(page.url, page.body).loaded:
            rule = rule_of(url) if exchange.origin(url) == visitor.origin else None
            if not rule or rule.match in seen or len(seen) == FILES_MOST:
                continue
            seen.add(rule.match)
            reason = reason_against(visitor, url, rule.dest)
            if reason:
                refused.append((url, reason))
            else:
                good.append(url)
    return good, refused
