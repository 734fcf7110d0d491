"""ElasticMaxTime: a body that would take longer gets a lower setup than its position means."""

import pytest

from kit import bodies, check, env
from kit.driven import TOP, start_driven

# The large body takes 140 ms at gzip 9 and 5 to 25 ms at gzip 1; the small one takes 2. A machine
# of twice or half the speed makes the same decisions.
SMALL, LARGE = bodies.text(50_000), bodies.text(3_000_000)
BODIES = {"small.txt": SMALL, "large.txt": LARGE, "stream.cgi": 4 * SMALL}
ALL = "zstd, br, gzip" if env.HAS_ZSTD else "br, gzip"

STREAM = """
head('Content-Type: text/plain')
for _ in range(4):
    out(bodies.text(50_000))
    time.sleep(.02)
"""

PLACES = {
    "ample": "ElasticMaxTime 60s", "medium": "ElasticMaxTime 60ms", "tight": "ElasticMaxTime 1ms",
    "off": "ElasticMaxTime Off", "bounds": "ElasticLevel gzip 5 9",
    "pinned": "ElasticLevel gzip 9\nElasticLevel br 6", "streamed": "ElasticWholeBody 0",
}
# Each place is reached by a path with its name; several apply in this order.
CONFIG = "AliasMatch /([^/]*)$ {docs}/$1\n" + "".join(
    f"<LocationMatch /{place}/>\n{lines}\n</LocationMatch>\n" for place, lines in PLACES.items())


@pytest.fixture(scope="module")
def shared(httpd_shared):
    d = start_driven(httpd_shared, CONFIG)
    d.server.write("small.txt", SMALL)
    d.server.write("large.txt", LARGE)
    d.server.cgi("stream.cgi", STREAM)
    return d


@pytest.fixture
def ceiling(shared):
    shared.walk_to(TOP)
    return shared


def chosen(server, path, ae="gzip"):
    answer = server.get(path, ae=ae)
    check.encoded(answer, answer.coding, BODIES[path.rpartition("/")[2]])
    return answer.coding, int(server.notes(answer)["elastic-level"])


@pytest.mark.parametrize("path,ae,levels", [
    ("/large.txt", "gzip", [9]), ("/ample/large.txt", "gzip", [9]),
    ("/tight/large.txt", "gzip", [1]), ("/medium/large.txt", "gzip", range(2, 9)),
    ("/medium/small.txt", "gzip", [9]), ("/tight/bounds/large.txt", "gzip", [5]),
    ("/tight/off/large.txt", "gzip", [9]),
    ("/tight/pinned/large.txt", "gzip", [9]), ("/tight/pinned/large.txt", "br", [6]),
    ("/tight/pinned/large.txt", "br, gzip", [6]),
    # An announced length is known, even if the body is not encoded in one call.
    ("/tight/streamed/large.txt", "gzip", [1]), ("/medium/streamed/small.txt", "gzip", [9]),
    # A stream counts as a large page.
    ("/stream.cgi", "gzip", [9]), ("/ample/stream.cgi", "gzip", [9]),
    ("/tight/stream.cgi", "gzip", range(1, 9))])
def test_a_body_that_would_take_too_long_goes_down(ceiling, path, ae, levels):
    """At most to the floor, no further than it has to; never for a pinned level, or with the limit
    Off."""
    assert chosen(ceiling.server, path, ae)[1] in levels


def test_at_a_low_position_a_body_in_time_stays(ceiling):
    ceiling.walk_to(2)
    for path in ("/ample/large.txt", "/medium/small.txt"):
        assert chosen(ceiling.server, path) == ("gzip", 3)


def test_the_setups_go_down_one_by_one(ceiling):
    """Down to the lowest, which is the floor's. A measurement may swap two setups that are equally
    good."""
    server = ceiling.server

    def ask():
        ceiling.walk_to(TOP)
        first = chosen(server, path, ALL)
        ceiling.walk_to(position)
        return first, chosen(server, "/large.txt", ALL)

    for path, position in (("/ample/large.txt", TOP), ("/tight/large.txt", 0)):
        limited, free = check.once(ask, lambda pair: pair[0] == pair[1])
        assert limited == free
    check.head_of(server.get("/tight/large.txt", ae=ALL), server.head("/tight/large.txt", ae=ALL))


def test_without_control_a_level_is_used_exactly(httpd):
    server = httpd("Elastic On\nElasticControl off\nElasticMaxTime 1ms", files={"large.txt": LARGE})
    assert chosen(server, "/large.txt") == ("gzip", 9)
    assert chosen(server, "/large.txt", ALL) == ("br", 6)


@pytest.mark.parametrize("more,level", [("", 1), ("ElasticLevel gzip 9", 9)])
def test_a_drop_in_filter_follows_it_where_its_level_moves(httpd, more, level):
    server = httpd("SetOutputFilter DEFLATE\nDeflateCompressionLevel 9\nElasticMaxTime 1ms\n"
                   + more, records=("elastic", "deflate"), files={"large.txt": LARGE})
    assert chosen(server, "/large.txt")[1] == level
