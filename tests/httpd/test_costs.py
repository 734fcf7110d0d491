"""Learned costs of setups: what is learned when, and how long it lasts."""

import pytest

from kit import bodies

NOISE = bodies.noise(60_000)
CLASS = 3  # of bodies between 32 and 128 KB, in ElasticCost-…
CONFIG = "Elastic On\nElasticLevel gzip 6"


def costs(server):
    """(ns of CPU time for a KB, percent of the bytes left) of gzip 6 for such a body."""
    pair = server.status()["ElasticCost-gzip-6"].split()[CLASS].split("/")
    return tuple(map(float, pair))


def serve(server, count=1):
    for _ in range(count):
        # White noise saves nothing, contrary to the table.
        answer = server.get("/n.txt", ae="gzip, identity;q=0")
        assert (answer.coding, answer.body) == ("gzip", NOISE)


def learn(server, before):
    """Serves until the learned size is far from the table's."""
    def learned():
        serve(server, 16)
        return costs(server)[1] > 1.8 * before[1]
    server.wait_for(learned, 60, "learning")
    return costs(server)


@pytest.mark.parametrize("whole", ["1M", "0"])
def test_costs_are_learned_from_bodies_and_from_streams(httpd, whole):
    server = httpd(f"{CONFIG}\nElasticWholeBody {whole}", files={"n.txt": NOISE})
    learn(server, costs(server))


def test_a_graceful_restart_begins_with_what_was_learned_and_a_restart_with_the_table(httpd):
    server = httpd(CONFIG, files={"n.txt": NOISE})
    table = costs(server)
    learned = learn(server, table)
    for _ in range(2):
        server.graceful()
        assert costs(server) == pytest.approx(learned, rel=0.05)
    # The new generation continues.
    serve(server, 32)
    assert costs(server)[1] >= 0.95 * learned[1]
    server.restart()
    assert costs(server) == table
