"""Three servers and a redis, each on what is to them a machine of its own: a network namespace."""

import contextlib
import ctypes
import os
import shutil
import subprocess

import pytest

from kit import fleet
from kit.process import Backend
from kit.stores import Redis

pytestmark = [pytest.mark.root, pytest.mark.slow]

CLONE_NEWNET = 0x40000000


class Machine(Backend):
    """A namespace, for as long as the process that holds it."""

    def __init__(self):
        own = os.readlink("/proc/self/ns/net")

        def entered():
            with contextlib.suppress(OSError):
                return os.readlink(f"/proc/{self.pid}/ns/net") != own
            return False

        super().__init__(["unshare", "--net", "--", "sleep", "infinity"], entered)
        self.ip("link", "set", "lo", "up")

    @property
    def pid(self):
        return self._process.pid

    @contextlib.contextmanager
    def inside(self):
        """This thread is there, and what it starts."""
        with open("/proc/thread-self/ns/net") as own, open(f"/proc/{self.pid}/ns/net") as there:
            _enter(there)
            try:
                yield
            finally:
                _enter(own)

    def ip(self, *arguments):
        with self.inside():
            subprocess.run([_ip(), *arguments], check=True)

    def has(self, device, address):
        self.ip("addr", "add", f"{address}/24", "dev", device)
        self.ip("link", "set", device, "up")


def _enter(namespace):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace.fileno(), CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


def _ip():
    return shutil.which("ip", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


@pytest.fixture
def machines():
    """The store's, and three more, which reach it at 10.78.N.1."""
    if not _ip():
        pytest.skip("ip is not there (package iproute2)")
    made = []
    try:
        made += [Machine() for _ in range(4)]
        for number, other in enumerate(made[1:]):
            subprocess.run([_ip(), "link", "add", f"to{number}", "netns", str(made[0].pid), "type",
                            "veth", "peer", "name", "eth0", "netns", str(other.pid)], check=True)
            made[0].has(f"to{number}", f"10.78.{number}.1")
            other.has("eth0", f"10.78.{number}.2")
        yield made
    finally:
        for machine in made:
            machine.stop()


def test_what_one_has_encoded_is_a_hit_of_the_others(httpd, machines):
    with machines[0].inside():
        redis = Redis(address="0.0.0.0")
    try:
        servers = [serve(httpd, machine, f"10.78.{number}.1:{redis.port}")
                   for number, machine in enumerate(machines[1:])]
        for server, machine in zip(servers[1:], machines[2:], strict=True):
            with machine.inside():
                fleet.until_well(server, keeper(servers, machines, redis), f"of-{machine.pid}")
    finally:
        redis.stop()


def serve(httpd, machine, address):
    def start(server):
        with machine.inside():
            server.start()

    server = fleet.start(httpd, f"redis:{address}", ready=start, allow_log=[fleet.PROVIDERS])
    server.expect_log(fleet.OWN)
    return server


def keeper(servers, machines, redis):
    def count():
        with machines[0].inside():
            return redis.count()

    def keep(name):
        # Several segments of such a link, and several pieces of the store.
        for server in servers:
            fleet.page(server, name, 200_000)
        with machines[1].inside():
            fleet.until_kept(servers[0], name, count)

    return keep
