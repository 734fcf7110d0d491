"""Frames of an interface, as the kernel sees them: lengths, TCP fields, and its timestamps."""

import dataclasses
import socket
import struct
import threading

ETH_P_ALL, ETHERNET = 3, 14
SO_TIMESTAMPNS = 35
SO_RCVBUFFORCE = 33  # above the system's limit, as root
HEADERS = 128  # bytes of a frame to keep; its true length is known all the same
BUFFER = 8 << 20  # bytes; the kernel drops frames that do not fit
SILENCE = 0.02  # seconds after which a capture checks if it should end
FIN, SYN, ACK = 1, 2, 16


@dataclasses.dataclass(frozen=True)
class Frame:
    time: float  # seconds since the epoch
    length: int  # with the Ethernet header
    source: str
    port: int  # of the source
    sequence: int
    acknowledged: int
    flags: int
    payload: int  # bytes of TCP payload


def parse(data, length, time):
    """The Frame in an Ethernet frame's first bytes, or None if it is not TCP over IPv4."""
    if len(data) < ETHERNET + 40 or data[12:14] != b"\x08\x00" or data[ETHERNET + 9] != 6:
        return None
    header = 4 * (data[ETHERNET] & 15)
    total, = struct.unpack_from("!H", data, ETHERNET + 2)
    tcp = ETHERNET + header
    if len(data) < tcp + 20:
        return None
    port, _, sequence, acknowledged, offset, flags = struct.unpack_from("!HHIIBB", data, tcp)
    return Frame(time, length, socket.inet_ntoa(data[ETHERNET + 12:ETHERNET + 16]), port, sequence,
                 acknowledged, flags, total - header - 4 * (offset >> 4))


class Capture:
    """Captures the TCP frames on an interface of the thread's network namespace; a context
    manager."""

    def __init__(self, device):
        self.frames = []
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._socket.bind((device, 0))
        self._socket.settimeout(SILENCE)
        self._ending = False
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self):
        while True:
            try:
                # With MSG_TRUNC the length is the frame's, not that of the kept part.
                data = bytearray(HEADERS)
                length, controls, _, _ = self._socket.recvmsg_into([data], 64, socket.MSG_TRUNC)
            except TimeoutError:
                if self._ending:
                    return
                continue
            frame = parse(bytes(data[:min(length, HEADERS)]), length, timestamp(controls))
            if frame:
                self.frames.append(frame)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *problem):
        self._ending = True
        self._thread.join()
        self._socket.close()


def timestamp(controls):
    """Seconds since the epoch in the control messages of a frame."""
    for level, kind, data in controls:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
            seconds, nanoseconds = struct.unpack("qq", data[:16])
            return seconds + nanoseconds / 1e9
    return 0.0
