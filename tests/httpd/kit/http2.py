"""HTTP/2, whose windows and resets are the test's; h2 speaks the protocol.

    with Connection(address, tls=True) as connection:   # as kit.client.Connection
        stream = connection.open(Request("GET", "/a.txt"))
        connection.receive()
        connection.reset(stream)
"""

import time

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings

from . import client
from .client import Incomplete, Response

LARGEST_WINDOW = (1 << 31) - 1
AT_ONCE = 16  # streams
CANCEL = 8
DATA, GOAWAY = 0, 7  # frames
END_STREAM = 1  # a frame's flag

# Fields that HTTP/2 does not know (RFC 9113 §8.2.2).
OF_THE_CONNECTION = ("connection", "keep-alive", "transfer-encoding", "upgrade", "host")


class Stream:
    def __init__(self, number, id, method):
        self.number, self.method = number, method
        self.response = Response(id=id)
        self.ended = False

    def finish(self, why=""):
        if not self.ended:
            self.response.complete, self.response.why = not why, why
        self.ended = True


class Connection(client.Connected):
    """`window`: of each stream; what was read is given back where `refill` is True."""

    def __init__(self, address, tls=False, timeout=30, window=LARGEST_WINDOW, refill=True):
        super().__init__(address, "h2" if tls else None, timeout=timeout)
        assert not tls or self.sock.selected_alpn_protocol() == "h2"
        self.streams = {}
        self.going_away = False
        self._scheme = "https" if tls else "http"
        self._refill = refill
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

    def open(self, request, id=None):
        """Sends a request; the stream."""
        self._sent = time.monotonic()
        fields = client.Headers(request.headers)
        stream = Stream(self._h2.get_next_available_stream_id(), id, request.method)
        self.streams[stream.number] = stream
        pairs = [(":method", request.method), (":scheme", self._scheme), (":path", request.path),
                 (":authority", fields.get("Host", "localhost"))]
        pairs += [(name.lower(), value) for name, value in fields.fields
                  if name.lower() not in OF_THE_CONNECTION]
        pairs += [("content-length", len(request.body))] * bool(request.body)
        self._h2.send_headers(stream.number, [
            (name.encode(), str(value).encode("latin-1")) for name, value in pairs],
            end_stream=not request.body)
        self._send()
        self._send_body(stream, request.body)
        return stream

    def _send_body(self, stream, body):
        """As the windows allow; a server that answers early need not read all of it."""
        while body and not stream.ended:
            room = min(self._h2.local_flow_control_window(stream.number),
                       self._h2.max_outbound_frame_size)
            if room:
                self._h2.send_data(stream.number, body[:room], end_stream=len(body) <= room)
                body = body[room:]
                self._send()
            else:
                self.receive()

    def reset(self, stream):
        if not self.streams.pop(stream.number).ended:
            self._h2.reset_stream(stream.number, CANCEL)
            self._send()

    def grant(self, stream, nbytes):
        """Opens the stream's window."""
        if not stream.ended:
            self._h2.increment_flow_control_window(nbytes, stream.number)
            self._send()

    def receive(self):
        """Reads once, and takes all frames that are whole. Of one that says that the server goes
        away h2 may not know: it would refuse what is still on its way."""
        data = self.sock.recv(262144)
        if not data:
            raise Incomplete("the connection ended")
        self._buffer += data
        while len(self._buffer) >= 9:
            end = 9 + int.from_bytes(self._buffer[:3], "big")
            if len(self._buffer) < end:
                break
            frame, self._buffer = self._buffer[:end], self._buffer[end:]
            if frame[3] == GOAWAY:
                self.going_away = True
            else:
                self._take_frame(self._without_body_of_head(frame))
        self._send()

    def _without_body_of_head(self, frame):
        """A frame as h2 may see it, which would give up the connection over a body after HEAD. The
        response has that."""
        stream = self.streams.get(int.from_bytes(frame[5:9], "big"))
        if frame[3] != DATA or len(frame) == 9 or not stream or stream.method != "HEAD":
            return frame
        stream.response.pieces.append((time.monotonic() - self._sent, frame[9:]))
        return bytes(4) + bytes([frame[4] & END_STREAM]) + frame[5:9]

    def _take_frame(self, frame):
        """One by one: what came before one that is against the protocol holds."""
        try:
            for event in self._h2.receive_data(frame):
                self._take(event)
        except h2.exceptions.ProtocolError as error:
            self.going_away = True
            for stream in self.streams.values():
                stream.finish(f"against the protocol: {error}")

    def _take(self, event):
        stream = self.streams.get(getattr(event, "stream_id", None))
        if isinstance(event, h2.events.DataReceived) and self._refill:
            self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        if not stream:
            return
        response = stream.response
        if isinstance(event, (h2.events.ResponseReceived, h2.events.InformationalResponseReceived)):
            (_, status), *fields = event.headers
            if int(status) < 200:
                response.interim.append(Response.of(int(status), fields))
            else:
                response.status, response.headers = int(status), client.Headers(fields)
        elif isinstance(event, h2.events.DataReceived):
            response.pieces.append((time.monotonic() - self._sent, event.data))
        elif isinstance(event, h2.events.TrailersReceived):
            response.trailers = client.Headers(event.headers)
        elif isinstance(event, h2.events.StreamEnded):
            stream.finish()
        elif isinstance(event, h2.events.StreamReset):
            stream.finish(f"the stream was reset ({int(event.error_code)})")

    # --- one request at a time

    def send_request(self, path, method="GET", ae=None, headers=None, body=b""):
        """Returns the stream, the argument of `read_head`."""
        id, request = self.ask_for(path, method, ae, headers, body)
        return self.open(request, id)

    def read_head(self, stream):
        self._stream = stream
        while not stream.response.status:
            if stream.ended:
                raise Incomplete(stream.response.why)
            self.receive()
        return stream.response

    def body_pieces(self, response, method="GET"):
        """Yields the body's bytes as they arrive."""
        stream, at = self._stream, 0
        while True:
            while at < len(response.pieces):
                at += 1
                yield response.pieces[at - 1][1]
            if stream.ended:
                break
            self.receive()
        if not response.complete:
            raise Incomplete(response.why)


class Client(client.Client):
    """Up to AT_ONCE at a time."""

    def _make(self):
        return Connection(self._address, self._tls, self._timeout)

    def _some(self, requests):
        streams, why = [], ""
        try:
            self._connection = connection = self._connection or self._make()
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
        except (Incomplete, OSError) as error:
            why = str(error) or type(error).__name__
            for stream in streams:
                stream.finish(why)
            self.close()
        if self._connection and self._connection.going_away:
            self.close()
        if not streams:
            return [Response()]
        return [stream.response for stream in streams]
