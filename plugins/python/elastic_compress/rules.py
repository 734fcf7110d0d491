"""Which responses are compressed, and what their header fields say then. Header fields are lists of
(name, value) strings."""

# Smaller bodies fit into one packet as they are.
MIN_SIZE = 1300

COMPRESSIBLE = ("application/javascript", "application/json", "application/xml",
                "application/wasm", "image/svg+xml")


def find(headers, name):
    return next((value for key, value in headers if key.lower() == name), None)


def is_candidate(status, headers):
    """Whether the response may be compressed for a client that accepts it."""
    media_type = (find(headers, "content-type") or "").split(";")[0].strip().lower()
    return (status not in (204, 206, 304) and status >= 200
            and find(headers, "content-encoding") in (None, "identity")
            and find(headers, "content-range") is None
            and "no-transform" not in (find(headers, "cache-control") or "").lower()
            and (media_type.startswith("text/") or media_type in COMPRESSIBLE
                 or media_type.endswith(("+json", "+xml"))))


def with_vary(headers):
    """The fields with Vary: Accept-Encoding, which holds for the uncompressed response too."""
    vary = find(headers, "vary")
    if vary is None:
        return headers + [("Vary", "Accept-Encoding")]
    names = [name.strip().lower() for name in vary.split(",")]
    if "*" in names or "accept-encoding" in names:
        return headers
    return [(key, value + ", Accept-Encoding" if key.lower() == "vary" else value)
            for key, value in headers]


def with_coding(headers, coding, length=None):
    """The fields of the encoded response; `length` where it is known."""
    kept = []
    for key, value in headers:
        name = key.lower()
        if name in ("content-length", "content-encoding", "accept-ranges", "content-md5"):
            continue
        if name == "etag" and value.endswith('"'):
            # Levels vary, and so may the bytes: the tag is weak.
            weak = value if value.startswith("W/") else "W/" + value
            value = f'{weak[:-1]}-{coding}"'
        kept.append((key, value))
    kept.append(("Content-Encoding", coding))
    if length is not None:
        kept.append(("Content-Length", str(length)))
    return kept
