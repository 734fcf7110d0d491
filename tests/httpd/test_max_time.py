"""ElasticMaxTime: what would take longer than that gets a lower setup than its position says."""

import pytest

from kit import bodies, check, env
from kit.driven import TOP, start_driven

# At gzip 9 the larger one takes some 140 ms and at gzip 1 some 5 or 25, the smaller one takes 2. A
# machine of twice the speed, or half of it, decides the same.
SMALL, LARGE = bodies.text(50_000), bodies.text(3_000_000)
ALL = "zstd, br, gzip" if env.HAS_ZSTD else "br, gzip"

STREAM = """
head('Content-Type: text/plain')
for _ in range(4):
    out(bodies.text(50_000))
    time.sleep(.02)
"""

CONFIG = """
<Location /tight>
ElasticMaxTime 1ms
</Location>
<Location /medium>
ElasticMaxTime 60ms
</Location>
<Location /ample>
ElasticMaxTime 60s
</Location>
<Location /tight/off>
ElasticMaxTime Off
</Location>
<Location /tight/pinned>
ElasticLevel gzip 9
ElasticLevel br 6
</Location>
<Location /tight/bounds>
ElasticLevel gzip 5 9
</Location>
"""
PLACES = ("ample", "medium", "tight", "tight/off", "tight/pinned", "tight/bounds")


@pytest.fixture
def ceiling(httpd):
    """A server at the ceiling."""
    def make(config=CONFIG, **kw):
        d = start_driven(httpd, config, **kw)
        for place in (".", *PLACES):
            d.server.write(f"{place}/small.txt", SMALL)
            d.server.write(f"{place}/large.txt", LARGE)
            d.server.cgi(f"{place}/stream.cgi", STREAM)
        d.walk_to(TOP)
        return d

    return make


def chosen(server, path, ae="gzip", body=LARGE):
    """(coding, level) of an answer."""
    answer = server.get(path, ae=ae)
    check.encoded(answer, answer.coding, body)
    return answer.coding, int(server.notes(answer)["elastic-level"])


def test_a_body_that_would_take_too_long_goes_down(ceiling):
    server = ceiling().server
    assert chosen(server, "/large.txt") == ("gzip", 9)
    assert chosen(server, "/ample/large.txt") == ("gzip", 9)
    assert chosen(server, "/tight/large.txt") == ("gzip", 1)
    # No further than it has to.
    assert 1 < chosen(server, "/medium/large.txt")[1] < 9


def test_a_body_that_fits_stays(ceiling):
    server = ceiling().server
    assert chosen(server, "/medium/small.txt", body=SMALL) == ("gzip", 9)


def test_the_lower_setup_is_of_the_same_position(ceiling):
    """Where the position is lower than the limit asks for, it is the position that counts."""
    d = ceiling()
    d.walk_to(2)
    assert chosen(d.server, "/ample/large.txt") == ("gzip", 3)
    assert chosen(d.server, "/medium/small.txt", body=SMALL) == ("gzip", 3)


def test_the_floor_is_the_least(ceiling):
    assert chosen(ceiling().server, "/tight/bounds/large.txt") == ("gzip", 5)


def test_it_merges_and_ends_where_it_is_off(ceiling):
    server = ceiling().server
    assert chosen(server, "/tight/off/large.txt") == ("gzip", 9)


@pytest.mark.parametrize("ae,level", [("gzip", 9), ("br", 6), ("br, gzip", 6)])
def test_a_pinned_level_is_used_exactly(ceiling, ae, level):
    assert chosen(ceiling().server, "/tight/pinned/large.txt", ae)[1] == level


def test_without_control_a_level_is_used_exactly(httpd):
    server = httpd("Elastic On\nElasticControl off\nElasticMaxTime 1ms", files={"a.txt": LARGE})
    assert chosen(server, "/a.txt") == ("gzip", 9)
    assert chosen(server, "/a.txt", ALL) == ("br", 6)


def test_the_ladder_goes_down_rung_by_rung(ceiling):
    d = ceiling()
    top = chosen(d.server, "/large.txt", ALL)
    assert chosen(d.server, "/ample/large.txt", ALL) == top
    tight = chosen(d.server, "/tight/large.txt", ALL)
    assert tight != top
    d.walk_to(0)
    assert chosen(d.server, "/large.txt", ALL) == tight


def test_a_stream_counts_as_a_large_page(ceiling):
    server = ceiling().server
    body = 4 * bodies.text(50_000)
    assert chosen(server, "/stream.cgi", body=body) == ("gzip", 9)
    assert chosen(server, "/ample/stream.cgi", body=body) == ("gzip", 9)
    assert chosen(server, "/tight/stream.cgi", body=body)[1] < 9


def test_a_stream_of_known_length_is_judged_by_it(ceiling):
    """As long as its length is announced, whether it is encoded in one piece does not matter."""
    server = ceiling("ElasticWholeBody 0\n" + CONFIG).server
    assert chosen(server, "/tight/large.txt") == ("gzip", 1)
    assert chosen(server, "/medium/small.txt", body=SMALL) == ("gzip", 9)


def test_head_says_what_get_carries(ceiling):
    server = ceiling().server
    get = server.get("/tight/large.txt", ae=ALL)
    head = server.head("/tight/large.txt", ae=ALL)
    assert head.headers["Content-Encoding"] == get.coding
    assert head.headers["ETag"] == get.headers["ETag"]


def test_a_drop_in_filter_follows_it_where_its_level_moves(httpd):
    config = "SetOutputFilter DEFLATE\nDeflateCompressionLevel 9\nElasticMaxTime 1ms\n"
    server = httpd(config, records=("elastic", "deflate"), files={"a.txt": LARGE})
    assert chosen(server, "/a.txt")[1] == 1
    server = httpd(config + "ElasticLevel gzip 9", records=("elastic", "deflate"),
                   files={"a.txt": LARGE})
    assert chosen(server, "/a.txt")[1] == 9
