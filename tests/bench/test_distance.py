"""The link of the experiment `distance`: its window, and what arrives."""

import contextlib
import socket
import threading

import pytest

from benchkit import distance
from benchkit.experiments import distance as experiment


def rounds_for(segments, losses=()):
    """Round trips until all segments are acknowledged, and the window then, by a scripted clock."""
    window, now, sent = distance.Window(rtt=1.0), 0.0, 0
    while sent < segments or window.flying:
        window.acknowledge(now)
        while sent < segments and window.room() > 0:
            window.send(now, sent in losses)
            sent += 1
        now += 1.0
    return now - 1, window.size


@pytest.mark.parametrize("segments,expected", [(1, 1), (10, 1), (11, 2), (30, 2), (31, 3), (70, 3),
                                               (71, 4)])
def test_the_window_doubles_each_round_trip(segments, expected):
    assert rounds_for(segments)[0] == expected


def test_a_loss_halves_the_window_once_a_round_trip():
    window = distance.Window(rtt=1.0)
    assert window.send(0.0, True) == 1.5  # a round trip late
    assert window.size == 5
    window.send(0.0, True)
    assert window.size == 5
    window.acknowledge(2.0)
    assert 5 < window.size < 6  # by a segment for each round trip from now on
    assert rounds_for(70, losses={3})[0] > rounds_for(70)[0]


@pytest.fixture
def upstream():
    """A server that sends as many bytes as it is asked for, and closes."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                with connection:
                    wanted = int(connection.recv(4096).split()[1][1:])
                    connection.sendall(bytes(wanted))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield listener.getsockname()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


@pytest.mark.parametrize("loss", [0.0, 0.2])
@pytest.mark.parametrize("size,trips", [(100, 2), (60_000, 4)])
def test_all_bytes_arrive_and_take_their_round_trips(upstream, size, trips, loss):
    with contextlib.closing(distance.Link(upstream, 0.02, loss)) as link:
        first, last, received = distance.visit(link, f"/{size}", {})
        assert received == size
        assert first >= 2 * 0.02 and last >= trips * 0.02


def rows(times):
    return [{"link": experiment.name_of(*link), "setup": setup, "round": number,
             "last_byte_ms": time} for link in experiment.LINKS for number in (1, 2, 3)
            for setup, time in times.items()]


@pytest.mark.parametrize("gzip,outcome", [(60, "holds"), (95, "does not hold")])
def test_a_page_that_is_no_faster_is_found(gzip, outcome):
    found = experiment.judge(rows({"identity": 100, "gzip 6": gzip, "gzip 1": gzip}))
    assert [one.outcome for one in found] == [outcome] * 3 + ["holds"]
