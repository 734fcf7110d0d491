"""The cost of a position is that of the clients that a site has."""

from kit import bodies
from kit.driven import START, start_driven

PAGE = bodies.html(100_000)


def serve(d, ae, count):
    """So many responses; the codings that they have."""
    answers = [d.server.get("/page.html", ae=ae) for _ in range(count)]
    assert all(answer.body == PAGE for answer in answers)
    return {answer.coding for answer in answers}


def test_positions_that_cost_the_same_for_all_clients_are_not_moved_between(httpd):
    """A coding at level 0 alone is one of them: no lower position would free any CPU time."""
    d = start_driven(httpd, "ElasticControl predict\nElasticLevel br 0")
    d.server.write("page.html", PAGE)
    status = d.server.status()
    assert "ElasticCost-br-0" in status and "ElasticCost-br-1" not in status
    assert serve(d, "br", 40) == {"br"}
    assert d.position(d.loads(90, 91, 90)) == START
    # For clients of gzip a lower position does.
    assert serve(d, "gzip", 40) == {"gzip"}
    assert d.position(d.loads(91, 90)) == 0
