"""A client of HTTP/2 whose windows and resets are its user's; h2 speaks the protocol.

    client = Client(("127.0.0.1", 8080))
    answers = client.exchange([Request("GET", "/a.txt"), Request("GET", "/b.txt")])
"""

from collections import Counter

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

from .http1 import ATTEMPTS, KEPT, NEW, Answer, abort, connect, joined

LARGEST_WINDOW = (1 << 31) - 1
AT_ONCE = 16  # streams
CANCEL = 8
GOAWAY = 7  # the frame

# Fields that HTTP/2 does not know (RFC 9113 §8.2.2).
OF_THE_CONNECTION = ("connection", "keep-alive", "transfer-encoding", "upgrade", "host")


class Ended(Exception):
    """The connection ended, or broke the rules of its protocol."""


class Stream:
    def __init__(self, id):
        self.id = id
        self.answer = Answer()
        self.ended = False

    def finish(self, why=""):
        self.answer.whole, self.answer.why = not why, why
        self.ended = True


class Connection:
    """`window`: of each stream; what was read is given back where `refill` is True."""

    def __init__(self, address, tls=False, window=LARGEST_WINDOW, refill=True):
        self.sock = connect(address, "h2" if tls else None)
        self.streams = {}
        self.going_away = False
        self._refill = refill
        self._buffer = b""
        self._h2 = h2.connection.H2Connection(h2.config.H2Configuration(
            header_encoding="latin-1", validate_outbound_headers=False,
            normalize_outbound_headers=False))
        codes = h2.settings.SettingCodes
        self._h2.local_settings = h2.settings.Settings(
            initial_values={codes.ENABLE_PUSH: 0, codes.INITIAL_WINDOW_SIZE: window})
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window(LARGEST_WINDOW - 65535)
        self._send()

    def _send(self):
        self.sock.sendall(self._h2.data_to_send())

    def close(self):
        self.sock.close()

    def abort(self):
        abort(self.sock)

    def open(self, request):
        """Sends a request, which has no body; the stream."""
        stream = Stream(self._h2.get_next_available_stream_id())
        self.streams[stream.id] = stream
        fields = [(name.lower(), value) for name, value in request.headers
                  if name.lower() not in OF_THE_CONNECTION]
        self._h2.send_headers(stream.id, [
            (":method", request.method), (":scheme", "http"), (":path", request.path),
            (":authority", "localhost"), *fields], end_stream=True)
        self._send()
        return stream

    def reset(self, stream):
        if not self.streams.pop(stream.id).ended:
            self._h2.reset_stream(stream.id, CANCEL)
            self._send()

    def grant(self, stream, nbytes):
        """Opens the stream's window."""
        if not stream.ended:
            self._h2.increment_flow_control_window(nbytes, stream.id)
            self._send()

    def receive(self):
        """Reads once, and takes all frames that are whole. Of one that says that the server goes
        away h2 may not know: it would refuse what is still on its way."""
        data = self.sock.recv(262144)
        if not data:
            raise Ended("the connection ended")
        self._buffer += data
        whole, at = b"", 0
        while len(self._buffer) >= at + 9:
            end = at + 9 + int.from_bytes(self._buffer[at:at + 3], "big")
            if len(self._buffer) < end:
                break
            if self._buffer[at + 3] == GOAWAY:
                self.going_away = True
            else:
                whole += self._buffer[at:end]
            at = end
        self._buffer = self._buffer[at:]
        try:
            for event in self._h2.receive_data(whole):
                self._take(event)
        except h2.exceptions.ProtocolError as error:
            raise Ended(f"against the protocol: {error}") from error
        self._send()

    def _take(self, event):
        stream = self.streams.get(getattr(event, "stream_id", None))
        if isinstance(event, h2.events.DataReceived) and self._refill:
            self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        if not stream:
            return
        if isinstance(event, h2.events.ResponseReceived):
            stream.answer.headers = joined(event.headers)
            stream.answer.status = int(stream.answer.headers.pop(":status"))
        elif isinstance(event, h2.events.DataReceived):
            stream.answer.raw += event.data
        elif isinstance(event, h2.events.StreamEnded):
            stream.finish()
        elif isinstance(event, h2.events.StreamReset) and not stream.ended:
            stream.finish(f"the stream was reset ({int(event.error_code)})")


class Client:
    """The same answers as http1.Client gives, up to AT_ONCE at a time."""

    def __init__(self, address, tls=False):
        self._address = address
        self._tls = tls
        self._connection = None
        self.unanswered = Counter()

    def close(self):
        if self._connection:
            self._connection.close()
        self._connection = None

    def _some(self, requests):
        """The answers to the first of the requests, as many as the connection takes."""
        streams = []
        try:
            self._connection = self._connection or Connection(self._address, self._tls)
            connection = self._connection
            while True:
                running = sum(not stream.ended for stream in streams)
                if len(streams) < len(requests) and running < AT_ONCE \
                        and not connection.going_away:
                    streams.append(connection.open(requests[len(streams)]))
                elif running:
                    connection.receive()
                else:
                    break
            connection.streams.clear()
        except (Ended, OSError) as error:
            for stream in streams:
                if not stream.ended:
                    stream.finish(str(error) or type(error).__name__)
            self.close()
        if self._connection and self._connection.going_away:
            self.close()
        return [stream.answer for stream in streams]

    def exchange(self, requests):
        answers = [Answer()] * len(requests)
        left = list(range(len(requests)))
        for _ in range(ATTEMPTS):
            kind = KEPT if self._connection else NEW
            for i, answer in zip(left, self._some([requests[i] for i in left])):
                answers[i] = answer
            # Streams beyond the last that a closing server takes are not answered at all.
            left = [i for i in left if not answers[i].status and not answers[i].whole]
            self.unanswered[kind] += bool(left)
            if not left:
                break
        return answers
