"""URLs; one request and its response, bounded in time and size whatever the server sends; and
whether a public dictionary may contain the response, by its own fields."""

import contextlib
import email.utils
import http.client
import importlib
import io
import re
import socket
import ssl
import time
import types
import typing
import urllib.parse

importlib.import_module("encodings.idna")  # a child may not be able to read it

EXCHANGE = 20  # seconds
HEAD_MOST = 256 << 10  # bytes of header, interim responses, chunk heads and trailers
INTERIM_MOST = 20  # responses
PAGE_MOST = 1 << 20  # bytes; larger pages are rare, and have other ways to be fast
BODY_MOST = 64 << 20  # bytes, also of compressed bodies
REDIRECTS = (301, 302, 303, 307, 308)
EPOCH = "Thu, 01 Jan 1970 00:00:00 GMT"
TYPES = ("text/html", "application/xhtml+xml")

ORIGIN_PORTS = {"http": 80, "https": 443}
HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_.])?\Z|[0-9a-f:.]*:[0-9a-f:.]*\Z")
LINK = re.compile(r'<([^<>]*)>((?:[^"<,]|"(?:[^"\\]|\\.)*")*)')
LINK_REL = re.compile(r';\s*rel\s*=\s*"?([^";,]*)', re.I)


class Failed(Exception):
    """The command ends with the exit status 1; the text tells why, and what to do."""


class Refused(Failed):
    """The reason to skip one URL."""


def origin(url):
    """(scheme, host, port); raises Refused unless it is a URL of http or https without a user."""
    if not url.isprintable():
        raise Refused("a URL has no control characters")
    try:
        parts = urllib.parse.urlsplit(url)
        port, host = parts.port, (parts.hostname or "")
        host = host and host.encode("idna").decode()
    except ValueError as problem:  # includes UnicodeError
        raise Refused(f"{url}: {problem}") from None
    if parts.scheme not in ORIGIN_PORTS or not HOST.match(host):
        raise Refused(f"{url}: an http or https URL is needed")
    if "@" in parts.netloc:
        raise Refused("give the URL without a name or password of a user")
    return parts.scheme, host, port or ORIGIN_PORTS[parts.scheme]


def host_field(url):
    """The host of a URL, with its port unless that is the scheme's."""
    scheme, host, port = origin(url)
    name = f"[{host}]" if ":" in host else host
    return name if port == ORIGIN_PORTS[scheme] else f"{name}:{port}"


def target_of(url):
    """Path and query."""
    parts = urllib.parse.urlsplit(url)
    return (parts.path or "/") + ("?" + parts.query if parts.query else "")


def directives(fields):
    """The names in Cache-Control. A comma within quotes only adds meaningless names."""
    return {part.partition("=")[0].strip().lower() for field in fields for part in field.split(",")}


class Response(typing.NamedTuple):
    status: int
    fields: tuple  # of (name in lower case, value)
    body: bytes

    def values(self, name):
        return [value for field, value in self.fields if field == name]

    def head(self):
        """Bytes of the header in HTTP/1.1."""
        return len("HTTP/1.1 200 OK\r\n\r\n") + sum(len(name) + len(value) + 4
                                                    for name, value in self.fields)

    def media_type(self):
        return "".join(self.values("content-type")[:1]).partition(";")[0].strip().lower()

    def coding(self):
        return ", ".join(self.values("content-encoding")).strip().lower()

    def links(self):
        """The URLs of dictionaries in Link (RFC 8288)."""
        found = []
        for url, parameters in LINK.findall(", ".join(self.values("link"))):
            rel = LINK_REL.search(re.sub(r'title\s*=\s*"[^"]*"', "", parameters))
            if rel and "compression-dictionary" in rel[1].lower().split():
                found.append(url)
        return found

    def lifetime(self):
        """The seconds from now for which a browser may keep it; None: not stated."""
        control = self.values("cache-control")
        if directives(control) & {"no-store", "no-cache"}:
            return 0
        age = re.search(r"(?i)\bmax-age\s{0,9}=\s{0,9}\"?([0-9]{1,10})", ",".join(control))
        if not age and not self.values("expires"):
            return None
        since = "".join(self.values("age")[:1])
        since = int(since) if re.fullmatch("[0-9]{1,10}", since) else 0
        if age:
            return max(int(age[1]) - since, 0)
        try:
            until, sent = (email.utils.parsedate_to_datetime((self.values(name) or [EPOCH])[0])
                           .timestamp() for name in ("expires", "date"))
        except (TypeError, ValueError, OverflowError):
            return 0
        return max(int(until - sent) - since, 0)

    def header_refusal(self, options=None):
        """The reason why a response, for instance a redirect, is for one visitor only; None: there
        is none. `options`: state.Options, with the operator's exceptions."""
        cookies = [field.partition("=")[0].strip() for field in self.values("set-cookie")]
        others = [name for name in cookies if not options or name not in options.accept_cookie]
        if others:
            return "sets the cookie " + ", ".join(others)
        control = directives(self.values("cache-control"))
        found = [name for name in ("private", "no-store") if name in control]
        return f"is {found[0]}" if found and not (options and options.accept_private) else None

    def refusal(self, options):
        """The reason to refuse a page; None: accept it."""
        reason = self.header_refusal(options)
        if self.status != 200 or reason:
            return reason if self.status == 200 else f"has the status {self.status}"
        if self.media_type() not in TYPES:
            return "has the type " + (self.media_type() or "(none)")
        if self.coding():
            return "is encoded, though not asked for"
        return None if self.body else "is empty"


class Reach(typing.NamedTuple):
    """How a site is reached."""

    addresses: tuple = ()  # tried in this order; none: those of the name
    context: object = None  # for TLS
    port: int = 0  # instead of the site's own
    scheme: str = ""  # likewise
    fields: dict = {}  # added to each request
    proof: tuple = ()  # the field, (name, value), that each response must have


def talk(sock, url, fields, most, until):
    target = urllib.parse.quote(target_of(url), safe="%/:=&?~#+!$,;'@()*[]|")
    head = [f"GET {target} HTTP/1.1", f"Host: {host_field(url)}", "Connection: close",
            *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    sock.sendall("\r\n".join(head).encode("ascii"))
    piece, whole = True, bytearray()
    while piece:  # the other side closes
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        sock.settimeout(left)
        piece = b""
        with contextlib.suppress(ConnectionResetError):
            piece = sock.recv(1 << 16)
        whole += piece
        if len(whole) > most + HEAD_MOST:
            raise Refused("is too large")
    received = types.SimpleNamespace(makefile=lambda _, file=io.BytesIO(whole): file)
    answers = []  # kept, because a collected response would close `received`
    while len(answers) <= INTERIM_MOST and (not answers or 100 < answers[-1].status < 200):
        answers.append(http.client.HTTPResponse(received))
        answers[-1].begin()
    status, fields, body = answers[-1].status, answers[-1].getheaders(), answers[-1].read()
    if len(body) > most:
        raise Refused(f"has more than {most} bytes")
    return Response(status, tuple((name.lower(), value) for name, value in fields), body)


def get(url, reach, fields, most, seconds=EXCHANGE):
    """The response; raises Refused if there is none in this time, or its body is larger."""
    until, (scheme, host, port) = time.monotonic() + min(seconds, EXCHANGE), origin(url)
    *others, last = reach.addresses or (host,)
    try:
        with contextlib.ExitStack() as stack:
            sock, port = None, reach.port or port
            for address in others:
                with contextlib.suppress(OSError):
                    sock = sock or socket.create_connection((address, port), EXCHANGE / 4)
            sock = stack.enter_context(sock or socket.create_connection(
                (last, port), max(until - time.monotonic(), 0.1)))
            sock.settimeout(max(until - time.monotonic(), 0.1))
            if (reach.scheme or scheme) == "https":
                sock = stack.enter_context((reach.context or ssl.create_default_context())
                                           .wrap_socket(sock, server_hostname=host))
            answer = talk(sock, url, {**fields, **reach.fields}, most, until)
    except ssl.SSLError as problem:
        reason = getattr(problem, "verify_message", "") or problem.reason or str(problem)
        raise Refused(f"no connection: {reason}") from None
    except http.client.IncompleteRead:
        raise Refused("breaks off") from None
    except TimeoutError:
        raise Refused("came too slowly") from None
    except (OSError, http.client.HTTPException, ValueError) as problem:
        raise Refused(f"no response: {problem or type(problem).__name__}") from None
    if reach.proof and reach.proof not in answer.fields:
        raise Refused("what responds does not take the visitor for a stranger: it is no httpd with "
                      "mod_elastic, or a proxy is in front. Name the place where httpd itself "
                      "responds with --origin, such as --origin http://127.0.0.1:8080")
    return answer._replace(fields=tuple(one for one in answer.fields if one != reach.proof))


def redirect_of(url, answer):
    """The target of a redirect on the same host; None: no redirect. Refused: another host."""
    places = answer.values("location")
    if answer.status not in REDIRECTS or not places:
        return None
    try:
        found = urllib.parse.urljoin(url, places[0]).partition("#")[0]
        new = origin(found)
    except (ValueError, Refused):
        raise Refused("leads to what is no URL") from None
    old = origin(url)
    if new != old and (old[0], new[0], new[1:]) != ("http", "https", (old[1], 443)):
        raise Refused(f"leads to another site, {found}")
    return found
