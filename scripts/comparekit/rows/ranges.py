"""Range requests, If-Range, and who advertises ranges."""

from .. import facts, sites
from ..row import PAGE, PLACES, ROUTES, Row, accepts, tagged

SITE = "main"

_FIELDS = (
    ("bytes=0-99", None), ("bytes=100-", None), ("bytes=-100", None), ("bytes=0-9,20-29", None),
    ("bytes=40000-", None), ("bytes=0-", None), ("lines=1-2", None),
    ("bytes=0-99", '"TAG"'), ("bytes=0-99", '"TAG-CODING"'), ("bytes=0-99", 'W/"TAG"'),
    ("bytes=0-99", '"other"'), ("bytes=0-99", "Tue, 14 Nov 2023 22:13:20 GMT"),
    ("bytes=0-99", "Tue, 14 Nov 2023 22:13:19 GMT"),
)


def _respond(ask):
    """An origin that knows ranges of one kind."""
    fields = {"Content-Type": "text/html", "ETag": '"o"', "Accept-Ranges": "bytes"}
    if ask.headers.get("range") == "bytes=0-99":
        ask.respond(206, {**fields, "Content-Range": f"bytes 0-99/{len(PAGE)}"}, PAGE[:100])
    else:
        ask.respond(200, fields, PAGE)


ROUTES["/ranged"] = _respond

_HANDLERS = {
    "file": ("/{place}/page.html", PAGE),
    "script": ("/{place}/say.cgi?size=3000", sites.say_body(3000)),
    "origin": ("/proxy-{place}/ranged", PAGE),
}


def _row(handler, place, ae, range=None, if_range=None):
    path, expect = _HANDLERS[handler]
    path = path.format(place=place)
    fields = {"Range": range, "If-Range": if_range and if_range.replace("CODING", place)}
    fields = {name: value for name, value in fields.items() if value}
    said = ", ".join(f"{name}: {value.replace('TAG', 'v1')}" for name, value in fields.items())
    said = said or "no Range"

    def probe(server):
        answer, tag = tagged(server, path, fields, ae)
        return _facts(answer, tag, expect)

    return Row(f"{handler}, {place}, {said}, {accepts(ae)}",
               f"GET {path}, {said}, Accept-Encoding: {ae or 'none'}", probe)


def _facts(answer, tag, expect):
    found = facts.of_response(None, answer, expect)
    found["etag"] = answer.headers.get("ETag", facts.ABSENT).replace(tag, "v1")
    found["accept-ranges"] = answer.headers.get("Accept-Ranges", facts.ABSENT)
    if answer.status == 206:
        found["body"] = _cut_from(answer, expect)
        found.pop("content-range", None)
        total = (answer.headers.get("Content-Range") or "").rpartition("/")[2]
        if total:
            right = total == str(len(expect))
            found["content-range"] = "of the page" if right else "of other bytes"
    del found["length"]
    return found


def _cut_from(answer, expect):
    """Which body the bytes of a 206 were cut from."""
    if answer.raw.startswith(b"\r\n--"):
        return "parts of the page" if expect[20:30] in answer.raw else "parts of the encoded body"
    if answer.raw in expect:
        return "cut from the page"
    return "cut from the encoded body" if answer.coding else "cut from something else"


def rows():
    for place in PLACES:
        for ae in (place, None):
            yield _row("file", place, ae)
            yield _row("origin", place, ae)
            yield _row("script", place, ae, "bytes=0-99")
        for fields in _FIELDS:
            yield _row("file", place, place, *fields)
        yield _row("file", place, None, "bytes=0-99")
        yield _row("origin", place, place, "bytes=0-99")
