"""ElasticGoal time auto: the rate of each connection, on links of a namespace of the test's own."""

import ipaddress
import os
import subprocess
import time

import pytest

from kit import bodies, driven as driven_kit
from kit.process import free_port, until

pytestmark = pytest.mark.root

PAGE = bodies.html(100_000)
# Of this process, beside which others may run the same tests; from what is kept for such tests
# (RFC 2544), so that no network of the machine's is hidden.
SERVER, CLIENT = (str(ipaddress.ip_address("198.18.0.0") + 4 * (os.getpid() % 32768) + host)
                  for host in (1, 2))
REQUESTS = 8


class Link:
    """A veth pair between this namespace and one that `sleep` holds."""

    def __init__(self):
        self.name = f"el{os.getpid() % 100000}"
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "600"])
        own = os.readlink("/proc/self/ns/net")
        until(lambda: os.readlink(f"/proc/{self.holder.pid}/ns/net") != own, 10, "a namespace")
        run("ip", "link", "add", self.name, "type", "veth", "peer", "name", "veth0", "netns",
            str(self.holder.pid))
        run("ip", "addr", "add", f"{SERVER}/30", "dev", self.name)
        run("ip", "link", "set", self.name, "up")
        self.inside("ip", "addr", "add", f"{CLIENT}/30", "dev", "veth0")
        self.inside("ip", "link", "set", "veth0", "up")

    def inside(self, *command):
        return run("nsenter", "-t", str(self.holder.pid), "-n", *command)

    def shape(self, rate):
        run("tc", "qdisc", "replace", "dev", self.name, "root", "tbf", "rate", rate, "burst",
            "4kb", "latency", "400ms")

    def close(self):
        self.holder.kill()
        self.holder.wait()


def run(*command):
    return subprocess.run(command, check=True, capture_output=True).stdout


@pytest.fixture
def link():
    made = Link()
    yield made
    made.close()


@pytest.fixture
def levels(link, httpd):
    """The levels of some responses of one connection, in their order."""
    def ask(rate, goal, *options):
        port = free_port(SERVER)
        server = httpd(driven_kit.CONFIG + f"ElasticGoal {goal}\nElasticLevel gzip 1 9\n"
                       f"Listen {SERVER}:{port}\nMaxKeepAliveRequests 0\n",
                       start=False, h2=True, files={"page.html": PAGE},
                       allow_log=[driven_kit.SHORT_INTERVAL])
        stat = driven_kit.ProcStat(server.root / "stat", ())
        server.start()
        driven = driven_kit.Driven(server, stat)
        for _ in range(4):
            driven.load(5)
        # The first response of a process takes longer than others: let it be known what they take.
        for _ in range(60):
            server.get("/page.html", ae="gzip")
        time.sleep(1.1)
        link.shape(rate)
        before = len(logged(server))
        link.inside("h2load", "-n", str(REQUESTS), "-c1", "-m1", "-H", "Accept-Encoding: gzip",
                    *options, f"http://{SERVER}:{port}/page.html")
        until(lambda: len(logged(server)) >= before + REQUESTS, 10, "the log")
        return logged(server)[before:]
    return ask


def logged(server):
    lines = (server.root / "access.log").read_text().splitlines()
    return [int(line.split("\t")[5]) for line in lines if line.split("\t")[3] == "gzip"]


@pytest.mark.parametrize("options", [["--h1"], []], ids=["http/1.1", "h2c"])
def test_a_slow_connection_gets_more_effort_than_a_fast_one(levels, options):
    slow = levels("600kbit", "time auto 10kbit/s 1Gbit/s", *options)
    fast = levels("1gbit", "time auto 10kbit/s 1Gbit/s", *options)
    # The first ones go by what little was sent before.
    assert min(slow[3:]) > max(fast[3:]), (slow, fast)


@pytest.mark.parametrize("field", ["Via: 1.1 proxy", "X-Forwarded-For: 192.0.2.1",
                                   "Forwarded: for=192.0.2.1"])
def test_behind_a_proxy_the_connection_does_not_count(levels, field):
    found = levels("600kbit", "time auto 10kbit/s 1Gbit/s", "--h1", "-H", field)
    assert len(set(found)) == 1, found


def test_a_fixed_rate_is_not_asked_for(levels):
    found = levels("600kbit", "time", "--h1")
    assert len(set(found)) == 1, found


def test_the_rate_counts_within_its_bounds(levels):
    found = levels("600kbit", "time auto 5Mbit/s 5Mbit/s", "--h1")
    assert len(set(found)) == 1, found
