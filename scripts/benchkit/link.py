"""A link of a given rate: two network namespaces joined by a veth pair, an Ethernet of MTU 1500.

The namespaces have no names: each lives as long as the process that holds it, so nothing is left
however the run ends. Segments are real: neither the sender (segmentation offload) nor the receiver
joins them. There is no distance: the round trip is the kernel's own, some tens of microseconds.
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
PATIENCE = 5  # seconds to wait for a namespace

# The bucket of a link has one frame, so that a connection's first frames are paced, or on a fast
# link the frames that pass while the kernel's timers may be late; the queue holds the largest
# window of the experiments.
FRAME, TIMERS_LATE, QUEUE = MTU + 14, 0.0002, "400ms"


def shape(device, rate, run=tools.output_of):
    """Sets a device's rate, such as 100mbit."""
    run(tools.find("tc"), "qdisc", "replace", "dev", device, "root", "tbf", "rate", rate, "burst",
        f"{bucket(rate)}b", "latency", QUEUE)


def unbundle(device, run=tools.output_of):
    """Makes a device send real Ethernet segments instead of bundles."""
    run(tools.find("ip"), "link", "set", device, "mtu", str(MTU), "gso_max_segs", "1")
    for offload in OFFLOADS:
        # Some kernels do not allow some of these; the capture shows if they matter.
        with contextlib.suppress(tools.BenchError):
            run(tools.find("ethtool"), "-K", device, offload, "off")


@dataclasses.dataclass(frozen=True)
class Side:
    """One end of the link."""

    address: str
    pid: int  # of the process that holds the namespace

    @property
    def prefix(self):
        """The command prefix that runs a command in the namespace."""
        return (tools.find("nsenter"), "-t", str(self.pid), "-n")

    @property
    def place(self):
        """The place at which a server.Server of this side listens."""
        return self.address, self.prefix

    def enter(self):
        """Moves the calling thread alone into the namespace."""
        with open(f"/proc/{self.pid}/ns/net", encoding="ascii") as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), 0) != 0:
                raise OSError(ctypes.get_errno(), "setns failed")

    def run(self, *command):
        return tools.output_of(*self.prefix, *command)

    def counted(self):
        """The packets that the interface has sent and received."""
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
    """The bytes a second of a rate such as 100mbit."""
    return int(rate[:-4]) * {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}[rate[-4:]] / 8


def bucket(rate):
    """The bytes in the bucket of a link of this rate."""
    return max(FRAME, round(TIMERS_LATE * bytes_per_second(rate)))


def lead(rate):
    """The seconds by which a full bucket releases frames before the link would have carried them.

    A frame has arrived with its last bit: with a bucket of one frame, that is one frame's time
    after its release. Times of frames have this added, so that no frame is faster than the wire.
    """
    return bucket(rate) / bytes_per_second(rate)


@dataclasses.dataclass(frozen=True)
class Link:
    server: Side
    client: Side

    def shape(self, rate):
        """Sets the rate of both directions."""
        for side in (self.server, self.client):
            shape(DEVICE, rate, side.run)

    def first_window(self, segments):
        """Sets how many segments the server's connections may send first; None: the default."""
        rest = ["initcwnd", str(segments)] if segments else []
        self.server.run(tools.find("ip"), "route", "replace", "10.77.0.0/24", "dev", DEVICE,
                        "proto", "kernel", "scope", "link", "src", SERVER, *rest)


def make(run):
    """The link for the duration of the run."""
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
    """Starts a process in a network namespace of its own; returns its pid."""
    own = os.readlink("/proc/self/ns/net")

    def entered(process):
        with contextlib.suppress(OSError):
            return os.readlink(f"/proc/{process.pid}/ns/net") != own
        return False

    return run.start_until(entered, [tools.find("unshare"), "--net", "--", "sleep", "infinity"],
                           run.work / "namespace.log", PATIENCE, run.load_cpu).pid
