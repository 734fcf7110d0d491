"""What the applications of the tests answer."""

import collections

Page = collections.namedtuple("Page", "pieces type headers status",
                              defaults=("text/html; charset=utf-8", (), 200))

TEXT = b"".join(b"Line %d: the quick brown fox jumps over the lazy dog.\n" % (n * n)
                for n in range(600))

PAGES = {
    "/": Page([TEXT], headers=(("ETag", '"abc"'),)),
    "/pieces": Page([TEXT[n:n + 1000] for n in range(0, len(TEXT), 1000)]),
    "/write": Page([TEXT[:500], b"", TEXT[500:]]),
    "/small": Page([b"small"]),
    "/empty": Page([b""]),
    "/image": Page([TEXT], "image/png"),
    "/json": Page([TEXT], "application/ld+json"),
    "/coded": Page([TEXT], headers=(("Content-Encoding", "br"),)),
    "/fixed": Page([TEXT], headers=(("Cache-Control", "public, no-transform"),)),
    "/vary": Page([TEXT], headers=(("Vary", "Cookie"),)),
    "/missing": Page([TEXT], status=404),
    "/part": Page([TEXT], status=206, headers=(("Content-Range", "bytes 0-9/100"),)),
}
