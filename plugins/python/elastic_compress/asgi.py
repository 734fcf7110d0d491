"""ASGI 3 middleware."""

import zlib

from . import rules
from .position import DEFAULT_PATH, Follower


class ElasticASGI:
    """Compresses what `application` answers to HTTP requests; other protocols pass."""

    def __init__(self, application, path=DEFAULT_PATH, follower=None):
        self.application = application
        self.follower = follower or Follower(path)

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        await self.application(scope, receive, Response(self.follower, scope, send).send)


class Response:
    def __init__(self, follower, scope, send):
        accepted = ",".join(value.decode("latin-1") for key, value in scope["headers"]
                            if key.lower() == b"accept-encoding")
        self.wanted = scope["method"] != "HEAD" and rules.accepts_gzip(accepted)
        self.follower = follower
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
        level = None
        if rules.is_candidate(start["status"], headers):
            headers = rules.with_vary(headers)
            if self.wanted and (more or len(body) >= rules.MIN_SIZE):
                level = self.follower.setup(rules.LEVELS, rules.DEFAULT_LEVEL)
        if level is not None and not more:
            body = rules.encode(body, level)
            headers = rules.with_gzip(headers, len(body))
        elif level is not None:
            self.stream = rules.encoder(level)
            body = self.encode(body, more)
            headers = rules.with_gzip(headers)
        # ASGI's names are in small letters.
        start["headers"] = [(key.lower().encode("latin-1"), value.encode("latin-1"))
                            for key, value in headers]
        return body

    def encode(self, body, more):
        return (self.stream.compress(body)
                + self.stream.flush(zlib.Z_SYNC_FLUSH if more else zlib.Z_FINISH))
