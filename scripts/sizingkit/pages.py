"""The pages of a folder, or of a site from a URL on."""

import html.parser
import mimetypes
import pathlib
import typing
import urllib.error
import urllib.parse
import urllib.request
import zlib

PATIENCE = 20  # seconds for a page
LARGEST = 32 << 20  # bytes; larger ones are not pages

# As browsers send by https.
ACCEPTED = "gzip, deflate, br, zstd"

# The default of ElasticTypes.
TYPES = ("text/*", "application/javascript", "application/json", "application/*+json",
         "application/xml", "application/*+xml", "application/x-javascript",
         "application/ecmascript", "application/wasm", "application/x-tar", "application/json-seq",
         "application/*+json-seq", "application/x-ndjson", "application/ndjson",
         "application/jsonl", "application/yaml", "application/x-yaml", "application/*+yaml",
         "application/toml", "application/graphql", "application/sql", "application/xml-dtd",
         "application/n-triples", "application/n-quads", "application/trig",
         "application/sparql-query", "application/vnd.apple.mpegurl", "application/x-mpegurl",
         "application/x-ns-proxy-autoconfig", "application/x-sh", "application/rtf",
         "application/postscript", "application/vnd.ms-fontobject", "application/x-font-ttf",
         "application/x-font-otf", "audio/mpegurl", "audio/x-mpegurl", "audio/x-scpls", "font/otf",
         "font/ttf", "font/collection", "font/sfnt", "image/svg+xml", "image/bmp", "image/x-ms-bmp",
         "image/x-icon", "image/vnd.microsoft.icon", "model/*+json", "model/*+xml",
         "model/gltf-binary", "model/obj", "model/mtl", "model/stl")

# Types that Python's table lacks, or has differently from httpd's mime.types.
SUFFIXES = {".js": "application/javascript", ".mjs": "application/javascript",
            ".wasm": "application/wasm", ".php": "text/html", ".woff2": "font/woff2"}


class Problem(Exception):
    """The text tells the user what went wrong, and what to do."""


class Sent(typing.NamedTuple):
    """The response of the site to a browser."""

    coding: str  # gzip, br, zstd ...; "" if the body is not compressed
    nbytes: int  # of the body


class Page(typing.NamedTuple):
    name: str
    kind: str  # media type
    body: bytes  # uncompressed
    sent: Sent | None = None  # a folder's file has none

    def is_compressible(self):
        return any(matches(self.kind, pattern) for pattern in TYPES)


def matches(kind, pattern):
    first, _, last = pattern.partition("*")
    return (kind == pattern if "*" not in pattern
            else kind.startswith(first) and kind.endswith(last))


def collect(given, most, say):
    """The pages of a folder or below a URL, at most `most`."""
    if "://" in given:
        return of_site(given, most, say)
    folder = pathlib.Path(given)
    if not folder.is_dir():
        raise Problem(f"{given} is neither a folder nor a URL")
    return of_folder(folder, most)


def kind_of(path):
    return SUFFIXES.get(path.suffix.lower()) or mimetypes.guess_type(path.name)[0] or ""


def of_folder(folder, most):
    """Precompressed files are not pages."""
    files = sorted(path for path in folder.rglob("*") if path.is_file()
                   and path.suffix not in (".gz", ".br", ".zst")
                   and not any(part.startswith(".") for part in path.relative_to(folder).parts))
    step = -(-len(files) // most) or 1
    pages = []
    for path in files[::step]:
        try:
            if path.stat().st_size <= LARGEST:
                pages.append(Page(str(path.relative_to(folder)), kind_of(path),
                                  path.read_bytes()))
        except OSError as problem:
            raise Problem(f"{path}: {problem.strerror}") from None
    return pages


class Links(html.parser.HTMLParser):
    """The links of a page: to pages, scripts, styles and images."""

    NAMES = {"a": "href", "link": "href", "script": "src", "img": "src"}

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        link = dict(attrs).get(self.NAMES.get(tag))
        if link:
            self.found.append(link)


class Answer(typing.NamedTuple):
    url: str  # after redirections
    kind: str
    coding: str
    body: bytes  # as it was sent


def ask(url, accepted):
    request = urllib.request.Request(url, headers={"Accept-Encoding": accepted,
                                                   "User-Agent": "elastic-sizing"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as response:
        coding = response.headers.get("Content-Encoding", "").strip().lower()
        return Answer(response.geturl(), response.headers.get_content_type(),
                      coding.removeprefix("x-").replace("identity", ""),
                      response.read(LARGEST + 1)[:LARGEST])


def plain(answer):
    """The body of an answer to a request without codings: some servers compress it anyway."""
    if not answer.coding:
        return answer.body
    if answer.coding != "gzip":
        raise ValueError(f"it comes in {answer.coding} though nothing was accepted")
    return zlib.decompress(answer.body, wbits=31)


def fetch(url):
    """(the URL after redirections, the Page)."""
    answer, sent = ask(url, "identity"), ask(url, ACCEPTED)
    return answer.url, Page(urllib.parse.urlsplit(url).path or "/", answer.kind, plain(answer),
                            Sent(sent.coding, len(sent.body)))


def of_site(start, most, say):
    """Breadth first, on the same host only; failures are left out, except for the first URL."""
    origin = urllib.parse.urlsplit(start)
    if origin.scheme not in ("http", "https") or not origin.netloc:
        raise Problem(f"{start} is no http or https URL")
    waiting, seen, pages = [start], {start}, []
    while waiting and len(pages) < most:
        url = waiting.pop(0)
        try:
            final, page = fetch(url)
        except (OSError, ValueError, zlib.error) as problem:
            if not pages:
                raise Problem(f"{url}: {problem}") from None
            say(f"{url}: {problem}; left out")
            continue
        if urllib.parse.urlsplit(final).netloc != origin.netloc and pages:
            continue
        pages.append(page)
        is_html = page.kind == "text/html"
        links = Links(page.body.decode("utf-8", "replace")).found if is_html else []
        for link in links:
            try:
                target = urllib.parse.urldefrag(urllib.parse.urljoin(final, link)).url
            except ValueError:
                continue
            if urllib.parse.urlsplit(target)[:2] == urllib.parse.urlsplit(final)[:2] \
                    and target not in seen:
                seen.add(target)
                waiting.append(target)
    return pages
