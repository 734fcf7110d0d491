"""Clients of an open loop: what they make of whole, torn, refused and missing answers."""

import collections
import contextlib
import math
import os
import socket
import threading
import time
import types

import pytest

from benchkit import arrivals, clients, rounds, spikes

CHUNKED = (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
           b"5\r\nab\r\n0\r\n10;x=y\r\n0123456789abcdef\r\n0\r\n\r\n")
SIZED = b"HTTP/1.1 200 OK\r\ncontent-LENGTH: 4\r\n\r\nbody"


@contextlib.contextmanager
def planted(behave):
    """A server that has `behave(connection, path)` answer each request; its requests' paths."""
    seen = []

    def serve(connection):
        with contextlib.suppress(OSError), connection:
            while data := connection.recv(65536):
                path = data.split(b" ")[1].decode()
                seen.append(path)
                if behave(connection, path) is False:
                    return

    def accept():
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0), backlog=200) as listener:
        threading.Thread(target=accept, daemon=True).start()
        yield types.SimpleNamespace(
            addresses=[listener.getsockname()], pids=[os.getpid()],
            run=types.SimpleNamespace(server_cpu=0, progress=lambda: None)), seen
        listener.shutdown(socket.SHUT_RDWR)


def results(behave, visits, patience=30, **more):
    with planted(behave) as (server, seen):
        return clients.replay(server, visits, {"Accept-Encoding": "gzip"}, patience, **more), seen


def each(count, every=0.0, path="/sized"):
    return [clients.Visit(every * number, path) for number in range(count)]


def answer_all(connection, path):
    connection.sendall(CHUNKED if path == "/chunked" else SIZED)


def test_each_visit_goes_to_its_server():
    with planted(answer_all) as (one, first), planted(answer_all) as (other, second):
        one.addresses += other.addresses
        visits = [clients.Visit(0.001 * number, f"/{number}", place=number % 2)
                  for number in range(40)]
        seen = clients.replay(one, visits, {}, 30)
    assert not seen.failures(0, math.inf)
    assert [sorted(int(path[1:]) for path in paths) for paths in (first, second)] == [
        list(range(0, 40, 2)), list(range(1, 40, 2))]


def test_popular_things_follow_zipfs_law():
    drawn = collections.Counter(arrivals.popular(100_000, "abcdefgh", 1))
    assert drawn["a"] / drawn["b"] == pytest.approx(2, rel=0.1)
    assert drawn["a"] / drawn["h"] == pytest.approx(8, rel=0.1)


def test_each_is_answered_and_counted():
    visits = [clients.Visit(0.001 * number, ("/chunked", "/sized")[number % 2])
              for number in range(200)]
    seen, paths = results(answer_all, visits)
    assert [one.visit for one in seen.results] == visits and len(paths) == 200
    assert {one.bytes for one in seen.results[::2]} == {len(CHUNKED)}
    assert {one.bytes for one in seen.results[1::2]} == {len(SIZED)}
    assert all(0 < one.seconds < 30 and one.requests == 1 for one in seen.results)
    assert len(seen.between(0.05, 0.1)) == 50


@pytest.mark.parametrize("says_so", [True, False])
def test_a_connection_that_the_server_closes_is_not_used_again(says_so):
    peers = set()

    def behave(connection, _):
        peers.add(connection.getpeername())
        head = b"\r\nConnection: Close\r\n\r\n" if says_so else b"\r\n\r\n"
        connection.sendall(SIZED.replace(b"\r\n\r\n", head))
        return None if says_so else False

    seen, _ = results(behave, each(3 * clients.KEPT, 0.002))
    assert not any(one.lost for one in seen.results)
    assert len(peers) == 3 * clients.KEPT


def test_one_that_gives_up_is_lost_and_one_that_retries_is_bounded():
    visits = [clients.Visit(0, "/once"), clients.Visit(0, "/thrice", 3), clients.Visit(0, "/ok")]
    seen, paths = results(lambda connection, path: path == "/ok" and answer_all(connection, path),
                          visits, 0.2)
    by_path = {one.visit.path: one for one in seen.results}
    assert by_path["/once"].lost and by_path["/once"].requests == 1
    assert by_path["/thrice"].lost and by_path["/thrice"].requests == 3
    assert not by_path["/ok"].lost
    assert sorted(paths) == ["/ok", "/once", "/thrice", "/thrice", "/thrice"]
    assert math.isinf(by_path["/once"].seconds) and by_path["/once"].bytes == 0


def test_time_of_a_retry_is_counted_from_the_first_request():
    tries = []

    def second_only(connection, path):
        tries.append(path)
        return answer_all(connection, path) if len(tries) == 2 else True

    seen, _ = results(second_only, [clients.Visit(0, "/page", 2)], 0.3)
    assert seen.results[0].seconds >= 0.3 and seen.results[0].requests == 2


@pytest.mark.parametrize("text, requests", [
    (SIZED.replace(b"200", b"503"), 2), (SIZED[:-1], 2), (b"nonsense", 2)])
def test_what_is_no_good_answer_is_lost(text, requests):
    def behave(connection, path):
        connection.sendall(text)
        return False  # and the connection ends

    seen, paths = results(behave, [clients.Visit(0, "/page", 2)])
    assert seen.results[0].lost and len(paths) == requests


def test_what_was_not_sent_in_time_is_counted():
    visits = each(3, 1)
    seen = clients.Seen(50.0, [
        clients.Result(visits[0], 0.2, 100, 1, 0.0), clients.Result(visits[1], math.inf, 0, 1, 0.3),
        clients.Result(visits[2], 0.4, 100, 1, 0.3)], [(0, 0), (1, 0.5)], 0.1, 0.4)
    assert seen.conditions() == {"sent_share": 0.3333, "load_cpu_share": 0.4, "foreign_share": 0.1}
    assert seen.conditions(0.3)["sent_share"] == 1
    assert (seen.failures(0, 3), seen.failures(0, 1), seen.cpu_share(0, 1)) == (1, 0, 0.5)
    assert [one.at for one in seen.answered(0, 3)] == [0, 2]
    # What shows the load and not the server is no result.
    good = {"sent_share": 1.0, "load_cpu_share": 0.5}
    assert rounds.sent([good]) == ([good], [])
    for bad in ({"sent_share": 0.98}, {"load_cpu_share": 0.95}):
        rows, said = rounds.sent([good, {**good, **bad}])
        assert rows == [good] and said[0].startswith("1 of 2 legs are no result")


def before_each(monkeypatch, wait):
    """`wait` comes before each request."""
    send = clients.Clients.send
    monkeypatch.setattr(clients.Clients, "send",
                        lambda *arguments, **options: [wait(), send(*arguments, **options)])


def test_clients_that_cannot_send_as_fast_as_they_should_say_so(monkeypatch):
    before_each(monkeypatch, lambda: time.sleep(0.002))
    seen, _ = results(answer_all, each(100))
    assert seen.conditions()["sent_share"] < 0.5 < clients.SENT


def test_cpu_of_the_clients_is_counted(monkeypatch):
    def busy():
        until = time.process_time() + 0.01
        while time.process_time() < until:
            pass

    before_each(monkeypatch, busy)
    seen, _ = results(answer_all, each(50))
    assert 0.5 < seen.load_cpu_share * (seen.cpu[-1][0] - seen.cpu[0][0]) < 2


def test_client_whose_kept_connection_ends_gives_up_in_time():
    """Asked again on another connection, its patience is still that from the first request on."""
    tries = []

    def silent(connection, path):
        if path == "/last":
            tries.append(path)
            return len(tries) > 1  # the first ends the connection, the second says nothing
        return answer_all(connection, path)

    # On a busy machine it takes a while to learn that the first connection has ended.
    seen, _ = results(silent, [*each(2 * clients.KEPT, 0.002), clients.Visit(1, "/last")], 5)
    assert seen.results[-1].lost and len(tries) == 2


def test_pieces_and_a_coded_body_are_kept_for_who_asks():
    coded = SIZED.replace(b"\r\n\r\n", b"\r\nContent-Encoding: br\r\n\r\n")
    seen, _ = results(lambda connection, path: connection.sendall(
        coded if path == "/coded" else CHUNKED),
        [clients.Visit(0, "/coded"), clients.Visit(0.01, "/plain")], keep=True)
    by_path = {one.visit.path: one for one in seen.results}
    for path, coding, body, bytes_, length in (
            ("/coded", "br", b"body", len(coded), 4), ("/plain", "", b"", len(CHUNKED), 21)):
        one = by_path[path]
        assert (one.coding, one.body, one.pieces[-1][1:]) == (coding, body, (bytes_, length))
        assert 0 < one.pieces[-1][0] <= one.seconds


def test_a_phase_that_is_overrun_has_no_time():
    def result(at, seconds):
        return clients.Result(clients.Visit(at, "/"), seconds, 100, 1, 0.0)

    run = types.SimpleNamespace(scale="normal")
    seen = clients.Seen(0.0, [result(0.5, 0.01), result(1.5, math.inf), result(2.5, 0.02)],
                        [(0.0, 0.0), (1.0, 0.5), (2.0, 1.0), (3.0, 2.0)])
    before, attack, after = spikes.rows_of(run, seen, [(0.5, 6), (1.5, 1)], spikes.phases(1, 1))
    assert (before["p50_ms"], before["level"], before["steady"]) == (10, 6, True)
    assert math.isnan(attack["p50_ms"]) and (attack["failed"], attack["level_least"]) == (1, 1)
    assert math.isnan(after["p95_ms"]) and not after["failed"]  # all of the CPU: a queue that grows
    rows = [{"variant": "a", **attack}, {"variant": "a", **after}, {"variant": "b", **before}]
    assert spikes.lost(rows, "a") == (0.5, "1 of 2") and spikes.lost(rows, "b")[1] == "0 of 1"
    assert [one.here for one in spikes.beside("k", rows, "b", "a", "")] == [
        "0 of 1; a 1 of 2", "at most 10 ms, where a timed out"]
