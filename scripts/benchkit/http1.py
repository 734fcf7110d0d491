"""Parses HTTP/1.1 responses from a stream, in pieces as they arrive."""


class Responses:
    """A parser of consecutive responses (of HEAD with `head`); `status` and `fields` are the
    present's."""

    def __init__(self, head=False):
        self.head, self.status, self.fields = head, 0, {}  # names are in lower case
        self._data = bytearray()
        self._parser = self._parse()

    def feed(self, data):
        """Yields (body bytes, whether its response is complete) as they come; raises ValueError for
        anything but a response, and for one that only ends with the connection."""
        self._data += data
        while (found := next(self._parser)) is not None:
            yield found

    def _parse(self):
        """Yields the values of feed(), and None if it needs more bytes."""
        while True:
            first, *lines = (yield from self._until(b"\r\n\r\n")).split(b"\r\n")
            _, status, *_ = first.split(b" ")
            self.status = int(status)
            self.fields = {name.lower(): value.strip() for name, _, value in
                           (line.partition(b":") for line in lines)}
            if self.head or self.status == 304:
                pass
            elif b"chunked" in self.fields.get(b"transfer-encoding", b"").lower():
                while size := int((yield from self._until(b"\r\n")).split(b";")[0], 16):
                    yield from self._body(size)
                    yield from self._until(b"\r\n")
                yield from self._until(b"\r\n")  # trailers are not requested
            elif b"content-length" in self.fields:
                yield from self._body(int(self.fields[b"content-length"]))
            else:
                raise ValueError("a response that only the end of the connection ends")
            yield b"", True

    def _until(self, end):
        """Returns the bytes before `end`, and removes both."""
        while (place := self._data.find(end)) < 0:
            yield None
        found = bytes(self._data[:place])
        del self._data[:place + len(end)]
        return found

    def _body(self, left):
        while left:
            while not self._data:
                yield None
            piece = self._data[:left]
            del self._data[:left]
            left -= len(piece)
            yield piece, False
