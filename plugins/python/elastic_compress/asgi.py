"""ASGI 3 middleware."""

from . import rules
from .codings import Codings
from .position import DEFAULT_PATH, Follower


class ElasticASGI:
    """Compresses what `application` answers to HTTP requests; other protocols pass."""

    def __init__(self, application, path=DEFAULT_PATH, follower=None, levels=None):
        self.application = application
        self.codings = Codings(levels, follower or Follower(path))

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        await self.application(scope, receive, Response(self.codings, scope, send).send)


class Response:
    def __init__(self, codings, scope, send):
        accepted = ",".join(value.decode("latin-1") for key, value in scope["headers"]
                            if key.lower() == b"accept-encoding")
        self.coding = codings.accepted(accepted) if scope["method"] != "HEAD" else None
        self.codings = codings
        self.forward = send
        self.held = None  # the message that starts the response
        self.stream = None

    async def send(self, message):
        if message["type"] == "http.response.start":
            self.held = message
            return
        if message["type"] != "http.response.body":
            # Trailers, a path to send, a push: as they are, and behind the header.
            if self.held:
                start, self.held = self.held, None
                await self.forward(start)
            await self.forward(message)
            return
        body, more = message.get("body", b""), message.get("more_body", False)
        if self.held:
            start, self.held = self.held, None
            body = self.begin(start, body, more)
            await self.forward(start)
        elif self.stream is not None:
            body = self.encode(body, more)
        await self.forward({**message, "body": body})

    def begin(self, start, body, more):
        """Rewrites the header for the first piece of the body, and gives back its bytes."""
        headers = [(key.decode("latin-1"), value.decode("latin-1"))
                   for key, value in start.get("headers", [])]
        if rules.is_candidate(start["status"], headers):
            headers = rules.with_vary(headers)
            if self.coding and (more or len(body) >= rules.MIN_SIZE):
                self.stream = self.codings.begin(self.coding)
        if self.stream is not None:
            body = self.encode(body, more)
            headers = rules.with_coding(headers, self.coding, None if more else len(body))
        # ASGI's names are in small letters.
        start["headers"] = [(key.lower().encode("latin-1"), value.encode("latin-1"))
                            for key, value in headers]
        return body

    def encode(self, body, more):
        return self.stream.add(body) + (self.stream.flush() if more else self.stream.finish())
