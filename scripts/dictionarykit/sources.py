"""Which URLs to visit: from the command line, a file, a sitemap or an access log."""

import collections
import gzip
import html
import re
import urllib.parse
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


def client_of(before):
    """The client's address, of what stands before the time; None for a user who had logged in."""
    words = before.split()
    if len(words) < 3 or words[-1] != "-":
        return None
    return words[-3]


def of_log(lines, clients_least, queries):
    """Paths that were asked for, the most wanted first.

    What fewer than `clients_least` clients asked for is left out, and so are URLs with a query
    unless `queries`: either may be meant for one person.
    """
    wanted = collections.Counter()
    seen = collections.defaultdict(set)  # the first clients of each path
    for line in lines:
        match = LOG_LINE.match(line)
        if not match or match[2] != "GET" or match[4] != "200":
            continue
        client, path = client_of(match[1]), match[3]
        if client is None or not path.startswith("/") or "?" in path and not queries:
            continue
        if path in wanted or len(wanted) < PATHS_MOST:
            wanted[path] += 1
            if len(seen[path]) < clients_least:
                seen[path].add(client)
    return [path for path, _ in wanted.most_common() if len(seen[path]) >= clients_least]


def read_log(name, clients_least, queries):
    opened = gzip.open if name.endswith(".gz") else open
    with opened(name, "rt", encoding="utf-8", errors="replace") as file:
        paths = of_log(file, clients_least, queries)
    if not paths:
        raise Unusable(f"{name}: no page was asked for by {clients_least} clients "
                       "(behind a proxy, see --clients)")
    return paths
