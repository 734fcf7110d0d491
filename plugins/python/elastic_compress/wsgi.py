"""WSGI middleware (PEP 3333)."""

from . import rules
from .codings import Codings
from .position import DEFAULT_PATH, Follower


class ElasticWSGI:
    """Compresses what `application` answers. A body that comes in one piece gets its length; one
    that comes in several is flushed after each, so that nothing is held back."""

    def __init__(self, application, path=DEFAULT_PATH, follower=None, levels=None):
        self.application = application
        self.codings = Codings(levels, follower or Follower(path))

    def __call__(self, environ, start_response):
        response = Response(self.codings, environ, start_response)
        body = self.application(environ, response.start)
        return response.encode(body)


class Response:
    def __init__(self, codings, environ, start_response):
        self.codings = codings
        self.coding = (codings.accepted(environ.get("HTTP_ACCEPT_ENCODING"))
                       if environ["REQUEST_METHOD"] != "HEAD" else None)
        self.start_response = start_response
        self.held = None  # what the application gave to start()
        self.stream = None

    def start(self, status, headers, exc_info=None):
        """Holds the header until the first piece of the body is there."""
        self.held = (status, headers, exc_info)
        return self.write

    def write(self, piece):
        """PEP 3333's write(): it promises to send at once, so that the body is a stream."""
        if self.held:
            self.begin(None)
        self.sender(self.flushed(piece))

    def begin(self, whole):
        """Sends the header; `whole` is the body where it is all there. Gives back what to send."""
        (status, headers, exc_info), self.held = self.held, None
        if rules.is_candidate(int(status.split()[0]), headers):
            headers = rules.with_vary(headers)
            if self.coding and (whole is None or len(whole) >= rules.MIN_SIZE):
                self.stream = self.codings.begin(self.coding)
        if self.stream is not None:
            if whole is not None:
                whole, self.stream = self.stream.add(whole) + self.stream.finish(), None
            headers = rules.with_coding(headers, self.coding,
                                        None if whole is None else len(whole))
        arguments = (status, headers) if exc_info is None else (status, headers, exc_info)
        self.sender = self.start_response(*arguments)
        return whole

    def flushed(self, piece):
        if self.stream is None or not piece:
            return piece
        return self.stream.add(piece) + self.stream.flush()

    def encode(self, body):
        """The pieces to send."""
        try:
            if isinstance(body, (list, tuple)) and self.held:
                yield self.begin(b"".join(body))
                return
            for piece in body:
                if self.held and piece:
                    self.begin(None)
                yield self.flushed(piece)
            if self.held:
                self.begin(b"")
            if self.stream is not None:
                yield self.stream.finish()
        finally:
            if hasattr(body, "close"):
                body.close()
