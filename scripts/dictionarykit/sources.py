"""Which URLs to visit: from a file, a sitemap, or links."""

import encodings.idna  # pylint: disable=unused-import  # a child may not be able to read it
import re
import urllib.parse
import xml.parsers.expat
import zlib

# Sitemaps hold 50,000 URLs at most (sitemaps.org), and an index as many sitemaps.
SITEMAP_MOST = 50 << 20  # bytes, uncompressed
URLS_MOST = 50_000
SITEMAPS_MOST = 20  # that an index leads to
DEPTH_MOST = 8  # of elements
PIECE = 1 << 16

ORIGIN_PORTS = {"http": 80, "https": 443}
HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_.])?\Z|[0-9a-f:.]*:[0-9a-f:.]*\Z")

# Applications that have no other URLs: MediaWiki, WordPress, DokuWiki. Links of theirs that do
# something have further arguments.
PAGE_QUERIES = ("id", "p", "page", "page_id", "title")
NO_PAGE = re.compile(r"\.(?!html?$|php\d?$|aspx?$|jsp$|xhtml$|cgi$)[a-z][a-z0-9]{1,4}$",
                     re.IGNORECASE)


class Unusable(Exception):
    """No URLs can be had from what was given; the text says why."""


def origin(url):
    """(scheme, host, port); Unusable where it is no URL of http or https, or names a user."""
    if not url.isprintable():
        raise Unusable("a URL has no control characters")
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
        host = (parts.hostname or "").encode("idna").decode() if parts.hostname else ""
    except ValueError as problem:  # UnicodeError is one
        raise Unusable(f"{url}: {problem}") from None
    if parts.scheme not in ORIGIN_PORTS or not HOST.match(host):
        raise Unusable(f"{url}: an http or https URL is needed")
    if "@" in parts.netloc:
        raise Unusable("give the URL without a name or password of a user")
    return parts.scheme, host, port or ORIGIN_PORTS[parts.scheme]


def host_field(url):
    """The host of a URL, with its port if that is not the scheme's."""
    scheme, host, port = origin(url)
    name = f"[{host}]" if ":" in host else host
    return name if port == ORIGIN_PORTS[scheme] else f"{name}:{port}"


def unique(urls):
    """Each once, without fragments, in the order given."""
    return list(dict.fromkeys(url.partition("#")[0] for url in urls))


def of_lines(text):
    """One URL a line; empty lines and those that begin with # are passed over."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def spread(urls, count):
    """As many of them, evenly spaced: pages of one kind often stand together."""
    if len(urls) <= count:
        return urls
    return [urls[number * len(urls) // count] for number in range(count)]


def pieces(body):
    """A sitemap's text, of which a .gz file has no more than a sitemap may have."""
    if not body.startswith(b"\x1f\x8b"):
        yield body
        return
    decoder, total = zlib.decompressobj(31), 0
    while not decoder.eof and total < SITEMAP_MOST and body:
        piece = decoder.decompress(body, PIECE)
        body = decoder.unconsumed_tail
        total += len(piece)
        yield piece


class Enough(Exception):
    """No more of a sitemap is read."""


class Sitemap:
    """The <loc>s of a sitemap, read until it ends or is broken."""

    def __init__(self, body):
        self.path, self.text = [], ""
        self.pages, self.sitemaps = [], []
        parser = xml.parsers.expat.ParserCreate()
        parser.StartElementHandler, parser.EndElementHandler = self.begin, self.end
        parser.CharacterDataHandler = self.characters
        parser.StartDoctypeDeclHandler = self.begin  # entities may grow without bounds
        try:
            for piece in pieces(body):
                parser.Parse(piece)
        except (xml.parsers.expat.ExpatError, zlib.error, Enough):
            pass

    def begin(self, name, *more):
        if len(more) > 1 or len(self.path) == DEPTH_MOST or len(self.pages) == URLS_MOST:
            raise Enough
        self.path.append(name.rpartition(":")[2])
        self.text = ""

    def characters(self, text):
        if self.path[-1] == "loc" and len(self.text) < PIECE:
            self.text += text

    def end(self, _):
        kind = {"url": self.pages, "sitemap": self.sitemaps}.get("".join(self.path[-2:-1]))
        if self.path.pop() == "loc" and kind is not None:
            kind.append(self.text.strip())


def collect_sitemap(url, fetch):
    """All pages of a sitemap, or of those that an index names and that are there. `fetch` gets the
    body of a URL."""
    first = Sitemap(fetch(url))
    pages = first.pages
    for sitemap in first.sitemaps[:SITEMAPS_MOST]:
        try:
            pages += Sitemap(fetch(sitemap)).pages
        except Unusable:
            continue
    if not pages:
        raise Unusable(f"{url}: no <loc> of a page is in it")
    return unique(pages)


def is_page(url):
    """Whether the URL of a link may be a page's, and asks for nothing else."""
    parts = urllib.parse.urlsplit(url)
    name, equals, _ = parts.query.partition("=")
    is_query = not parts.query or (equals and "&" not in parts.query and name in PAGE_QUERIES)
    return bool(is_query) and not NO_PAGE.search(parts.path)
