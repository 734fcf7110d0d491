"""HEAD, FLUSH and the end of a body."""

import threading

from kit import bodies, client

from .. import facts, sites
from ..row import FILES, PAGE, PLACES, ROUTES, Row, accepts, describe, get

# mod_bucketeer ends a bucket at \x02 and a brigade at \x10, and flushes at \x06.
_PIECES = {
    "buckets": b"\x02", "brigades": b"\x10", "flushes": b"\x06", "flushes twice": b"\x06\x06",
}
_TEXT = bodies.text(20000)
for _name, _mark in _PIECES.items():
    FILES[f"{_name.replace(' ', '-')}.txt"] = _mark.join(bodies.pieces(_TEXT, (1, 40, 9999)))
for _name in ("buckets", "brigades", "flushes"):
    FILES[f"small-{_name}.txt"] = _PIECES[_name].join([b"one", b"two", b"three"])
FILES["flush-first.txt"] = b"\x06" + _TEXT

SITE = "streams"
sites.SITES[SITE] = sites.Site(
    sites.at("cut-gzip", "SetOutputFilter BUCKETEER;DEFLATE")
    + sites.at("cut-br", "SetOutputFilter BUCKETEER;BROTLI_COMPRESS"))

_SIZE = 3000
# Seconds after which a first part that has not come counts as held; generous, for busy machines.
_HELD = 4
_NOISE = bodies.noise(1_000_000)

FILES["sends-empty.asis"] = b"Content-Type: text/html\n\n"
ROUTES["/known"] = lambda ask: ask.respond(
    200, {"Content-Type": "text/html", "ETag": '"o"'}, PAGE)
ROUTES["/chunked"] = lambda ask: ask.chunked(
    200, {"Content-Type": "text/html"}, [PAGE] if ask.method == "GET" else [])


def _heads():
    for place in PLACES:
        for path, said in ((f"/{place}/page.html", "a file"),
                           (f"/{place}/say.cgi?size={_SIZE}", "a script"),
                           (f"/proxy-{place}/known", "proxied, length known"),
                           (f"/proxy-{place}/chunked", "proxied, length unknown"),
                           (f"/{place}/sends-empty.asis", "an empty answer")):
            for ae in (place, None):
                yield get(f"HEAD, {place}, {said}, {accepts(ae)}", path, ae, method="HEAD",
                          look=_without_body if said == "a script" else _beside_get(path, ae))


# Whether a script's length is known is a matter of when its bytes come.
_without_body = facts.without("body", "length")


def _beside_get(path, ae):
    """A HEAD's facts; its Content-Length beside that of the same GET."""
    def look(server, answer, expect):
        found = facts.without("body")(server, answer, expect)
        length = answer.headers.get("Content-Length")
        if length is not None:
            got = server.get(path, ae=ae)
            found["length"] = "GET's" if int(length) == len(got.raw) else "false"
        return found
    return look


def _flushes():
    for place in PLACES:
        for name in (*_PIECES, "flush first", "small buckets", "small brigades", "small flushes"):
            expect = b"onetwothree" if name.startswith("small") else _TEXT
            yield get(f"{place}, {name}", f"/cut-{place}/{name.replace(' ', '-')}.txt", place,
                      expect=expect, text="mod_bucketeer cuts the file")
        yield _script(place)
        yield _proxied(place)
        yield _proxied(place, first=b"id: 1\n\n")
        yield _broken(place)


def _promptly(server, path, place, first, go_on):
    """Reads the first part; whether it came before the second was let go, which happens after
    _HELD seconds at the latest."""
    late = threading.Timer(_HELD, go_on)
    late.start()
    with server.connect() as connection, client.stream(connection, path, place, None) as stream:
        stream.wait_for(first, timeout=10)
        held = not late.is_alive()
        late.cancel()
        go_on()
        stream.read_all(10)
        return {"coding": stream.coding or "identity",
                "first part": "held until the second" if held else "at once",
                "length": "sent" if "Content-Length" in stream.headers else facts.ABSENT}


def _script(place):
    path = f"/{place}/say.cgi?size={_SIZE}&wait=gate"

    def probe(server):
        gate = server.docs / "gate"
        gate.unlink(missing_ok=True)
        half = sites.say_body(_SIZE)[:_SIZE // 2]
        return _promptly(server, path, place, half[-16:],
                         lambda: server.write("gate", b"open"))
    return Row(f"{place}, a script that pauses",
               describe(path, place, {}, "a script writes half, then waits"), probe)


def _proxied(place, first=PAGE[:9000]):
    path = f"/proxy-{place}/gate"
    size = len(first)

    def probe(server):
        gate = threading.Event()

        def respond(ask):
            ask.head(200, {"Content-Type": "text/html", "Transfer-Encoding": "chunked"})
            ask.send(b"%x\r\n%s\r\n" % (size, first))
            gate.wait(10)
            ask.send(b"4\r\nrest\r\n0\r\n\r\n")
        server.origin.route("/gate", respond)
        return _promptly(server, path, place, first, gate.set)
    return Row(f"{place}, an origin that pauses after {size} bytes",
               describe(path, place, {}, f"the origin sends {size} bytes, then waits"), probe)


def _broken(place):
    """An origin that stops in the middle, when the client has seen some: it must see that too."""
    path = f"/proxy-{place}/broken"

    def probe(server):
        begun = threading.Event()

        def respond(ask):
            ask.head(200, {"Content-Type": "text/html", "Content-Length": len(_NOISE)})
            ask.send(_NOISE[:500_000])
            begun.wait(10)
            ask.close = True
        server.origin.route("/broken", respond)
        with server.connect() as connection:
            answer = connection.read_head(connection.send_request(path, "GET", place))
            begun.set()
            try:
                for _ in connection.body_pieces(answer):
                    pass
            except (client.Incomplete, ConnectionError):
                pass
        return {"status": str(answer.status), "coding": answer.coding or "identity",
                "body": "whole" if answer.complete else "broken off"}
    return Row(f"{place}, an origin that breaks off",
               describe(path, place, {}, "the origin ends within its body"), probe)


def rows():
    yield from _heads()
    yield from _flushes()
