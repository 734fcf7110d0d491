"""If-None-Match, If-Match and dates, through files, scripts and origins."""

from .. import facts, sites
from ..row import PAGE, PLACES, ROUTES, Row, accepts, get, tagged

# Compares as most scripts do: it is 304 where its own tag is in the list.
_SCRIPT = """\
asked = os.environ.get('HTTP_IF_NONE_MATCH', '')
if '"v1"' in asked or asked == '*':
    head('Status: 304 Not Modified', 'ETag: "v1"')
else:
    head('Content-Type: text/html', 'ETag: "v1"')
    out('0123456789abcde\\n' * 200)
"""

SITE = "conditional"
sites.SITES[SITE] = sites.Site(
    sites.vhost("unset") +
    sites.vhost("keep", "DeflateAlterETag NoChange", "BrotliAlterETag NoChange"),
    cgi={"tagged.cgi": _SCRIPT})


def _respond(ask):
    """An origin that compares as the script does."""
    asked = ask.headers.get("if-none-match", "")
    if '"v1"' in asked or asked == "*":
        ask.respond(304, {"ETag": '"v1"'})
    else:
        ask.respond(200, {"ETag": '"v1"', "Content-Type": "text/html"}, PAGE)


ROUTES["/tagged"] = _respond
ROUTES["/always-304"] = lambda ask: ask.respond(304, {"ETag": '"x"'})

_HANDLERS = {
    "file": ("/{place}/page.html", PAGE),
    "script": ("/{place}/tagged.cgi", sites.say_body(200 * 16)),
    "origin": ("/proxy-{place}/tagged", PAGE),
}


def _row(handler, place, field, pattern, ae, host="unset", method="GET"):
    path, expect = _HANDLERS[handler]
    path = path.format(place=place)
    said = pattern.replace("TAG", "v1")

    def probe(server):
        answer, tag = tagged(server, path, {"Host": host, field: pattern}, ae, method=method)
        found = facts.of_response(server, answer, expect)
        found["etag"] = answer.headers.get("ETag", facts.ABSENT).replace(tag, "v1")
        del found["length"]  # of scripts and origins it is a matter of when their bytes come
        if method == "HEAD":
            del found["body"]
        if handler == "origin":
            seen = server.origin.seen[-1].headers.get(field.lower(), facts.ABSENT)
            found["origin saw"] = seen.replace(tag, "v1")
        return found

    where = "" if host == "unset" else ", AlterETag NoChange"
    name = f"{handler}, {place}{where}, {field}: {said}, {accepts(ae)}"
    return Row(name if method == "GET" else f"{name}, {method}",
               f"{method} {path}, {field}: {said}, Accept-Encoding: {ae or 'none'}", probe)


def rows():
    for handler in _HANDLERS:
        for place in PLACES:
            ours = f'"TAG-{place}"'
            for pattern in ('"TAG"', ours, f"W/{ours}", 'W/"TAG"', f'"other", {ours}', "*",
                            '"other"', '"other-gzip"', '"TAG-gzip-gzip"'):
                yield _row(handler, place, "If-None-Match", pattern, place)
            yield _row(handler, place, "If-None-Match", ours, None)
            yield _row(handler, place, "If-None-Match", '"TAG"', None)
            yield _row(handler, place, "If-None-Match", ours, place, method="HEAD")
            yield _row(handler, place, "If-None-Match", '"TAG"', place, "keep")
    for place in PLACES:
        for pattern in ('"TAG"', f'"TAG-{place}"', f'W/"TAG-{place}"', '"other"', "*"):
            yield _row("file", place, "If-Match", pattern, place)
        for field, second in (("If-Modified-Since", 20), ("If-Unmodified-Since", 19)):
            yield _row("file", place, field, f"Tue, 14 Nov 2023 22:13:{second} GMT", place)
        # What the filter makes of a 304 that comes with a tag and nothing else.
        for handler, path in (
                ("script", f"/{place}/say.cgi?h=Status:304+Not+Modified&h=ETag:%22x%22"),
                ("origin", f"/proxy-{place}/always-304")):
            yield get(f"{handler}, {place}, a 304 of its own", path, place, expect=b"",
                      text='always 304 with ETag: "x"', look=facts.of_script)
