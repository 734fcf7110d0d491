"""The pages: of a folder, or of a site, from a URL on."""

import html.parser
import mimetypes
import pathlib
import typing
import urllib.error
import urllib.parse
import urllib.request

PATIENCE = 20  # seconds for a page
LARGEST = 32 << 20  # bytes; what is larger is no page

# The default of ElasticTypes.
TYPES = ("text/*", "application/javascript", "application/json", "application/*+json",
         "application/xml", "application/*+xml", "application/x-javascript", "application/x-tar",
         "application/wasm", "application/vnd.ms-fontobject", "font/otf", "font/ttf",
         "image/svg+xml", "image/bmp", "image/x-icon", "image/vnd.microsoft.icon")

# Where Python's table differs from httpd's mime.types, or has nothing.
SUFFIXES = {".js": "application/javascript", ".mjs": "application/javascript",
            ".wasm": "application/wasm", ".php": "text/html", ".woff2": "font/woff2"}


class Problem(Exception):
    """The text is for the user: what went wrong, and what to do."""


class Page(typing.NamedTuple):
    name: str
    kind: str  # media type
    body: bytes

    def is_compressible(self):
        return any(matches(self.kind, pattern) for pattern in TYPES)


def matches(kind, pattern):
    first, _, last = pattern.partition("*")
    return (kind == pattern if "*" not in pattern
            else kind.startswith(first) and kind.endswith(last))


def collect(given, most, say):
    """The pages of a folder or below a URL, `most` at the most."""
    if "://" in given:
        return of_site(given, most, say)
    folder = pathlib.Path(given)
    if not folder.is_dir():
        raise Problem(f"{given} is neither a folder nor a URL")
    return of_folder(folder, most)


def kind_of(path):
    return SUFFIXES.get(path.suffix.lower()) or mimetypes.guess_type(path.name)[0] or ""


def of_folder(folder, most):
    """Siblings that were made in advance are not pages."""
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
    """What a page refers to: pages, scripts, styles and images."""

    NAMES = {"a": "href", "link": "href", "script": "src", "img": "src"}

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        link = dict(attrs).get(self.NAMES.get(tag))
        if link:
            self.found.append(link)


def fetch(url):
    request = urllib.request.Request(url, headers={"Accept-Encoding": "identity",
                                                   "User-Agent": "elastic-sizing"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as response:
        return (response.geturl(), response.headers.get_content_type(),
                response.read(LARGEST + 1)[:LARGEST])


def of_site(start, most, say):
    """Breadth first, on the same host only; what cannot be had is left out, but for the first."""
    origin = urllib.parse.urlsplit(start)
    if origin.scheme not in ("http", "https") or not origin.netloc:
        raise Problem(f"{start} is no http or https URL")
    waiting, seen, pages = [start], {start}, []
    while waiting and len(pages) < most:
        url = waiting.pop(0)
        try:
            final, kind, body = fetch(url)
        except (OSError, ValueError) as problem:
            if not pages:
                raise Problem(f"{url}: {problem}") from None
            say(f"{url}: {problem}; left out")
            continue
        if urllib.parse.urlsplit(final).netloc != origin.netloc and pages:
            continue
        pages.append(Page(urllib.parse.urlsplit(url).path or "/", kind, body))
        links = Links(body.decode("utf-8", "replace")).found if kind == "text/html" else []
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
