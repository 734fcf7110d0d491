"""ElasticLevel coding stock: whatever the load, the mode and the content, no response has more
bytes than from an httpd without this module, apart from what is only known on average."""

import json
import random
import zlib

import brotli
import pytest

from kit import at, bodies, check, env
from kit.driven import TOP, start_driven

# Our gzip 6 is within one percent of zlib's on average for a size; br is the same library.
TOLERANCE, BYTES = 1.025, 16
# Other codings are compared by the means of a size class.
TOLERANCE_OF_OTHERS = 1.1


def records(size):
    rng = random.Random(size)
    rows = []
    while sum(map(len, rows)) < size:
        rows.append(json.dumps({"id": rng.randrange(10**6), "name": bodies.text(40000)[
            (at := rng.randrange(30000)):at + 30].decode(), "price": rng.random(), "tags": []}))
    return ("[" + ",\n".join(rows) + "]").encode()[:size]


BODIES = {f"{kind}-{size}.{ext}": make(size) for kind, make, ext in (
    ("text", bodies.text, "txt"), ("records", records, "json"))
    for size in (3_000, 12_000, 50_000, 160_000)}


def gzip_6(body):
    """The bytes that mod_deflate makes by default."""
    encoder = zlib.compressobj(6, zlib.DEFLATED, 31, 9)
    return len(encoder.compress(body) + encoder.flush())


def brotli_5(body):
    """The bytes that mod_brotli makes."""
    return len(brotli.compress(body, quality=5, lgwin=18))


ALL = "zstd, br, gzip" if env.HAS_ZSTD else "br, gzip"
FLOORS = "ElasticLevel gzip stock\nElasticLevel br stock\nElasticLevel zstd stock\n"
GZIP = "ElasticLevel gzip stock\n"


def start(httpd, config, **kw):
    """A server with all bodies."""
    d = start_driven(httpd, config, **kw)
    for name, body in BODIES.items():
        d.server.write(name, body)
    return d


def exceeding(d, ae, most, coding, folder=""):
    """The bodies with more bytes than `most` makes; other codings have their own tolerance."""
    found = {}
    for name, body in BODIES.items():
        answer = d.server.get(f"{folder}/{name}", ae=ae)
        check.encoded(answer, answer.coding, body)
        tolerance = TOLERANCE if answer.coding == coding else TOLERANCE_OF_OTHERS
        if len(answer.raw) > most(body) * tolerance + BYTES:
            found[name] = answer.coding, len(answer.raw), most(body)
    return found


MODES = ["", "ElasticControl mix", "ElasticGoal time 100Mbit/s", "ElasticGoal cost 100/h 0/GB",
         "ElasticMaxTime 1ms", "ElasticWholeBody 0"]


@pytest.mark.parametrize("mode", MODES)
def test_a_busy_server_makes_no_more_bytes(httpd, mode):
    d = start(httpd, FLOORS + mode)
    for is_busy in (False, True):
        if is_busy:
            d.wait_for_floor()
        assert not exceeding(d, "gzip", gzip_6, "gzip")
        assert not exceeding(d, "br", brotli_5, "br")
        # Clients that accept br get at most br's bytes, in any coding.
        assert not exceeding(d, ALL, brotli_5, "br")
        assert not env.HAS_ZSTD or not exceeding(d, "zstd", gzip_6, None)
    status = d.status()
    assert float(status["ElasticPosition"]) == 0
    assert (status["ElasticLevelGzip"], status["ElasticLevelBr"]) == ("6", "5")


def test_the_bound_is_that_of_the_fewest_bytes(httpd):
    """By the built-in costs, as on a fresh server."""
    d = start(httpd, FLOORS)
    d.wait_for_floor()
    page = "/text-50000.txt"
    # Level 5 of zstd makes more bytes than gzip 6; gzip 6 takes less time than br 5, and makes
    # more.
    assert not env.HAS_ZSTD or \
        d.server.notes(d.server.get(page, ae="zstd"))["elastic-level"] == "6"
    assert d.server.get(page, ae="br, gzip").coding == "br"


def test_one_coding_bounds_all_of_a_client_that_likes_it_as_much(httpd):
    """A busy server without a bound makes more bytes."""
    d = start(httpd, GZIP + at("free", "ElasticLevel gzip 6 9")
              + at("low", "ElasticLevel gzip 1 9"))
    d.wait_for_floor()
    for place, ae in (("/low", "gzip"), ("/free", ALL), ("/free", ALL)):
        # In turn, so that neither uses the other's ladder.
        assert exceeding(d, ae, gzip_6, "gzip", place)
        assert not exceeding(d, ae, gzip_6, "gzip")
    # Without gzip's bound, or for clients without gzip, br goes down to its own minimum.
    assert exceeding(d, "br", gzip_6, None)
    assert d.level("br") == 0


@pytest.mark.parametrize("most,levels", [
    ("", {TOP: 9, 4: 8, 1: 6, 0: 6}), ("6", {0: 6, TOP: 6}), ("7", {0: 6, TOP: 7})])
def test_positions_go_from_stock_to_the_maximum(httpd, most, levels):
    d = start(httpd, f"ElasticLevel gzip stock {most}\nElasticLevel br 0 8")
    for position, level in levels.items():
        d.walk_to(position)
        assert d.level() == int(d.status()["ElasticLevelGzip"]) == level


def test_off_is_the_maximum(httpd):
    d = start(httpd, FLOORS + "ElasticControl off")
    assert (d.level(), d.level("br")) == (9, 6)


def test_a_drop_in_filter_has_it_too(httpd):
    d = start(httpd, "SetOutputFilter DEFLATE\nDeflateCompressionLevel 3\n" + GZIP,
              records=("elastic", "deflate"))
    d.wait_for_floor()
    assert not exceeding(d, "gzip", gzip_6, "gzip")
    assert d.level() == 6


def test_nothing_is_tried_at_a_lower_level(httpd):
    """A large body that compresses badly is encoded to its end, as by the stock module."""
    noise = bodies.noise(1_100_000)
    d = start(httpd, GZIP)
    d.server.write("noise.txt", noise)
    check.encoded(d.server.get("/noise.txt", ae="gzip"), "gzip", noise)
    assert d.status()["ElasticProbes"] == "0"
