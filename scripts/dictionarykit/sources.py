"""Which URLs to visit: from the command line, a file, a sitemap or an access log."""

import collections
import gzip
import html
import io
import ipaddress
import re
import urllib.parse
import urllib.robotparser
import zlib

# Sitemaps hold 50,000 URLs at most (sitemaps.org), and an index as many sitemaps.
SITEMAP_MOST = 50 << 20  # bytes, uncompressed
SITEMAPS_MOST = 20  # that an index leads to

# Paths of a log that are counted: more than any site's that matter, few enough for the memory.
PATHS_MOST = 200_000

ORIGIN_PORTS = {"http": 80, "https": 443}

# Of the common and the combined format, and of those that begin with the virtual host: what is
# before the time, the method, the target, the status.
LOG_LINE = re.compile(r'^([^\[]+) \[[^]]*\] "([A-Z]+) (\S+) HTTP/[\d.]+" (\d{3}) ')

# Addresses that ask for a page of a log before it counts as public.
CLIENTS_LEAST = 5

LINK_TAG = re.compile(r"<a\s[^>]*>", re.IGNORECASE)
LINK_TARGET = re.compile(r"""\shref\s*=\s*(["'])?(.*?)(?(1)\1|[\s>])""", re.IGNORECASE | re.DOTALL)
# Applications that have no other URLs: MediaWiki, WordPress, DokuWiki. Links of theirs that do
# something have further arguments.
PAGE_QUERIES = ("id", "p", "page", "page_id", "title")
NO_PAGE = re.compile(r"\.(?!html?$|php\d?$|aspx?$|jsp$|xhtml$|cgi$)[a-z][a-z0-9]{1,4}$",
                     re.IGNORECASE)


class Unusable(Exception):
    """No URLs can be had from what was given; the text says why."""


def origin(url):
    """(scheme, host, port); Unusable where it is no URL of http or https."""
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
    except ValueError as problem:
        raise Unusable(f"{url}: {problem}") from None
    if parts.scheme not in ORIGIN_PORTS or not parts.hostname:
        raise Unusable(f"{url}: an http or https URL is needed")
    return parts.scheme, parts.hostname, port or ORIGIN_PORTS[parts.scheme]


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


def unpacked(body):
    """A sitemap's text; it may be a .gz file."""
    if body.startswith(b"\x1f\x8b"):
        decoder = zlib.decompressobj(31)
        try:
            body = decoder.decompress(body, SITEMAP_MOST)
        except zlib.error as problem:
            raise Unusable(f"the sitemap is no gzip file: {problem}") from None
    return body.decode("utf-8", "replace")


def of_sitemap(text):
    """(URLs of pages, URLs of further sitemaps)."""
    found = [html.unescape(url) for url in re.findall(r"<loc>\s*([^<]*?)\s*</loc>", text)]
    return ([], found) if "<sitemapindex" in text else (found, [])


def collect_sitemap(url, fetch):
    """All pages of a sitemap, or of those that an index names. `fetch` gets the body of a URL."""
    pages, sitemaps = of_sitemap(unpacked(fetch(url)))
    for sitemap in sitemaps[:SITEMAPS_MOST]:
        pages += of_sitemap(unpacked(fetch(sitemap)))[0]
    if not pages:
        raise Unusable(f"{url}: no <loc> of a page is in it")
    return unique(pages)


def of_robots(text):
    """(robots.txt, the sitemaps that it names)."""
    robots = urllib.robotparser.RobotFileParser()
    robots.parse(text.splitlines())
    return robots, robots.site_maps() or []


def is_page_query(query):
    """Whether it names a page, and asks for nothing else."""
    name, equals, _ = query.partition("=")
    return not query or (equals and "&" not in query and name in PAGE_QUERIES)


def of_links(url, text):
    """URLs of the pages, perhaps, to which links of a page lead."""
    found = []
    for tag in LINK_TAG.findall(text):
        href = LINK_TARGET.search(tag)
        if not href or "nofollow" in tag:
            continue
        try:
            link = urllib.parse.urljoin(url, html.unescape(href[2].strip())).partition("#")[0]
            parts = urllib.parse.urlsplit(link)
            origin(link)
        except (ValueError, Unusable):
            continue
        if is_page_query(parts.query) and not NO_PAGE.search(parts.path):
            found.append(link)
    return unique(found)


def client_of(before):
    """The client's address, of what stands before the time; None for a user who had logged in,
    and for an address of the inside."""
    words = before.split()
    if len(words) < 3 or words[-1] != "-":
        return None
    try:
        return words[-3] if ipaddress.ip_address(words[-3]).is_global else None
    except ValueError:
        return words[-3]  # a name


def of_log(lines):
    """Paths that were asked for, the most wanted first.

    What fewer than CLIENTS_LEAST addresses of the internet asked for is left out, and so are URLs
    with a query: either may be meant for one person.
    """
    wanted = collections.Counter()
    seen = collections.defaultdict(set)  # the first clients of each path
    for line in lines:
        match = LOG_LINE.match(line)
        if not match or match[2] != "GET" or match[4] != "200":
            continue
        client, path = client_of(match[1]), match[3]
        if client is None or not path.startswith("/") or "?" in path:
            continue
        if path in wanted or len(wanted) < PATHS_MOST:
            wanted[path] += 1
            if len(seen[path]) < CLIENTS_LEAST:
                seen[path].add(client)
    return [path for path, _ in wanted.most_common() if len(seen[path]) >= CLIENTS_LEAST]


def read_log(name, file):
    """Of an access log that was opened, for only root may."""
    opened = gzip.open(file) if name.endswith(".gz") else file
    paths = of_log(io.TextIOWrapper(opened, encoding="utf-8", errors="replace"))
    if not paths:
        raise Unusable(f"{name}: no page was asked for by {CLIENTS_LEAST} addresses of the "
                       "internet")
    return paths
