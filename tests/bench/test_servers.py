"""The experiment of other servers: how its rows come about."""

import types

import pytest

from benchkit import load, machine, rounds, run, server, setups, tools
from benchkit.experiments import servers
from benchkit.nginx import Nginx
from benchkit.others.files import Caddy, H2o, Lighttpd
from benchkit.others.proxies import Haproxy, Varnish


LOG = 'CustomLog {folder}/access.log "%U %H"\n'


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
    def start(run, one, site):
        if one.kind is Caddy:
            raise tools.missing("caddy")
        return one.name

    monkeypatch.setattr(servers, "make", start)
    made, notes = servers.make_all(None, None)
    assert len(notes) == 2 and all("install caddy" in note for note in notes)
    assert len(made) == len(servers.ROWS) - 2


def test_what_is_missing_is_not_judged():
    rows = [row("elastic", clients, 100, 1, number) for clients in (4, 32) for number in (1, 2, 3)]
    found = servers.judge(rows + [{**one, "server": "nginx gzip 1", "rate": 50} for one in rows])
    assert found[0].outcome == "holds" and found[0].measured == pytest.approx(2)
    assert {one.outcome for one in found[1:]} == {"cannot be decided"}


def test_protocols_have_the_medians_of_few_clients_and_what_is_missing_is_left_out():
    rows = [row("identity, TLS", clients, 100, clients, number)
            for clients in (4, 32) for number in (1, 2, 3)]
    found, = servers.by_protocol(rows)
    assert found == pytest.approx({
        "server": "identity, TLS", "bytes": 10000, "cpu_usec": 3600, "cpu_usec_low": 3600,
        "cpu_usec_high": 3600, "p95_ms": 4, "p95_ms_low": 4, "p95_ms_high": 4})


@pytest.mark.parametrize("httpd, http2, protocol", [
    (server.Httpd, False, "HTTP/1.1"), (server.Httpd, True, "HTTP/2.0"),
    (server.TlsHttpd, False, "HTTP/1.1"), (server.TlsHttpd, True, "HTTP/2.0")])
def test_load_comes_over_the_protocol_of_its_leg(module, tmp_path, httpd, http2, protocol):
    with run.Run("x", run.Scale(1, 0.01), tmp_path / "out") as one:
        body = b"a page " * 1000
        made = setups.ours("gzip", 6).serve(one, "httpd", LOG, kind=httpd)
        (made.site / "page.html").write_bytes(body)
        leg = rounds.Leg({}, made.start(), "/page.html", body, "gzip", "gzip", http2)
        seen, = rounds.measure(one, [leg], load.fixed_counts(one, [leg], 2))
        assert seen["failed"] == 0 < seen["requests"]
        made.stop()
        text = (made.folder / "access.log").read_text(encoding="utf-8")
        pages = [line for line in text.splitlines() if line.startswith("/page.html ")]
        assert leg.url.startswith(made.scheme + "://")
        assert pages[-seen["requests"]:] == [f"/page.html {protocol}"] * seen["requests"]


def test_legs_over_tls_have_as_many_pages_as_each_other(monkeypatch):
    """A handshake would be a larger part of a page, the longer that takes."""
    legs = [rounds.Leg({"server": name}, types.SimpleNamespace(scheme=scheme, url=str), "/", b"")
            for name, scheme in (("plain", "http"), ("fast", "https"), ("slow", "https"))]
    counts = dict(zip([leg.name for leg in legs], (30, 20, 10)))
    monkeypatch.setattr(load, "count_requests", lambda leg, *_: counts[leg.name])
    monkeypatch.setattr(load, "h2load", lambda *_, requests, **options: requests)
    generate = load.fixed_counts(types.SimpleNamespace(scale=run.Scale(1, 1)), legs, 4)
    assert [generate(leg) for leg in legs] == [30, 20, 20]


def test_every_server_that_it_names_is_there_and_has_a_version(lacking):
    """The tests install them: a configuration that one of them refuses would hide as missing."""
    kinds = {kind.name: kind for kind in (Nginx, Lighttpd, H2o, Caddy, Haproxy, Varnish)}
    for kind in (kinds[name] for name in kinds.keys() - lacking):
        name, version = machine.tool_version(kind.name).split()
        assert name == kind.name and version[0].isdigit()
