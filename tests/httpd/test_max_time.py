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

# The directives below each place; the longer path is merged over the shorter one.
PLACES = {
    "ample": "ElasticMaxTime 60s", "medium": "ElasticMaxTime 60ms", "tight": "ElasticMaxTime 1ms",
    "tight/off": "ElasticMaxTime Off", "tight/bounds": "ElasticLevel gzip 5 9",
    "tight/pinned": "ElasticLevel gzip 9\nElasticLevel br 6",
}
CONFIG = "".join(f"<Location /{place}>\n{lines}\n</Location>\n" for place, lines in PLACES.items())
BODIES = {"small.txt": SMALL, "large.txt": LARGE, "a.txt": LARGE,
          "stream.cgi": 4 * bodies.text(50_000)}


def start(httpd, config):
    d = start_driven(httpd, config)
    for place in (".", *PLACES):
        d.server.write(f"{place}/small.txt", SMALL)
        d.server.write(f"{place}/large.txt", LARGE)
        d.server.cgi(f"{place}/stream.cgi", STREAM)
    return d


@pytest.fixture(scope="module")
def shared(httpd_shared):
    return start(httpd_shared, CONFIG)


@pytest.fixture
def ceiling(shared):
    """A server at the ceiling."""
    shared.walk_to(TOP)
    return shared


def chosen(server, path, ae="gzip"):
    """(coding, level) of an answer."""
    answer = server.get(path, ae=ae)
    check.encoded(answer, answer.coding, BODIES[path.rpartition("/")[2]])
    return answer.coding, int(server.notes(answer)["elastic-level"])


@pytest.mark.parametrize("path,ae,level", [
    ("/large.txt", "gzip", 9),
    ("/ample/large.txt", "gzip", 9),
    ("/tight/large.txt", "gzip", 1),
    ("/medium/small.txt", "gzip", 9),
    ("/tight/bounds/large.txt", "gzip", 5),
    ("/tight/off/large.txt", "gzip", 9),
    ("/tight/pinned/large.txt", "gzip", 9),
    ("/tight/pinned/large.txt", "br", 6),
    ("/tight/pinned/large.txt", "br, gzip", 6),
    ("/stream.cgi", "gzip", 9),
    ("/ample/stream.cgi", "gzip", 9)])
def test_a_body_that_would_take_too_long_goes_down(ceiling, path, ae, level):
    """To the floor at most, and not where a level is pinned or the limit is Off."""
    assert chosen(ceiling.server, path, ae)[1] == level


def test_it_goes_no_further_down_than_it_has_to(ceiling):
    assert 1 < chosen(ceiling.server, "/medium/large.txt")[1] < 9


def test_a_stream_counts_as_a_large_page(ceiling):
    assert chosen(ceiling.server, "/tight/stream.cgi")[1] < 9


def test_a_lower_position_counts(ceiling):
    ceiling.walk_to(2)
    assert chosen(ceiling.server, "/ample/large.txt") == ("gzip", 3)
    assert chosen(ceiling.server, "/medium/small.txt") == ("gzip", 3)


def test_without_control_a_level_is_used_exactly(httpd):
    server = httpd("Elastic On\nElasticControl off\nElasticMaxTime 1ms", files={"a.txt": LARGE})
    assert chosen(server, "/a.txt") == ("gzip", 9)
    assert chosen(server, "/a.txt", ALL) == ("br", 6)


def test_the_ladder_goes_down_rung_by_rung(ceiling):
    server = ceiling.server
    top = chosen(server, "/large.txt", ALL)
    assert chosen(server, "/ample/large.txt", ALL) == top
    tight = chosen(server, "/tight/large.txt", ALL)
    assert tight != top
    ceiling.walk_to(0)
    # A measurement in between may change which of two that are as fast is the lowest.
    floor, tight = check.once(lambda: (chosen(server, "/large.txt", ALL),
                                       chosen(server, "/tight/large.txt", ALL)),
                              lambda pair: pair[0] == pair[1])
    assert floor == tight


def test_a_stream_of_known_length_is_judged_by_it(httpd):
    """As long as its length is announced, whether it is encoded in one piece does not matter."""
    d = start(httpd, "ElasticWholeBody 0\n" + CONFIG)
    d.walk_to(TOP)
    assert chosen(d.server, "/tight/large.txt") == ("gzip", 1)
    assert chosen(d.server, "/medium/small.txt") == ("gzip", 9)


def test_head_says_what_get_carries(ceiling):
    get = ceiling.server.get("/tight/large.txt", ae=ALL)
    check.head_of(get, ceiling.server.head("/tight/large.txt", ae=ALL))


@pytest.mark.parametrize("more,level", [("", 1), ("ElasticLevel gzip 9", 9)])
def test_a_drop_in_filter_follows_it_where_its_level_moves(httpd, more, level):
    server = httpd("SetOutputFilter DEFLATE\nDeflateCompressionLevel 9\nElasticMaxTime 1ms\n"
                   + more, records=("elastic", "deflate"), files={"a.txt": LARGE})
    assert chosen(server, "/a.txt")[1] == level
