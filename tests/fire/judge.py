"""Whether an answer may be what a client gets: the identity in a coding that it accepts, a part of
the identity, or a status that its conditions explain."""

import re
import zlib

from kit import decode

_CODED = {"gzip": "gzip", "x-gzip": "gzip", "br": "br", "zstd": "zstd"}


def weights(field):
    """{coding: weight} of an Accept-Encoding, the first mention of each."""
    found = {}
    for member in field.split(","):
        name, *parameters = [part.strip() for part in member.split(";")]
        weight = 1.0
        for parameter in parameters:
            key, _, value = parameter.partition("=")
            if key.strip().lower() == "q":
                weight = float(value)
        if name:
            found.setdefault(name.lower(), weight)
    return found


def accepts(field, coding):
    """Whether a client with that Accept-Encoding, None for none, takes the coding."""
    known = weights(field) if field is not None else {}
    names = [name for name in (coding, f"x-{coding}") if name in known]
    if names:
        return max(known[name] for name in names) > 0
    return known.get("*", 0) > 0


def _field(case, name):
    return next((value for key, value in case.request.headers if key == name), None)


def base_tag(tag):
    """The tag of the identity that a tag belongs to, and whose weak one it is."""
    return re.sub(r'-(gzip|br|zstd)"$', '"', tag.removeprefix("W/"))


class Judge:
    """Of one server: knows the identity of each resource, and the tags that were given out."""

    def __init__(self, identity, names=()):
        self._identity = identity  # resource -> (status, body, fields) of a request for it as it is
        self._named = tuple(names)  # resources whose tag the configuration sets behind the filters
        self._coding_of = {}  # (resource, strong tag) -> the coding whose tag it is
        self.tags = {}  # resource -> tags
        self.dates = {}

    def seen(self, resource):
        return sorted(self.tags.get(resource, ())), sorted(self.dates.get(resource, ()))

    def _learn(self, case, answer):
        tag, date = answer.headers.get("etag"), answer.headers.get("last-modified")
        if tag:
            self.tags.setdefault(case.resource, set()).add(tag)
        if date:
            self.dates.setdefault(case.resource, set()).add(date)

    def complaint(self, case, answer):
        """What is wrong with it, as a sentence; None where nothing is."""
        if not answer.whole:
            return f"it broke off: {answer.why}"
        if answer.status in case.statuses:
            return None
        try:
            return self._wrong(case, answer)
        except (decode.DecodeError, zlib.error) as error:
            return f"damaged: {error}"

    def _wrong(self, case, answer):
        method = case.request.method
        length = answer.headers.get("content-length")
        if length is not None and method != "HEAD" and answer.status != 304 \
                and int(length) != len(answer.raw):
            return f"{len(answer.raw)} bytes, where Content-Length says {length}"
        if method == "HEAD" and answer.raw:
            return "a HEAD with a body"
        wrong = self._wrong_coding(case, answer)
        if wrong:
            return wrong
        return {206: self._wrong_part, 304: self._wrong_304, 412: self._wrong_412,
                416: self._wrong_416}.get(answer.status, self._wrong_whole)(case, answer)

    def _wrong_coding(self, case, answer):
        if not answer.coding or answer.status == 304:
            return None
        coding = _CODED.get(answer.coding)
        if not coding:
            return f"in the coding {answer.coding}"
        if not accepts(_field(case, "Accept-Encoding"), coding):
            return f"in {coding}, which was not accepted"
        if "accept-encoding" not in answer.headers.get("vary", "").lower() \
                and answer.headers.get("vary") != "*":
            return f"in {coding} without Vary"
        return None

    def _wrong_tag(self, case, answer):
        """One strong tag for two codings would let a cache splice one with the other."""
        tag = answer.headers.get("etag", "W/")
        if tag.startswith("W/") or answer.status != 200 or case.resource.startswith(self._named):
            return None
        coding = _CODED.get(answer.coding, "")
        first = self._coding_of.setdefault((case.resource, tag), coding)
        return None if first == coding else f"the tag {tag} is that of {first or 'identity'}, too"

    def _wrong_whole(self, case, answer):
        status, body, _ = (200, case.expect, {}) if case.expect is not None \
            else self._identity(case.resource)
        if answer.status != status:
            return f"{answer.status}, where the identity has {status}"
        if case.resource.startswith("/shm/") and "age" in answer.headers and not answer.raw:
            return None  # mod_cache_socache of httpd 2.4.71 loses the body of what it revalidates
        self._learn(case, answer)
        if case.request.method != "HEAD" and self._decoded(answer) != body:
            return "another body"
        return self._wrong_tag(case, answer)

    @staticmethod
    def _decoded(answer):
        # Most bodies come in gzip or as they are.
        if answer.coding == "gzip":
            decoder = zlib.decompressobj(31)
            body = decoder.decompress(answer.raw)
            if decoder.eof and not decoder.unused_data:
                return body
            raise decode.DecodeError("gzip: cut short, or something follows")
        return decode.decode(_CODED.get(answer.coding), answer.raw)

    def _wrong_part(self, case, answer):
        if not _field(case, "Range"):
            return "a part that nobody asked for"
        if case.request.method == "HEAD":
            return None
        if answer.coding and not case.resource.startswith("/siblings"):
            return f"a part of the body in {answer.coding}"
        _, body, _ = self._identity(case.resource)
        if answer.coding:
            return None
        kind = answer.headers.get("content-type", "")
        if not kind.startswith("multipart/byteranges"):
            return self._wrong_slice(answer.headers.get("content-range", ""), answer.raw, body)
        boundary = b"\r\n--" + kind.partition("boundary=")[2].encode()
        for part in (b"\r\n" + answer.raw.lstrip(b"\r\n")).split(boundary)[1:-1]:
            head, _, data = part.partition(b"\r\n\r\n")
            found = re.search(rb"(?i)content-range: *([^\r\n]*)", head)
            wrong = self._wrong_slice(found[1].decode() if found else "", data, body)
            if wrong:
                return wrong
        return None

    @staticmethod
    def _wrong_slice(content_range, data, body):
        found = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+|\*)", content_range)
        if not found:
            return f"a part with Content-Range {content_range!r}"
        first, last = int(found[1]), int(found[2])
        if found[3] not in ("*", str(len(body))):
            return f"a part of {found[3]} bytes, where the identity has {len(body)}"
        return None if data == body[first:last + 1] else "a part of another body"

    def _wrong_304(self, case, answer):
        asked = _field(case, "If-None-Match")
        if answer.raw:
            return "a 304 with a body"
        if asked is None:
            return None if _field(case, "If-Modified-Since") else "a 304 without a condition"
        known = {base_tag(tag) for tag in self.tags.get(case.resource, ())}
        _, _, fields = self._identity(case.resource)
        known.add(base_tag(fields.get("etag", "")))
        listed = re.findall(r'(?:W/)?"[^"]*"', asked)
        if "*" in asked or known & {base_tag(tag) for tag in listed}:
            return None
        return f"a 304 to tags that it never gave: {asked}"

    def _wrong_412(self, case, answer):
        if _field(case, "If-Match") or _field(case, "If-Unmodified-Since"):
            return None
        return "a 412 without a condition"

    def _wrong_416(self, case, answer):
        return None if _field(case, "Range") else "a 416 without a range"
