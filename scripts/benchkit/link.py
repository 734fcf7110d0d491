"""A link of a given rate: two network namespaces joined by a veth pair, an Ethernet of MTU 1500.

Neither namespace has a name: each lives as long as the process that holds it, so that nothing of
them is left however the run ends. Segments are real ones: nothing is bundled, neither by the sender
(segmentation offload) nor by the receiver. There is no distance: the round trip is the kernel's
own, some tens of microseconds.
"""

import contextlib
import ctypes
import dataclasses
import os
import re

from benchkit import tools

MTU = 1500
SERVER, CLIENT = "10.77.0.1", "10.77.0.2"
DEVICE = "veth0"  # in both namespaces
OFFLOADS = ("tso", "gso", "gro", "sg", "tx", "rx")
PATIENCE = 5  # seconds for a namespace to be there

# The bucket of a link: one frame, so that even the first of a connection are paced, or of a fast
# link what passes in the time that the kernel's timers may be late; and a queue that holds what the
# largest window of the experiments sends at once.
FRAME, TIMERS_LATE, QUEUE = MTU + 14, 0.0002, "400ms"


def shape(device, rate, run=tools.output_of):
    """Gives a device a rate such as 100mbit, instead of the last one."""
    run(tools.find("tc"), "qdisc", "replace", "dev", device, "root", "tbf", "rate", rate, "burst",
        f"{bucket(rate)}b", "latency", QUEUE)


def unbundle(device, run=tools.output_of):
    """Has a device send real segments, of an Ethernet's size, rather than bundles of them."""
    run(tools.find("ip"), "link", "set", device, "mtu", str(MTU), "gso_max_segs", "1")
    for offload in OFFLOADS:
        # Some kernels fix some of them; the capture shows whether what matters is off.
        with contextlib.suppress(tools.BenchError):
            run(tools.find("ethtool"), "-K", device, offload, "off")


@dataclasses.dataclass(frozen=True)
class Side:
    """One end of the link."""

    address: str
    pid: int  # of the process that holds the namespace

    @property
    def prefix(self):
        """What runs a command in the namespace, in its place."""
        return (tools.find("nsenter"), "-t", str(self.pid), "-n")

    @property
    def place(self):
        """Where a server.Server of this side listens."""
        return self.address, self.prefix

    def enter(self):
        """Moves the thread that calls it, alone, into the namespace."""
        with open(f"/proc/{self.pid}/ns/net", encoding="ascii") as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), 0) != 0:
                raise OSError(ctypes.get_errno(), "setns failed")

    def run(self, *command):
        return tools.output_of(*self.prefix, *command)

    def counted(self):
        """Packets that the interface has sent and received."""
        text = self.run(tools.find("ip"), "-s", "link", "show", "dev", DEVICE)
        return parse_counters(text)


def parse_counters(text):
    """(sent, received) packets in the text of `ip -s link`."""
    found = [re.search(direction + r":\s+bytes\s+packets.*\n\s*\d+\s+(\d+)", text)
             for direction in ("TX", "RX")]
    if not all(found):
        raise tools.BenchError("ip -s link shows no packet counters")
    return tuple(int(one.group(1)) for one in found)


def bytes_per_second(rate):
    """Of a rate such as 100mbit."""
    return int(rate[:-4]) * {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}[rate[-4:]] / 8


def bucket(rate):
    """Bytes that the bucket of a link of this rate holds."""
    return max(FRAME, round(TIMERS_LATE * bytes_per_second(rate)))


def lead(rate):
    """Seconds by which a full bucket lets frames go before the link would have carried them.

    A frame has come when its last bit has: of a bucket of one frame, that is one frame's time later
    than it is let go. Times of frames are told with this added, so that nothing beats the wire.
    """
    return bucket(rate) / bytes_per_second(rate)


@dataclasses.dataclass(frozen=True)
class Link:
    server: Side
    client: Side

    def shape(self, rate):
        """Gives both directions a rate."""
        for side in (self.server, self.client):
            shape(DEVICE, rate, side.run)

    def first_window(self, segments):
        """How many segments the server's connections may send first; None for the default."""
        rest = ["initcwnd", str(segments)] if segments else []
        self.server.run(tools.find("ip"), "route", "replace", "10.77.0.0/24", "dev", DEVICE,
                        "proto", "kernel", "scope", "link", "src", SERVER, *rest)


def make(run):
    """The link, for as long as the run lasts."""
    if os.geteuid() != 0:
        raise tools.BenchError(f"{run.name} makes network namespaces: run it as root")
    held = [hold(run) for _ in range(2)]
    ip = tools.find("ip")
    tools.output_of(ip, "link", "add", DEVICE, "netns", str(held[0]), "type", "veth",
                    "peer", "name", DEVICE, "netns", str(held[1]))
    link = Link(Side(SERVER, held[0]), Side(CLIENT, held[1]))
    for side in (link.server, link.client):
        side.run(ip, "link", "set", "lo", "up")
        unbundle(DEVICE, side.run)
        side.run(ip, "addr", "add", f"{side.address}/24", "dev", DEVICE)
        side.run(ip, "link", "set", DEVICE, "up")
    return link


def hold(run):
    """A process in a network namespace of its own; its pid."""
    own = os.readlink("/proc/self/ns/net")

    def entered(process):
        with contextlib.suppress(OSError):
            return os.readlink(f"/proc/{process.pid}/ns/net") != own
        return False

    return run.start_until(entered, [tools.find("unshare"), "--net", "--", "sleep", "infinity"],
                           run.work / "namespace.log", PATIENCE, run.load_cpu).pid
