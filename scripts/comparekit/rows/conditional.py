"""If-None-Match, If-Match and dates, through files, scripts and origins."""

from .. import facts, sites
from ..row import PAGE, Row, accepts, describe

_TAG = '"v1"'

# Compares as most scripts do: it is 304 where its own tag is in the list.
_SCRIPT = """\
asked = os.environ.get('HTTP_IF_NONE_MATCH', '')
if '"v1"' in asked or asked == '*':
    head('Status: 304 Not Modified', 'ETag: "v1"')
else:
    head('Content-Type: text/html', 'ETag: "v1"')
    out('0123456789abcde\\n' * 200)
"""

sites.SITES["conditional"] = sites.Site(
    sites.vhost("unset") +
    sites.vhost("keep", "DeflateAlterETag NoChange", "BrotliAlterETag NoChange"),
    cgi={"tagged.cgi": _SCRIPT})

_SCRIPTED = sites.say_body(200 * 16)


def _respond(ask):
    asked = ask.headers.get("if-none-match", "")
    if _TAG in asked or asked == "*":
        ask.respond(304, {"ETag": _TAG})
    else:
        ask.respond(200, {"ETag": _TAG, "Content-Type": "text/html"}, PAGE)


_HANDLERS = {
    "file": ("/{place}/page.html", PAGE),
    "script": ("/{place}/tagged.cgi", _SCRIPTED),
    "origin": ("/proxy-{place}/tagged", PAGE),
}


def _named(text, base):
    """A file's tag, named: it depends on its time and size only."""
    return text.replace(base[1:-1], "v1")


def _row(handler, place, field, pattern, ae, host="unset", method="GET"):
    path = _HANDLERS[handler][0].format(place=place)
    said = pattern.replace("TAG", "v1")

    def probe(server):
        server.origin.route("/tagged", _respond)
        at = {"Host": host}
        base = server.get(path, ae=None, headers=at).headers["ETag"]
        value = pattern.replace("TAG", base[1:-1])
        answer = server.get(path, ae=ae, headers={**at, field: value}, method=method)
        found = facts.of_response(server, answer, _HANDLERS[handler][1])
        found["etag"] = _named(answer.headers.get("ETag", facts.ABSENT), base)
        del found["length"]  # of scripts and origins it is a matter of when their bytes come
        if method == "HEAD":
            del found["body"]
        if handler == "origin":
            found["origin saw"] = _named(server.origin.seen[-1].headers.get(
                field.lower(), facts.ABSENT), base)
        return found

    where = "" if host == "unset" else ", AlterETag NoChange"
    name = f"conditional/{handler}, {place}{where}, {field}: {said}, {accepts(ae)}"
    if method != "GET":
        name += f", {method}"
    return Row(name, f"{method} {path}, {field}: {said}, Accept-Encoding: {ae or 'none'}",
               "conditional", probe)


def _bare_304(handler, place):
    """What the filter makes of a 304 that comes with a tag and nothing else."""
    path = {"script": f"/{place}/say.cgi?h=Status:304+Not+Modified&h=ETag:%22x%22",
            "origin": f"/proxy-{place}/always-304"}[handler]

    def probe(server):
        server.origin.route("/always-304", lambda ask: ask.respond(304, {"ETag": '"x"'}))
        return facts.of_script(server, server.get(path, ae=place), b"")
    return Row(f"conditional/{handler}, {place}, a 304 of its own",
               describe(path, place, {}, 'always 304 with ETag: "x"'),
               "conditional", probe)


def rows():
    found = []
    for handler in _HANDLERS:
        for place in ("gzip", "br"):
            for pattern in ('"TAG"', f'"TAG-{place}"', f'W/"TAG-{place}"', 'W/"TAG"',
                            f'"other", "TAG-{place}"', "*", '"other"', '"other-gzip"',
                            '"TAG-gzip-gzip"'):
                found.append(_row(handler, place, "If-None-Match", pattern, place))
            found.append(_row(handler, place, "If-None-Match", f'"TAG-{place}"', None))
            found.append(_row(handler, place, "If-None-Match", '"TAG"', None))
            found.append(_row(handler, place, "If-None-Match", f'"TAG-{place}"', place,
                              method="HEAD"))
            found.append(_row(handler, place, "If-None-Match", '"TAG"', place, "keep"))
    for place in ("gzip", "br"):
        for pattern in ('"TAG"', f'"TAG-{place}"', f'W/"TAG-{place}"', '"other"', "*"):
            found.append(_row("file", place, "If-Match", pattern, place))
        found.append(_row("file", place, "If-Modified-Since",
                          "Tue, 14 Nov 2023 22:13:20 GMT", place))
        found.append(_row("file", place, "If-Unmodified-Since",
                          "Tue, 14 Nov 2023 22:13:19 GMT", place))
        for handler in ("script", "origin"):
            found.append(_bare_304(handler, place))
    return found
