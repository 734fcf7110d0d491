"""Clients on another machine: httpd has a network namespace of its own, and another namespace
stands for a machine beside it, joined by an Ethernet of MTU 1500.

The namespaces have no names. They last as long as this thread and the process that holds the other
one, so that nothing is left behind and two runs never meet.
"""

import contextlib
import ctypes
import functools
import os
import subprocess

SERVER, CLIENT = "198.18.0.1", "198.18.0.2"  # for benchmarks between networks (RFC 2544)
SERVER_6, CLIENT_6 = "fd00:198:18::1", "fd00:198:18::2"
DEVICE = "eth0"  # in both namespaces
CLONE_NEWNET = 0x40000000  # from sched.h; Python 3.12 has os.unshare()
_NET = "/proc/thread-self/ns/net"
_libc = ctypes.CDLL(None, use_errno=True)


@functools.cache
def possible():
    """True if this user may make namespaces, and the kernel has links of a given rate."""
    script = (f"PATH=$PATH:/usr/sbin:/sbin; ip link add name {DEVICE} type veth && "
              f"tc qdisc add dev {DEVICE} root tbf rate 1mbit burst 9kb latency 1s")
    done = subprocess.run(["unshare", "-n", "sh", "-c", script], capture_output=True)
    return done.returncode == 0


def _must(done, what):
    if done != 0:
        raise OSError(ctypes.get_errno(), what)


def _enter(file):
    _must(_libc.setns(file.fileno(), CLONE_NEWNET), "setns")


def _ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


class Network:
    """In the context `elsewhere()`, this thread and its processes are on the other machine."""

    def __init__(self, here, there):
        self._here, self._there = here, there

    @contextlib.contextmanager
    def elsewhere(self):
        _enter(self._there)
        try:
            yield
        finally:
            _enter(self._here)

    @staticmethod
    def shape(rate):
        subprocess.run(["tc", "qdisc", "replace", "dev", DEVICE, "root", "tbf", "rate", rate,
                        "burst", "1600", "latency", "400ms"], check=True)

    def get(self, server, path, ae=None, headers=None, protocol="http/1.1", ipv6=False):
        """A request from the other machine; the server needs LISTEN in its configuration."""
        with self.elsewhere(), connect(server, protocol, ipv6) as connection:
            return connection.request(path, "GET", ae, headers)


# The server's ports at the addresses that the other machine reaches.
LISTEN = f"Listen {SERVER}:{{port}}\nListen [{SERVER_6}]:{{port}}\n"


def listen_tls(server):
    """The same for the TLS port, to be added to a configuration."""
    return "".join(f"Listen {at}:{server.tls_port}\n<VirtualHost {at}:{server.tls_port}>\n"
                   "ServerName localhost\nSSLEngine on\n"
                   f"SSLCertificateFile {server.root}/tls.pem\n</VirtualHost>\n"
                   for at in (SERVER, f"[{SERVER_6}]"))


def _attach(device, *addresses):
    for address in addresses:
        # The link is private, so no other machine has the address.
        _ip("address", "add", address, "dev", device, *(["nodad"] if ":" in address else []))
    for name in ("lo", device):
        _ip("link", "set", name, "up")


@contextlib.contextmanager
def network():
    """Moves this thread into a namespace of its own while the block runs; yields the Network. Root
    only."""
    with contextlib.ExitStack() as stack:
        former = stack.enter_context(open(_NET))
        stack.callback(_enter, former)
        _must(_libc.unshare(CLONE_NEWNET), "unshare")
        there = stack.enter_context(open(_NET))
        _must(_libc.unshare(CLONE_NEWNET), "unshare")
        here = stack.enter_context(open(_NET))
        _ip("link", "add", DEVICE, "type", "veth", "peer", "name", DEVICE,
            "netns", f"/proc/{os.getpid()}/fd/{there.fileno()}")
        _attach(DEVICE, f"{SERVER}/30", f"{SERVER_6}/126")
        found = Network(here, there)
        with found.elsewhere():
            _attach(DEVICE, f"{CLIENT}/30", f"{CLIENT_6}/126")
        yield found


def connect(server, protocol="http/1.1", ipv6=False):
    return server.connect(protocol, host=SERVER_6 if ipv6 else SERVER)
