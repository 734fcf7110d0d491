"""Two network namespaces joined by a veth pair: an Ethernet of MTU 1500 and a given rate.

Neither has a name: each lives as long as the process that holds it, so that nothing of them is left
however the run ends. Segments are real ones: nothing is bundled, neither by the sender
(segmentation offload) nor by the receiver. There is no distance: the round trip is the kernel's
own, some tens of microseconds.
"""

import contextlib
import dataclasses
import os
import re
import time

from benchkit import tools

MTU = 1500
SERVER, CLIENT = "10.77.0.1", "10.77.0.2"
DEVICE = "veth0"  # in both namespaces

OFFLOADS = ("tso", "gso", "gro", "sg", "tx", "rx")

PATIENCE = 5  # seconds for a namespace to be there

# A bucket of a few segments, so that even the first of a connection are paced; and a queue that
# holds what the largest window of the experiments sends at once.
BURST, QUEUE = "8kb", "400ms"


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

    def run(self, *command):
        return tools.output_of(*self.prefix, *command)

    def counted(self):
        """Packets that the interface has sent and received."""
        text = self.run(tools.find("ip"), "-s", "link", "show", "dev", DEVICE)
        return parse_counters(text)


def parse_counters(text):
    """(sent, received) packets in the text of `ip -s link`."""
    received = re.search(r"RX:\s+bytes\s+packets.*\n\s*\d+\s+(\d+)", text)
    sent = re.search(r"TX:\s+bytes\s+packets.*\n\s*\d+\s+(\d+)", text)
    if not (received and sent):
        raise tools.BenchError("ip -s link shows no packet counters")
    return int(sent.group(1)), int(received.group(1))


@dataclasses.dataclass(frozen=True)
class Link:
    server: Side
    client: Side

    def shape(self, rate):
        """Gives both directions a rate such as 100mbit, instead of the last one."""
        for side in (self.server, self.client):
            side.run(tools.find("tc"), "qdisc", "replace", "dev", DEVICE, "root", "tbf", "rate",
                     rate, "burst", BURST if not rate.endswith("gbit") else "64kb", "latency",
                     QUEUE)

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
        side.run(ip, "link", "set", DEVICE, "mtu", str(MTU), "gso_max_segs", "1")
        for offload in OFFLOADS:
            # Some kernels fix some of them; the capture tells whether what matters is off.
            with contextlib.suppress(tools.BenchError):
                side.run(tools.find("ethtool"), "-K", DEVICE, offload, "off")
        side.run(ip, "addr", "add", f"{side.address}/24", "dev", DEVICE)
        side.run(ip, "link", "set", DEVICE, "up")
    return link


def hold(run):
    """A process in a network namespace of its own; its pid."""
    unshare = tools.find("unshare")
    process = run.start([unshare, "--net", "--", "sleep", "infinity"], run.work / "namespace.log",
                        cpu=run.load_cpu)
    own = os.readlink("/proc/self/ns/net")
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{process.pid}/ns/net") != own:
                return process.pid
        time.sleep(0.01)
    words = (run.work / "namespace.log").read_text(errors="replace").strip()
    raise tools.BenchError(f"no network namespace can be made: {words or 'unshare failed'}")
