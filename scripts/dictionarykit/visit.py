"""Pages as a visitor without cookies gets them: one after another, slowly, from one origin."""

import http.client
import ipaddress
import socket
import ssl
import time
import typing
import urllib.parse

from dictionarykit import common, response, sources

PAGE_MOST = 1 << 20  # bytes; larger ones are rare, and have their own way to be fast
REDIRECTS_MOST = 3
TIMEOUT = 20  # seconds without a byte
REDIRECTS = (301, 302, 303, 307, 308)
FIELDS = {"User-Agent": "elastic-dictionary", "Accept": "text/html, */*;q=0.5",
          "Accept-Encoding": "identity"}


class Page(typing.NamedTuple):
    url: str
    body: bytes  # that may be in a dictionary
    whole: bytes = b""  # as it came
    head: int = 0  # bytes of its header


class Reach(typing.NamedTuple):
    """How the site is reached; the defaults are those of the tests' own sites."""

    address: str = ""  # instead of what the name resolves to
    context: object = None  # of TLS
    port: int = 0  # instead of the site's own


def check_address(host, port):
    """Unusable where the name leads to an address of the inside: access rules such as `Require
    local` let that see more than visitors see."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as problem:
        raise sources.Unusable(f"{host}: {problem.strerror}") from None
    for address in (info[4][0] for info in found):
        inside = not ipaddress.ip_address(address.partition("%")[0]).is_global
        if inside and host not in ("localhost", address):
            raise sources.Unusable(
                f"{host} is {address} here, which is no address of the internet: httpd's access "
                "rules may let it see more than visitors see. Give the address by which visitors "
                "come with --address")


class Connection(http.client.HTTPConnection):
    """To an address, under the site's name."""

    def __init__(self, origin, reach):
        scheme, host, port = origin
        super().__init__(host, port, timeout=TIMEOUT)
        self.context = scheme == "https" and (reach.context or ssl.create_default_context())
        self.at = (reach.address or host, reach.port or port)
        self.default_port = sources.ORIGIN_PORTS[scheme]

    def connect(self):
        self.sock = socket.create_connection(self.at, self.timeout)
        if self.context:
            self.sock = self.context.wrap_socket(self.sock, server_hostname=self.host)


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

    def __init__(self, origin, rate, seconds, reach=Reach(), clock=time.monotonic,
                 sleep=time.sleep):
        self.origin, self.reach = origin, reach
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

    def ask(self, url, most, fields=FIELDS):
        """The response; `most` bytes of body at most."""
        if sources.origin(url) != self.origin:
            raise Refused("is of another origin")
        self.wait()
        connection = Connection(self.origin, self.reach)
        try:
            connection.request("GET", target_of(url), headers=fields)
            answer = connection.getresponse()
            found = tuple((name.lower(), value) for name, value in answer.getheaders())
            return response.Response(answer.status, found, self.read(answer, most))
        except ssl.SSLError as problem:
            reason = getattr(problem, "verify_message", "") or problem.reason
            raise Refused(f"no connection: {reason}") from None
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
            if sources.origin(url) != self.origin:
                raise Refused(f"leads to another site, {url}")
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


def take(visitor, url, accepted, pages):
    """The page behind a URL; Refused where it is none, or one of `pages`, {body: page}."""
    found, answer = visitor.follow(url, accepted, PAGE_MOST)
    reason = response.refusal(answer, accepted)
    if reason:
        raise Refused(reason)
    if answer.body in pages:
        raise Refused("is the same as " + pages[answer.body].url)
    return Page(found, answer.body, answer.body, answer.head())


def visit(visitor, urls, accepted):
    """(pages, {URL: why it was refused}). Of equal pages the first one stays."""
    pages, refused = {}, {}
    for url in urls:
        try:
            page = take(visitor, url, accepted, pages)
            pages[page.body] = page
        except (Refused, sources.Unusable) as problem:
            refused[url] = str(problem)
    return list(pages.values()), refused


def again(visitor, pages, accepted):
    """The same once more: (pages without what has changed meanwhile, {URL: why refused})."""
    found, refused = [], {}
    for page in pages:
        try:
            body = take(visitor, page.url, accepted, {}).body
            same = common.common(page.body, body)
            if len(same) < common.COMMON_LEAST * len(page.body):
                raise Refused("is another page at each visit")
            found.append(page._replace(body=same))
        except (Refused, sources.Unusable) as problem:
            refused[page.url] = str(problem)
    return found, refused


def crawl(visitor, start, accepted, most, allowed):
    """As visit(), of the pages to which links lead from `start`."""
    pages, refused, waiting, known = {}, {}, [start], {start}
    while waiting and len(pages) < most and len(known) - len(waiting) < 3 * most:
        url = waiting.pop(0)
        try:
            page = take(visitor, url, accepted, pages)
        except (Refused, sources.Unusable) as problem:
            refused[url] = str(problem)
            continue
        pages[page.body] = page
        for link in sources.of_links(page.url, page.body.decode("utf-8", "replace")):
            if link not in known and sources.origin(link) == visitor.origin and allowed(link):
                known.add(link)
                waiting.append(link)
    return list(pages.values()), refused
