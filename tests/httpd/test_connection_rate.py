"""ElasticGoal time auto: the rate of each connection, by what the kernel says of it. Its answers,
and where clients come from, are the test's: see the library "connection" of kit/faults.py."""

import contextlib
import os
import pathlib
import re
import socket
import tempfile
import time

import pytest

from kit import bodies, check, faults
from kit.driven import CONFIG, FILES, SHORT_INTERVAL, Driven
from kit.procstat import ProcStat

PAGE = bodies.html(100_000)

# Bytes a second. With the bounds below a saved byte is worth 8 ns, and 800 µs; by the rate of 5
# Mbit/s it is worth 1600 ns.
FAST, SLOW = 10 ** 9, 1250
GOAL = "time auto 10kbit/s 1Gbit/s"

# The levels of br that these prices pay for. Those at the ends of each range differ by so much in
# what they ask for a saved byte that no measurement confuses them.
LEVELS = {"fast": range(3), "known": range(3, 10), "slow": range(10, 11)}

HOSTS = """
<VirtualHost *:{port}>
    ServerName plain
</VirtualHost>
<VirtualHost *:{port}>
    ServerName forwarded
    RemoteIPHeader X-Forwarded-For
</VirtualHost>
"""


class Connection:
    """What the library is told."""

    def __init__(self, folder):
        self.path = folder / "connection"
        self.say(FAST)

    def say(self, rate, limited=False, size=1000, address="198.18.0.2", address_6="2001:db8::2"):
        """`size` is that of the kernel's structure: 0 for what it really says, below 0 for a socket
        that is no TCP."""
        part = self.path.with_suffix(".part")
        part.write_text(f"{address} {address_6} {rate} {int(limited)} {size}\n")
        part.chmod(0o644)
        part.rename(self.path)


@contextlib.contextmanager
def far_away(httpd, config, **kw):
    """A server whose clients come from elsewhere, and its Connection."""
    # Where httpd's children, who are nobody, may look.
    with tempfile.TemporaryDirectory(prefix="elastic-connection-") as name:
        os.chmod(name, 0o755)
        folder = pathlib.Path(name)
        connection = Connection(folder)
        server = httpd(CONFIG + config, start=False, files={**FILES, "page.html": PAGE},
                       allow_log=[SHORT_INTERVAL],
                       wrapper=faults.wrapper(faults.library(folder, "connection")),
                       environ={"CONNECTION": str(connection.path)}, **kw)
        stat = ProcStat(server.root / "stat")
        server.start()
        Driven(server, stat).loads(5, 6, 5, 6)
        yield server, connection


@pytest.fixture(scope="module")
def shared(httpd_shared):
    with far_away(httpd_shared, f"ElasticGoal {GOAL}\nElasticLevel br 0 10\n{HOSTS}", h2=True,
                  ipv6=True, modules=("remoteip",)) as made:
        yield made


@pytest.fixture
def server(shared):
    return shared[0]


@pytest.fixture
def connection(shared):
    return shared[1]


def rate_of(server, **request):
    """Which of LEVELS a response has."""
    answer = server.get("/page.html", ae="br", **request)
    check.encoded(answer, "br", PAGE)
    level = int(server.notes(answer)["elastic-level"])
    return next(name for name, levels in LEVELS.items() if level in levels)


@pytest.mark.protocols("http/1.1", "h2c")
def test_each_connection_has_its_own_rate(server, connection, protocol):
    for rate, name in ((SLOW, "slow"), (FAST, "fast"), (SLOW, "slow")):
        connection.say(rate)
        assert rate_of(server, protocol=protocol) == name


def test_it_is_asked_once_for_each_response_of_a_connection(server, connection):
    with server.connect() as kept:
        for rate, levels in ((SLOW, LEVELS["slow"]), (FAST, LEVELS["fast"])):
            connection.say(rate)
            answer = kept.request("/page.html", ae="br")
            assert int(server.notes(answer)["elastic-level"]) in levels


@pytest.mark.parametrize("rate", [SLOW, FAST])
@pytest.mark.parametrize("header", [
    {"Via": "1.1 proxy"}, {"X-Forwarded-For": "192.0.2.1"}, {"Forwarded": "for=192.0.2.1"}],
    ids=lambda header: next(iter(header)))
def test_behind_a_proxy_the_connection_does_not_count(server, connection, rate, header):
    connection.say(rate)
    assert rate_of(server, headers=header) == "known"


def test_behind_mod_remoteip_it_does_not_count_either(server, connection):
    """The module takes the field away."""
    for rate, name in ((SLOW, "slow"), (FAST, "fast")):
        connection.say(rate)
        assert rate_of(server, headers={"Host": "forwarded"}) == name
        assert rate_of(server, headers={"Host": "forwarded",
                                        "X-Forwarded-For": "192.0.2.1"}) == "known"


def test_over_ipv6(server, connection):
    connection.say(SLOW)
    assert rate_of(server, ipv6=True) == "slow"
    for own in ("::1", "::ffff:127.0.0.1"):
        connection.say(SLOW, address_6=own)
        assert rate_of(server, ipv6=True) == "known"
    connection.say(SLOW, address_6="::ffff:198.18.0.2")
    assert rate_of(server, ipv6=True) == "slow"


def test_of_this_machine_it_does_not_count(server, connection):
    for address in ("127.0.0.1", "127.8.8.8"):
        connection.say(SLOW, address=address)
        assert rate_of(server) == "known"


@pytest.mark.parametrize("rate,size", [(SLOW, -1), (SLOW, 104), (SLOW, 167), (0, 1000)],
                         ids=["no TCP", "an old kernel", "cut in the middle", "nothing sent"])
def test_where_the_kernel_says_nothing(server, connection, rate, size):
    connection.say(rate, size=size)
    assert rate_of(server) == "known"


def test_what_the_application_limited_only_raises_it(server, connection):
    for rate, name in ((SLOW, "known"), (FAST, "fast")):
        connection.say(rate, limited=True)
        assert rate_of(server) == name


def test_bounds_hold_and_a_fixed_rate_is_not_asked_for_also_after_graceful_restarts(httpd):
    with far_away(httpd, f"ElasticGoal {GOAL}\nElasticLevel br 0 10\n") as (server, connection):
        connection.say(SLOW)
        assert rate_of(server) == "slow"
        for goal in ("time 5Mbit/s", "time auto 5Mbit/s 6Mbit/s", "time auto 4Mbit/s 5Mbit/s"):
            server.configure(CONFIG + f"ElasticGoal {goal}\nElasticLevel br 0 10\n")
            server.graceful()
            server.wait_for(lambda: server.status()["ElasticGoal"] == goal, 30, goal)
            for rate in (SLOW, FAST):
                connection.say(rate)
                # Children of before may still answer.
                server.wait_for(lambda: rate_of(server) == "known", 30, (goal, rate))


# --- what the kernel really says

SHORT = bodies.html(30_000)


def asking_slowly(server):
    """A function for one response to a client that takes some 10 KB a second."""
    request = b"GET /short.html HTTP/1.1\r\nHost: a\r\nAccept-Encoding: br\r\n\r\n"
    client = socket.socket()
    # Before the connection is made, or the window is larger.
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    client.connect(("127.0.0.1", server.port))
    client.settimeout(60)

    def ask():
        client.sendall(request)
        got = b""
        while b"\r\n\r\n" not in got:
            got += client.recv(512)
        head, _, body = got.partition(b"\r\n\r\n")
        left = int(re.search(rb"(?i)content-length: (\d+)", head)[1]) - len(body)
        while left > 0:
            time.sleep(.05)
            left -= len(client.recv(min(left, 512)))

    return contextlib.closing(client), ask


def rates_logged(server):
    lines = (server.root / "access.log").read_text().splitlines()
    levels = [int(line.split("\t")[5]) for line in lines if line.split("\t")[3] == "br"]
    return [next(name for name, of in LEVELS.items() if level in of) for level in levels]


def rates_until(server, ask, wanted):
    """The rates of the responses that `ask` gets, up to the first with the wanted one. The kernel
    counts by the clock: where another process had the CPU, a response is sent at another rate."""
    before = len(rates_logged(server))
    for count in range(1, 41):
        ask()
        server.wait_for(lambda: len(rates_logged(server)) == before + count, 30, "the log")
        if rates_logged(server)[-1] == wanted:
            break
    return rates_logged(server)[before:]


def test_a_client_that_takes_little_at_a_time_gets_more_effort(httpd):
    with far_away(httpd, f"ElasticGoal {GOAL}\nElasticLevel br 0 10\n") as (server, connection):
        server.write("short.html", SHORT)
        connection.say(0, size=0)
        with server.connect() as kept:
            fast = rates_until(
                server, lambda: kept.request("/short.html", ae="br"), "fast")
        closing, ask = asking_slowly(server)
        with closing:
            slow = rates_until(server, ask, "slow")
    # Nothing is known before the first response was taken.
    assert fast[0] == "known" and fast[-1] == "fast" and "slow" not in fast, fast
    assert slow[0] == "known" and slow[-1] == "slow", slow
