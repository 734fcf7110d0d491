"""The bodies that are served: the same bytes on every machine that has the same documentation.

Text comes from the HTML documentation of libaprutil1-dev, which everything that builds this module
has installed on Debian; where it is missing, from a generator. Both are deterministic. web.py makes
larger corpora out of downloaded packages.
"""

import bisect
import hashlib
import pathlib
import random
import zlib

from benchkit import packages, tools

DOCUMENTS = pathlib.Path("/usr/share/doc/libaprutil1-dev/html")
DOCUMENT_PACKAGES = ("apache2-doc", "libjs-jquery-ui")
ARTICLES = "libxml2-doc"  # one of its pages is a text of 345 KB, of which gzip leaves 0.31
TEXT_SUFFIXES = (".html", ".htm", ".xhtml", ".css", ".js", ".mjs", ".json", ".xml", ".svg", ".txt")
KB = 1024

# Eleven files from 1 KB to 1 MB, and how small gzip is to make each, as in the source: up to 32 KB
# they compress to less than one segment, and larger files reach 1:200.
SMALL_FILES = ((1 * KB, 2), (2 * KB, 4), (4 * KB, 6), (8 * KB, 10), (16 * KB, 20), (32 * KB, 40),
               (64 * KB, 64), (128 * KB, 90), (256 * KB, 120), (512 * KB, 160), (1024 * KB, 200))


def invented_html(size, seed=1):
    """HTML of invented words, whose frequencies fall as those of a language do."""
    source = random.Random(seed)
    letters = "etaoinshrdlucmfwypvbgk"
    words = ["".join(letters[int(len(letters) * source.random() ** 2)]
                     for _ in range(2 + int(9 * source.random()))) for _ in range(4000)]
    parts, length = [], 0
    while length < size:
        sentence = " ".join(words[int(len(words) * source.random() ** 3)]
                            for _ in range(8 + int(12 * source.random())))
        number = int(1e6 * source.random())
        parts.append(f'<p class="c{number % 7}" id="p{number}">{sentence.capitalize()}.</p>\n')
        length += len(parts[-1])
    return "".join(parts).encode()[:size]


def text(size):
    """`size` bytes of HTML: the documentation's pages one after the other, else invented."""
    found = b"".join(path.read_bytes() for path in sorted(DOCUMENTS.glob("*.html")))
    return found[:size] if len(found) >= size else invented_html(size)


def origin(pages=None):
    """What text() and page() are made of, for the table of corpora."""
    if pages is not None:
        return "your pages"
    return ("HTML of libaprutil1-dev, as installed" if any(DOCUMENTS.glob("*.html"))
            else "invented text")


def document_origin(run):
    if run.pages is not None:
        return origin(run.pages)
    found, missing = packages.get(DOCUMENT_PACKAGES, run.say, run.download)
    return origin() if missing else packages.names(found)


def document(size, run):
    """`size` bytes of a site's text: pages of httpd's manual with a script after every fourth.

    Without the packages apache2-doc and libjs-jquery-ui it is text(); with --pages, those, one
    after the other.
    """
    if run.pages is not None:
        return repeated(b"".join(path.read_bytes() for path in files_of(run.pages)), size)
    found, missing = packages.get(DOCUMENT_PACKAGES, run.say, run.download)
    if missing:
        return text(size)
    manual, jquery = found
    scripts = [path for name, path in jquery.of_kind(".js") if not name.endswith(".min.js")]
    joined = b""
    pages = [path for name, path in manual.of_kind(".html") if "/en/" in name]
    for number, path in enumerate(pages):
        joined += path.read_bytes()
        if number % 4 == 3:
            joined += scripts[number // 4 % len(scripts)].read_bytes()[:16 * KB]
        if len(joined) >= size:
            break
    return repeated(joined, size)


def article(size, run):
    """(a page of ARTICLES whose size is nearest, where it is from); without the package page()."""
    found, _ = packages.get([] if run.pages else [ARTICLES], run.say, run.download)
    if not found:
        return page(size, run.pages), origin(run.pages)
    nearest = min((path for _, path in found[0].of_kind(".html")),
                  key=lambda path: abs(path.stat().st_size - size))
    return nearest.read_bytes(), packages.names(found)


def gzip_size(body):
    encoder = zlib.compressobj(6, zlib.DEFLATED, 31)
    return len(encoder.compress(body) + encoder.flush())


def text_of_ratio(size, wanted):
    """`size` bytes that gzip makes `wanted` times smaller: a passage, repeated as it takes.

    The longer the passage, the larger the result.
    """
    passage = text(size)
    length = 1 + bisect.bisect_left(range(1, size), size / wanted, key=lambda length: gzip_size(
        repeated(passage[:length], size)))
    return repeated(passage[:length], size)


def repeated(passage, size):
    return (passage * (size // len(passage) + 1))[:size]


def size_name(size):
    """1024 -> "1K", 1048576 -> "1M", 5000 -> "4.9K"."""
    if size >= KB * KB:
        return f"{size / KB / KB:.3g}M"
    return f"{size / KB:.3g}K"


def files_of(folder):
    """The web pages, scripts and other text in a directory that the user gave, by size."""
    folder = pathlib.Path(folder)
    paths = [path for path in folder.rglob("*")
             if path.suffix.lower() in TEXT_SUFFIXES and path.is_file() and path.stat().st_size
             and not any(part.startswith(".") for part in path.relative_to(folder).parts)]
    if not paths:
        raise tools.BenchError(f"--pages {folder}: no files there end in "
                               f"{', '.join(TEXT_SUFFIXES)}")
    return sorted(paths, key=lambda path: (path.stat().st_size, path.name))


def small_files(pages=None):
    """(name, body) of the eleven files, or of eleven files of `pages`, spread over their sizes."""
    if pages is None:
        return [(f"{size_name(size)}.html", text_of_ratio(size, wanted))
                for size, wanted in SMALL_FILES]
    paths = files_of(pages)
    return [(f"{number}{path.suffix}", path.read_bytes())
            for number, path in enumerate(spread(paths, len(SMALL_FILES)))]


def spread(paths, count):
    """So many of the paths, or all where there are fewer, evenly spread over their order."""
    count = min(len(paths), count)
    return [paths[round(index * (len(paths) - 1) / max(1, count - 1))] for index in range(count)]


def page(size, pages=None):
    """One page of `size` bytes, or the one of `pages` whose size is nearest."""
    if pages is None:
        return text(size)
    nearest = min(files_of(pages), key=lambda path: abs(path.stat().st_size - size))
    return nearest.read_bytes()


def digest(body):
    """The first digits of a body's SHA-256, by which two runs' bodies are known to be equal."""
    return hashlib.sha256(body).hexdigest()[:12]


def composition(name, bodies, from_where):
    """The row of the table of corpora that describes these bodies."""
    bodies = list(bodies)
    total = sum(map(len, bodies))
    digests = b"".join(hashlib.sha256(body).digest() for body in bodies)
    return {"corpus": name, "files": len(bodies), "bytes": total,
            "mean_bytes": round(total / len(bodies)) if bodies else 0,
            "gzip_6_ratio": round(sum(map(gzip_size, bodies)) / total, 3) if total else "",
            "sha256": digest(digests), "from": from_where}
