"""Whether an answer may be what a client gets: the identity in a coding that it accepts, a part of
the identity, or a status that its conditions explain."""

import re

from kit import decode

_CODED = {"gzip": "gzip", "x-gzip": "gzip", "br": "br", "zstd": "zstd"}


def accepts(field, coding):
    """Whether a client with that Accept-Encoding, "" for none, takes the coding: the first mention
    of a coding counts."""
    known = {}
    for member in field.split(","):
        name, *parameters = [part.strip() for part in member.lower().split(";")]
        weights = [float(part[2:]) for part in parameters if part.startswith("q=")]
        known.setdefault(name, weights[-1] if weights else 1.0)
    named = [known[name] for name in (coding, f"x-{coding}") if name in known]
    return max(named, default=known.get("*", 0)) > 0


def base_tag(tag):
    """The tag of the identity that a tag belongs to, and whose weak one it is."""
    return re.sub(r'-(gzip|br|zstd)"$', '"', tag.removeprefix("W/"))


def _decoded(answer):
    return decode.decode(_CODED.get(answer.coding), answer.raw)


class Judge:
    """Of one server: knows the identity of each resource, and the tags that were given out."""

    def __init__(self, identity, names=()):
        self._identity = identity  # resource -> (status, body, fields) of a request for it as it is
        self._named = tuple(names)  # resources whose tag the configuration sets behind the filters
        self._coding_of = {}  # (resource, strong tag) -> the coding whose tag it is
        self._tags, self._dates = {}, {}  # by resource

    def seen(self, resource):
        """(tags, dates) of its answers until now."""
        return sorted(self._tags.get(resource, ())), sorted(self._dates.get(resource, ()))

    def complaint(self, case, answer):
        """What is wrong with it, as a sentence; None where nothing is."""
        if not answer.complete:
            return f"it broke off: {answer.why}"
        try:
            return self._wrong(case, answer)
        except decode.DecodeError as error:
            return f"damaged: {error}"

    def _wrong(self, case, answer):
        asked = dict(case.request.headers)
        is_head = case.request.method == "HEAD"
        length = int(answer.headers.get("content-length", len(answer.raw)))
        if not is_head and answer.status != 304 and length != len(answer.raw):
            return f"{len(answer.raw)} bytes, where Content-Length says {length}"
        # mod_http2 of httpd 2.4.71 gives HEAD the body of a script that nobody encodes.
        if is_head and answer.raw and (answer.coding or answer.head):
            return "a HEAD with a body"
        if answer.coding and answer.status != 304:
            coding = _CODED.get(answer.coding)
            if not coding or not accepts(asked.get("Accept-Encoding", ""), coding):
                return f"in {answer.coding}, which was not accepted"
            if not {"*", "accept-encoding"} & set(answer.tokens("Vary")):
                return f"in {answer.coding} without Vary"
        if answer.status == 412:
            explained = asked.keys() & {"If-Match", "If-Unmodified-Since"}
            return None if explained else "a 412 without a condition"
        if answer.status == 416:
            return None if "Range" in asked else "a 416 without a range"
        if answer.status == 304:
            return self._wrong_304(case, answer, asked)
        if answer.status == 206:
            return self._wrong_part(case, answer) if "Range" in asked else "a part nobody asked for"
        return self._wrong_whole(case, answer)

    def _wrong_whole(self, case, answer):
        status, body = (200, case.expect) if case.expect is not None \
            else self._identity(case.resource)[:2]
        if answer.status != status:
            return f"{answer.status}, where the identity has {status}"
        if case.resource.startswith("/shm/") and "age" in answer.headers and not answer.raw:
            return None  # mod_cache_socache of httpd 2.4.71 loses the body of what it revalidates
        for field, known in (("etag", self._tags), ("last-modified", self._dates)):
            if field in answer.headers:
                known.setdefault(case.resource, set()).add(answer.headers[field])
        if case.request.method != "HEAD" and _decoded(answer) != body:
            return "another body"
        return self._wrong_tag(case, answer)

    def _wrong_tag(self, case, answer):
        """One strong tag for two codings would let a cache splice one with the other."""
        tag = answer.headers.get("etag", "W/")
        if tag.startswith("W/") or answer.status != 200 or case.resource.startswith(self._named):
            return None
        coding = _CODED.get(answer.coding, "")
        first = self._coding_of.setdefault((case.resource, tag), coding)
        return None if first == coding else f"the tag {tag} is that of {first or 'identity'}, too"

    def _wrong_part(self, case, answer):
        if case.request.method == "HEAD":
            return None
        if answer.coding:
            return None if case.resource.startswith("/precompressed") \
                else f"a part of the body in {answer.coding}"
        body = self._identity(case.resource)[1]
        found = re.fullmatch(r"bytes (\d+)-(\d+)/(\d+)", answer.headers.get("content-range", ""))
        if not found or int(found[3]) != len(body):
            return "a part of another size"
        return None if answer.raw == body[int(found[1]):int(found[2]) + 1] \
            else "a part of another body"

    def _wrong_304(self, case, answer, asked):
        if answer.raw:
            return "a 304 with a body"
        if "If-None-Match" not in asked:
            return None if "If-Modified-Since" in asked else "a 304 without a condition"
        listed = asked["If-None-Match"]
        known = {base_tag(tag) for tag in self._tags.get(case.resource, ())}
        known.add(base_tag(self._identity(case.resource)[2].get("etag", "")))
        if "*" in listed or known & set(map(base_tag, re.findall(r'(?:W/)?"[^"]*"', listed))):
            return None
        return f"a 304 to tags that it never gave: {listed}"
