"""The served bodies, from the documentation of installed or downloaded packages, or invented: the
same bytes on every machine that has the same packages."""

import bisect
import hashlib
import pathlib
import random
import zlib

from benchkit import packages

DOCUMENTS = pathlib.Path("/usr/share/doc/libaprutil1-dev/html")
DOCUMENT_PACKAGES = ("apache2-doc", "libjs-jquery-ui")
ARTICLES = "libxml2-doc"  # one of its pages is a text of 345 KB, of which gzip leaves 0.31
KB = 1024

# Eleven files from 1 KB to 1 MB, and their ratio with gzip, as in the source: up to 32 KB they
# compress to less than one segment, and larger files reach 1:200.
SMALL_FILES = ((1 * KB, 2), (2 * KB, 4), (4 * KB, 6), (8 * KB, 10), (16 * KB, 20), (32 * KB, 40),
               (64 * KB, 64), (128 * KB, 90), (256 * KB, 120), (512 * KB, 160), (1024 * KB, 200))


def invented_html(size, seed=1):
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
    """`size` bytes of HTML: the documentation's pages one after another, else invented."""
    found = b"".join(path.read_bytes() for path in sorted(DOCUMENTS.glob("*.html")))
    return found[:size] if len(found) >= size else invented_html(size)


def origin():
    return ("HTML of libaprutil1-dev, as installed" if any(DOCUMENTS.glob("*.html"))
            else "invented text")


def document(size, run):
    """(`size` bytes of a site's text, its origin): pages of httpd's manual with a script after
    every fourth; without their packages text()."""
    found, missing = packages.get(DOCUMENT_PACKAGES, run.download)
    if missing:
        return text(size), origin()
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
    return repeated(joined, size), packages.names(found)


def article(size, run):
    """(the page of ARTICLES with the nearest size, its origin); without the package text()."""
    found, _ = packages.get([ARTICLES], run.download)
    if not found:
        return text(size), origin()
    nearest = min((path for _, path in found[0].of_kind(".html")),
                  key=lambda path: abs(path.stat().st_size - size))
    return nearest.read_bytes(), packages.names(found)


def gzip_size(body):
    encoder = zlib.compressobj(6, zlib.DEFLATED, 31)
    return len(encoder.compress(body) + encoder.flush())


def small_files():
    """(name, body) of eleven files, each a repeated passage: a longer one makes gzip's larger."""
    found = []
    for size, wanted in SMALL_FILES:
        passage = text(size)
        length = 1 + bisect.bisect_left(range(1, size), size / wanted, key=lambda length: gzip_size(
            repeated(passage[:length], size)))
        name = f"{size // KB}K" if size < KB * KB else "1M"
        found.append((f"{name}.html", repeated(passage[:length], size)))
    return found


def repeated(passage, size):
    return (passage * (size // len(passage) + 1))[:size]


def spread(items, count):
    """`count` of the items, or all if there are fewer, evenly spread over their order."""
    count = min(len(items), count)
    return [items[round(index * (len(items) - 1) / max(1, count - 1))] for index in range(count)]


def composition(name, bodies, from_where):
    bodies = list(bodies)
    digests = b"".join(hashlib.sha256(body).digest() for body in bodies)
    return {"corpus": name, "files": len(bodies), "bytes": sum(map(len, bodies)),
            "sha256": hashlib.sha256(digests).hexdigest()[:12], "from": from_where}
