"""Range requests, If-Range, and who advertises ranges."""

from .. import facts, sites
from ..row import PAGE, Row, accepts

_FIELDS = (
    ("bytes=0-99", None), ("bytes=100-", None), ("bytes=-100", None), ("bytes=0-9,20-29", None),
    ("bytes=40000-", None), ("bytes=0-", None), ("lines=1-2", None),
    ("bytes=0-99", '"TAG"'), ("bytes=0-99", '"TAG-CODING"'), ("bytes=0-99", 'W/"TAG"'),
    ("bytes=0-99", '"other"'), ("bytes=0-99", "Tue, 14 Nov 2023 22:13:20 GMT"),
    ("bytes=0-99", "Tue, 14 Nov 2023 22:13:19 GMT"),
)


def _row(kind, path, place, ae, range, if_range, expect=PAGE):
    said = f"Range: {range}" if range else "no Range"
    if if_range:
        said += f", If-Range: {if_range.replace('TAG', 'v1').replace('CODING', place)}"

    def probe(server):
        server.origin.route("/ranged", _respond)
        base = server.get(path, ae=None).headers.get("ETag", '"none"')
        headers = {"Range": range} if range else {}
        if if_range:
            headers["If-Range"] = if_range.replace("TAG", base[1:-1]).replace("CODING", place)
        return _facts(server.get(path, ae=ae, headers=headers), base, expect)

    return Row(f"ranges/{kind}, {place}, {said}, {accepts(ae)}",
               f"GET {path}, {said}, Accept-Encoding: {ae or 'none'}", "main", probe)


def _facts(answer, base, expect):
    found = facts.of_response(None, answer, expect)
    found["etag"] = answer.headers.get("ETag", facts.ABSENT).replace(base[1:-1], "v1")
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


def _respond(ask):
    """An origin that knows ranges of one kind."""
    fields = {"Content-Type": "text/html", "ETag": '"o"', "Accept-Ranges": "bytes"}
    if ask.headers.get("range") == "bytes=0-99":
        ask.respond(206, {**fields, "Content-Range": f"bytes 0-99/{len(PAGE)}"}, PAGE[:100])
    else:
        ask.respond(200, fields, PAGE)


def rows():
    found = []
    for place in ("gzip", "br"):
        for ae in (place, None):
            found.append(_row("file", f"/{place}/page.html", place, ae, None, None))
            found.append(_row("origin", f"/proxy-{place}/ranged", place, ae, None, None))
        for range, if_range in _FIELDS:
            found.append(_row("file", f"/{place}/page.html", place, place, range, if_range))
        found.append(_row("file", f"/{place}/page.html", place, None, "bytes=0-99", None))
        found.append(_row("origin", f"/proxy-{place}/ranged", place, place, "bytes=0-99", None))
        for ae in (place, None):
            found.append(_row("script", f"/{place}/say.cgi?size=3000", place, ae, "bytes=0-99",
                              None, sites.say_body(3000)))
    return found
