"""Pages as a visitor without cookies gets them: one after another, slowly, from one origin."""

import http.client
import ssl
import time
import typing
import urllib.parse

from dictionarykit import response, sources

PAGE_MOST = 1 << 20  # bytes; larger ones are rare, and have their own way to be fast
REDIRECTS_MOST = 3
TIMEOUT = 20  # seconds without a byte
REDIRECTS = (301, 302, 303, 307, 308)
FIELDS = {"User-Agent": "elastic-dictionary", "Accept": "text/html, */*;q=0.5",
          "Accept-Encoding": "identity"}
CONNECTIONS = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}


class Page(typing.NamedTuple):
    url: str
    body: bytes


class Refused(Exception):
    """Why there is no page."""


def target_of(url):
    """Path and query, as they go over the wire."""
    parts = urllib.parse.urlsplit(url)
    text = (parts.path or "/") + ("?" + parts.query if parts.query else "")
    return urllib.parse.quote(text, safe="%/:=&?~#+!$,;'@()*[]|")


class Visitor:
    """Asks for pages of one origin, `rate` times a second at most, and stops after `seconds`.

    `clock` and `sleep` are those of the module time unless a test has others.
    """

    def __init__(self, origin, rate, seconds, clock=time.monotonic, sleep=time.sleep):
        self.origin = origin
        self.pause = 1 / rate
        self.clock, self.sleep = clock, sleep
        self.until = clock() + seconds
        self.next = clock()

    def wait(self):
        """Until the next request may go out."""
        now = self.clock()
        start = max(now, self.next)
        if start >= self.until:
            raise Refused("the time was over")
        if start > now:
            self.sleep(start - now)
        self.next = start + self.pause

    def read(self, answer, most):
        body = bytearray()
        while True:
            piece = answer.read1(1 << 16)
            if not piece:
                break
            body += piece
            if len(body) > most:
                raise Refused(f"has more than {most} bytes")
            if self.clock() >= self.until:
                raise Refused("came too slowly")
        if answer.length:
            raise Refused("breaks off")
        return bytes(body)

    def ask(self, url, most):
        """The response; `most` bytes of body at most."""
        if sources.origin(url) != self.origin:
            raise Refused("is of another origin")
        self.wait()
        scheme, host, port = self.origin
        connection = CONNECTIONS[scheme](host, port, timeout=TIMEOUT)
        try:
            connection.request("GET", target_of(url), headers=FIELDS)
            answer = connection.getresponse()
            fields = tuple((name.lower(), value) for name, value in answer.getheaders())
            return response.Response(answer.status, fields, self.read(answer, most))
        except ssl.SSLError as problem:
            raise Refused(f"no connection: {problem.reason}") from None
        except (OSError, http.client.HTTPException) as problem:
            raise Refused(f"no response: {problem or type(problem).__name__}") from None
        finally:
            connection.close()

    def follow(self, url, accepted, most):
        """(the URL to which redirects lead, its response)."""
        for _ in range(REDIRECTS_MOST + 1):
            answer = self.ask(url, most)
            places = answer.values("location")
            if answer.status not in REDIRECTS or not places:
                return url, answer
            reason = response.header_refusal(answer, accepted)
            if reason:
                raise Refused(reason)
            url = urllib.parse.urljoin(url, places[0]).partition("#")[0]
        raise Refused("redirects again and again")

    def fetch(self, url, most=sources.SITEMAP_MOST):
        """The body of a sitemap."""
        try:
            answer = self.follow(url, response.Accepted(), most)[1]
        except Refused as problem:
            raise sources.Unusable(f"{url}: {problem}") from None
        if answer.status != 200:
            raise sources.Unusable(f"{url}: has the status {answer.status}")
        return answer.body


def visit(visitor, urls, accepted):
    """(pages, {URL: why it was refused}). Of equal pages the first one stays."""
    pages, refused = {}, {}
    for url in urls:
        try:
            found, answer = visitor.follow(url, accepted, PAGE_MOST)
            reason = response.refusal(answer, accepted)
            if reason:
                raise Refused(reason)
            if answer.body in pages:
                raise Refused("is the same as " + pages[answer.body])
            pages[answer.body] = found
        except (Refused, sources.Unusable) as problem:
            refused[url] = str(problem)
    return [Page(url, body) for body, url in pages.items()], refused
