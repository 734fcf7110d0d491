"""The user's own pages: a folder, or a file that lists URLs, which are fetched once."""

import pathlib
import re
import urllib.error
import urllib.parse
import urllib.request

from benchkit import tools

PATIENCE = 20  # seconds for a page

SUFFIXES = {"text/html": ".html", "text/css": ".css", "application/javascript": ".js",
            "text/javascript": ".js", "image/svg+xml": ".svg", "application/json": ".json"}


def collect(given, folder):
    """The folder of the user's pages; those of a list of URLs are fetched into `folder`."""
    given = pathlib.Path(given)
    if given.is_dir():
        return given
    try:
        lines = given.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise tools.BenchError(f"--pages {given}: give a folder, or a file of URLs") from None
    urls = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    for url in urls:
        if not re.match(r"https?://", url):
            raise tools.BenchError(f"--pages {given}: '{url}' is no http or https URL")
    for number, url in enumerate(urls, 1):
        body, kind = fetch(url)
        path = folder / f"{number:03}{SUFFIXES.get(kind, suffix_of(url))}"
        path.write_bytes(body)
    return folder


def fetch(url):
    """(body, media type) of a page, not encoded."""
    request = urllib.request.Request(url, headers={"Accept-Encoding": "identity"})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as response:
            return response.read(), response.headers.get_content_type()
    except (urllib.error.URLError, OSError) as problem:
        raise tools.BenchError(f"--pages: {url}: {problem}") from None


def suffix_of(url):
    return pathlib.PurePosixPath(urllib.parse.urlparse(url).path).suffix or ".html"
