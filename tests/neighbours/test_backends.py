"""Applications in many places, each with what they do well and badly."""

import tempfile
from pathlib import Path

import pytest

from kit import bodies, env, inflate

import backends
import beside
import modules

TEXT = bodies.text(30000)


@pytest.fixture
def folder():
    """Which workers of other users can read; pytest's own are below one that they cannot."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize("place", backends.PLACES, ids=lambda place: place.__name__)
def test_backend(place, origin, folder, record_property, monkeypatch):
    monkeypatch.setattr(env, "MPM", getattr(place, "mpm", "event"))
    lines, names, backend = place(folder)
    near = modules.Near(lines=lines, with_=names, private=backends.PRIVATE)
    trio = beside.Trio(near, origin)
    try:
        trio.start()
        assert not trio.failed
        rows = [(name, {kind.name: backends.look(server, name)
                        for kind, server in trio.servers.items()})
                for name in backends.behaviours(place)]
    finally:
        trio.stop()
        trio.remove()
        if backend:
            backend.stop()
    record_property("place", place.__name__)
    record_property("rows", rows)
    bad = [f"{name}: {kind.name} {cells[kind.name]}, stock {cells['stock']}"
           for name, cells in rows for kind in beside.KINDS
           if _worse(cells[kind.name][1], cells["stock"][1])
           and not (name == "long" and place is backends.uwsgi and _fails(cells[kind.name][1]))
           or name == "stops" and "broken off" not in cells[kind.name][1]
           and "broken off" in cells["stock"][1]]
    assert not bad, "\n".join(bad)


def test_passenger_reads_a_request_that_is_decoded(origin):
    """The row of Passenger in the manual's table of readers (inflate.md). The stock filter leaves
    it the length that was sent, and the answer breaks off."""
    row = next(row for row in modules.ROWS if row.name == "passenger")
    decoded = "<Location /passenger/echo>\nSetInputFilter DEFLATE\n</Location>\n"
    trio = beside.Trio(row._replace(lines=row.lines + decoded), origin)
    sent = inflate.encode(TEXT, "gzip")
    try:
        trio.start()
        assert not trio.failed
        got = {kind.name: [
            answer.status == 200 and answer.complete and answer.body == TEXT for answer in (
                server.get("/passenger/echo", method="POST", body=sent,
                           headers={"Content-Encoding": "gzip"}),
                inflate.post_chunks(server, "/passenger/echo", [sent]))]
            for kind, server in trio.servers.items()}
    finally:
        trio.stop()
        trio.remove()
    assert got["drop-in"] == [True, True]
    assert not got["stock"][0]


def _fails(said):
    """What is due where only the length tells that a proxied body ends early, as in uwsgi's
    protocol: it must not look whole, which it does beside the stock modules."""
    return said.startswith("500") or "broken off" in said


def _worse(mine, stock):
    """What breaks off for stock, or comes short, may be better here; whether a connection that ends
    is seen before the header goes out depends on the time."""
    fails = [said.startswith("50") or "broken off" in said or "as if whole" in said
             for said in (mine, stock)]
    return mine != stock and not (fails[1] and (fails[0] or "whole" in mine))
