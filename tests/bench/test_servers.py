"""The experiment of other servers: how its rows come about."""

import types

import pytest

from benchkit import machine, tools
from benchkit.experiments import servers
from benchkit.nginx import Nginx
from benchkit.others.files import Caddy, H2o, Lighttpd
from benchkit.others.proxies import Haproxy, Varnish


def row(name, clients, rate, p95, number=1):
    return {"server": name, "clients": clients, "round": number, "rate": rate, "p95_ms": p95,
            "sent_bytes": 10000, "cpu_usec_per_response": 3600.0,
            "memory_peak_kb": 1000 + 10 * clients}


@pytest.mark.parametrize("few,many,expected", [
    ((100, 4), (120, 40), 120), ((100, 4), (120, 60), 100), ((100, 51), (120, 60), "")])
def test_pages_count_where_they_come_in_time(few, many, expected):
    found, = servers.summarize([row("one", 4, *few), row("one", 32, *many)], (1.0, 0.1))
    assert found["pages_per_second"] == expected
    assert found["kb_per_client"] == 10 and found["memory_kb"] == 1320
    # 3600 s of CPU, and 10 GB
    assert found["money_per_million"] == pytest.approx(1.0 + 1.0)


def test_a_server_that_is_missing_is_named(monkeypatch):
    def start(run, one, site, origin):
        if one.kind is Caddy:
            raise tools.missing("caddy")
        return one.name

    monkeypatch.setattr(servers, "make", start)
    monkeypatch.setattr(servers, "NOTHING", types.SimpleNamespace(
        serve=lambda *_, **options: types.SimpleNamespace(start=lambda: None)))
    made, notes = servers.make_all(None, None)
    assert len(notes) == 2 and all("install caddy" in note for note in notes)
    assert len(made) == len(servers.ROWS) - 2


def test_what_is_missing_is_not_judged():
    rows = [row("elastic", clients, 100, 1, number) for clients in (4, 32) for number in (1, 2, 3)]
    found = servers.judge(rows + [{**one, "server": "nginx gzip 1", "rate": 50} for one in rows])
    assert found[0].outcome == "holds" and found[0].measured == pytest.approx(2)
    assert {one.outcome for one in found[1:]} == {"cannot be decided"}


def test_every_server_that_it_names_is_there_and_has_a_version():
    """The tests install them: a configuration that one of them refuses would hide as missing."""
    for kind in (Nginx, Lighttpd, H2o, Caddy, Haproxy, Varnish):
        name, version = machine.tool_version(kind.name).split()
        assert name == kind.name and version[0].isdigit()
