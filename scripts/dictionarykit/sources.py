"""Which URLs to visit: of a file, a sitemap, or a page's markup."""

import html.parser
import io
import re
import urllib.parse
import zlib
from xml.etree import ElementTree

from dictionarykit import exchange
from dictionarykit.failure import Refused

# Sitemaps hold 50,000 URLs at most (sitemaps.org), and an index as many sitemaps.
SITEMAP_MOST = 50 << 20  # bytes, uncompressed
URLS_MOST = 50_000
SITEMAPS_MOST = 20  # that an index leads to
DEPTH_MOST = 8  # of elements

# Applications that have no other URLs: MediaWiki, WordPress, DokuWiki. Links of theirs that do
# something have further arguments.
PAGE_QUERIES = ("id", "p", "page", "page_id", "title")
NO_PAGE = re.compile(r"\.(?!html?$|php\d?$|aspx?$|jsp$|xhtml$|cgi$)[a-z][a-z0-9]{1,4}$",
                     re.IGNORECASE)


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


class Sitemap:
    """The <loc>s of a sitemap, read until it ends or is broken."""

    def __init__(self, body):
        self.pages, self.sitemaps = [], []
        try:
            if body.startswith(b"\x1f\x8b"):
                body = zlib.decompressobj(31).decompress(body, SITEMAP_MOST)
            if b"<!DOCTYPE" not in body:  # whose entities may grow without bounds
                self.read(body)
        except (ElementTree.ParseError, zlib.error, ValueError, LookupError):
            pass

    def read(self, body):
        kinds, above = {"url": self.pages, "sitemap": self.sitemaps}, []
        for event, element in ElementTree.iterparse(io.BytesIO(body), ("start", "end")):
            if event == "start":
                above.append(element)
                if len(above) > DEPTH_MOST or len(self.pages) == URLS_MOST:
                    break
                continue
            above.pop()
            parent = above[-1] if above else element
            kind, name = (one.tag.rpartition("}")[2] for one in (parent, element))
            if name == "loc" and kind in kinds:
                kinds[kind].append((element.text or "").strip())
            parent.clear()  # what was read needs no memory


def collect_sitemap(url, fetch):
    """All pages of a sitemap, or of those that an index names and that are there. `fetch` gets the
    body of a URL."""
    first = Sitemap(fetch(url))
    pages = first.pages
    for sitemap in first.sitemaps[:SITEMAPS_MOST]:
        try:
            pages += Sitemap(fetch(sitemap)).pages
        except Refused:
            continue
    if not pages:
        raise Refused(f"{url}: no <loc> of a page is in it")
    return unique(pages)


def is_page(url):
    """Whether the URL of a link may be a page's, and asks for nothing else."""
    parts = urllib.parse.urlsplit(url)
    name, equals, _ = parts.query.partition("=")
    is_query = not parts.query or (equals and "&" not in parts.query and name in PAGE_QUERIES)
    return bool(is_query) and not NO_PAGE.search(parts.path)


class Markup(html.parser.HTMLParser):
    """What of a page's markup matters: URLs of links, of what it loads, and of dictionaries,
    without fragments, in their order. The parser is not closed: what never ends, it would read once
    more for each tag that begins in it."""

    def __init__(self, url, body):
        super().__init__()
        self.base, self.has_base = url, False
        self.links, self.loaded, self.dictionaries = [], [], []
        try:
            self.feed(body.decode("utf-8", "replace"))
        except (AssertionError, ValueError):
            pass  # what it read before counts

    def add(self, found, target):
        try:
            url = urllib.parse.urljoin(self.base, (target or "").strip()).partition("#")[0]
            exchange.origin(url)
        except (ValueError, Refused):
            return
        if target:
            found.append(url)

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
