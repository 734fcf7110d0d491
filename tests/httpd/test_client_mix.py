"""The cost of a position is that of the clients that a site has."""

import pytest

from kit import bodies
from kit.driven import TOP, start_driven

PAGE = bodies.html(100_000)
CLASS = 3  # of bodies between 32 and 128 KB, among the figures of ElasticCost-…
USEC_PER_HOUR = 3.6e9
KB_PER_GB = 1e9 / 1024

# What CPU time and bytes cost: much the same, so that the cheapest setup is neither the fastest nor
# the smallest, and another one for each coding.
PER_HOUR, PER_GB = 40, 1


@pytest.fixture
def priced(httpd):
    d = start_driven(httpd, f"ElasticControl predict\nElasticGoal cost {PER_HOUR}/h {PER_GB}/GB")
    d.server.write("page.html", PAGE)
    return d


def serve(d, ae, count):
    """So many responses; the codings that they have."""
    answers = [d.server.get("/page.html", ae=ae) for _ in range(count)]
    assert all(answer.body == PAGE for answer in answers)
    return {answer.coding for answer in answers}


def prices(status, coding, low, high):
    """What a GB costs at each position, by what the status page says of a coding's levels."""
    def price(level):
        nsec, percent = status[f"ElasticCost-{coding}-{level}"].split()[CLASS].split("/")
        return (float(nsec) / 1000 * KB_PER_GB * PER_HOUR / USEC_PER_HOUR
                + float(percent) / 100 * PER_GB)
    return [price(low + int((high - low) * position / TOP + 0.5)) for position in range(TOP + 1)]


def rest(d):
    """Where the goal leads while the CPU has room."""
    for percent in range(10, 20):
        status = d.load(percent)
    return d.position(status), status


# The goal stays where another setup saves less than one percent.
NEAR = 1.03


@pytest.mark.parametrize("coding,low,high", [("gzip", 1, 9), ("br", 0, 6)])
def test_clients_of_one_coding_get_the_cheapest_of_its_levels(priced, coding, low, high):
    assert serve(priced, coding, 40) == {coding}
    position, status = rest(priced)
    found = prices(status, coding, low, high)
    assert found[position] <= NEAR * min(found), (position, found)


def test_a_coding_at_level_0_alone_is_one_of_them(httpd):
    d = start_driven(httpd, f"ElasticControl predict\nElasticGoal cost {PER_HOUR}/h {PER_GB}/GB\n"
                            "ElasticLevel br 0")
    d.server.write("page.html", PAGE)
    began = d.position(d.server.status())
    assert serve(d, "br", 40) == {"br"}
    position, status = rest(d)
    assert "ElasticCost-br-0" in status and "ElasticCost-br-1" not in status
    # All positions cost the same, and what gzip would cost does not count.
    assert position == began


def test_clients_of_two_kinds_are_weighed(priced):
    """What is cheapest for 15 responses in gzip and 135 in br, together. They come by turns: what was
    some seconds ago counts less."""
    for _ in range(15):
        serve(priced, "gzip", 1)
        serve(priced, "br", 9)
    position, status = rest(priced)
    found = [(gzip + 9 * br) / 10 for gzip, br in zip(prices(status, "gzip", 1, 9),
                                                     prices(status, "br", 0, 6))]
    assert found[position] <= NEAR * min(found), (position, found)
