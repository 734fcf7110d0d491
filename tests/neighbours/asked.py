"""What is asked of a server, what its answers say, and how those of two servers differ.

    mine, other = Sample(server), Sample(stock)
    mine.take(asks), other.take(asks)
    for text in differences(mine, other, decodes): ...

Each request is asked twice of each server: what differs between two answers of the stock modules is
no difference between the modules.
"""

import email.utils
import gzip
import random
import re
import statistics
import time
from typing import NamedTuple

from kit import bodies, client, decode

PAGE, SMALL = bodies.html(30_000), b"<p>A small page.</p>" * 10
PICTURE = bytes(range(256)) * 30
TEXT = b"A line of plain text, which is sent.\n" * 600

_NOW = "time.strftime('%a, %d %b %Y %H:%M:%S GMT', time.gmtime(1e9))"
FILES = {"page.html": PAGE, "small.html": SMALL, "picture.png": PICTURE, "folder/index.html": PAGE,
         "text.txt": TEXT}
CGI = {
    "script.cgi": "head('Content-Type: text/html', 'X-Script: yes', 'Set-Cookie: a=b',\n"
                  f"     'Last-Modified: ' + {_NOW})\nout('<p>A line of the script.\\n' * 900)\n",
    "pieces.cgi": "head('Content-Type: text/html')\n"
                  "for n in range(20):\n    out(f'<p>Piece {n}.\\n' * 100)\n",
    "echo.cgi": "body = sys.stdin.buffer.read()\n"
                "head('Content-Type: text/plain', f'X-Length: {len(body)}')\nout(body)\n",
    "gone.cgi": "head('Status: 404 Not Found', 'Content-Type: text/html')\n"
                "out('<p>There is nothing.\\n' * 200)\n",
}


class Ask(NamedTuple):
    name: str
    path: str
    method: str = "GET"
    ae: str = "gzip"
    headers: tuple = ()
    body: bytes = b""
    protocol: str = "http/1.1"
    conditional: bool = False  # it sends the tag and the date of the answer without them
    loose: bool = False  # its body tells the time, or of files


ASKS = (
    Ask("static, large", "/page.html"),
    Ask("static, small", "/small.html"),
    Ask("static, no coding accepted", "/page.html", ae=None),
    Ask("picture", "/picture.png"),
    Ask("index", "/folder/"),
    Ask("script", "/script.cgi?q=1"),
    Ask("script in pieces", "/pieces.cgi"),
    Ask("script's 404", "/gone.cgi"),
    Ask("proxied", "/proxy/page"),
    Ask("proxied, chunked", "/proxy/chunked"),
    Ask("HEAD", "/page.html", "HEAD"),
    Ask("HEAD of a script", "/script.cgi", "HEAD"),
    Ask("range", "/page.html", ae=None, headers=(("Range", "bytes=100-299"),)),
    Ask("range, gzip accepted", "/page.html", headers=(("Range", "bytes=100-299"),)),
    Ask("304", "/page.html", ae=None, conditional=True),
    Ask("304, gzip accepted", "/page.html", conditional=True),
    Ask("404", "/nothing.html"),
    Ask("POST", "/echo.cgi", "POST", headers=(("Content-Type", "text/plain"),), body=TEXT),
    Ask("POST, proxied", "/proxy/echo", "POST", headers=(("Content-Type", "text/plain"),),
        body=TEXT),
    Ask("OPTIONS", "/page.html", "OPTIONS"),
    # Where `Elastic On` decodes request bodies.
    *(Ask(f"POST, compressed{name}", f"/decoded{path}", "POST", body=gzip.compress(TEXT, mtime=0),
          headers=(("Content-Type", "text/plain"), ("Content-Encoding", "gzip")))
      for name, path in (("", "/echo.cgi"), (", proxied", "/proxy/echo"))),
)
# Where the module's own directives are in force.
PLACE = tuple(ask._replace(name=f"{ask.name}, in its place", path="/m" + ask.path) for ask in ASKS
              if ask.name in ("static, large", "static, small", "static, no coding accepted",
                              "script", "proxied", "HEAD", "304", "404", "POST"))
AGAIN = ("static, large", "script", "proxied", "POST", "static, large, in its place")


def routes(origin):
    head = {"Content-Type": "text/html", "Last-Modified": "Fri, 14 Jul 2017 02:40:00 GMT",
            "ETag": '"origin"', "X-Origin": "yes"}
    origin.route("/page", lambda exchange: exchange.respond(200, head, PAGE))
    origin.route("/chunked", lambda exchange: exchange.chunked(
        200, {"Content-Type": "text/html"}, [PAGE[at:at + 4000] for at in range(0, 30_000, 4000)]))
    origin.route("/echo", lambda exchange: exchange.respond(
        200, {"X-Length": len(exchange.body)}, exchange.body))


class Answer(NamedTuple):
    status: object  # a number; a text where there was no answer
    coding: str = None
    body: bytes = b""
    fields: dict = {}
    tag: str = None
    seconds: float = 0.0


# What interface.md says about them is compared by rules of its own, or follows from the time.
_APART = {"content-length", "transfer-encoding", "content-encoding", "etag", "vary", "date", "age",
          "expires", "accept-ranges", "keep-alive"}


class Sample:
    def __init__(self, server):
        self.server = server
        self.answers = {}  # {ask: [answer, ...]}
        self._silent = 0

    def take(self, asks, times=2):
        for ask in asks:
            self.answers.setdefault(ask, []).extend(self._ask_once(ask) for _ in range(times))

    def _ask_once(self, ask):
        """A server that answers nothing any more is not waited for again and again."""
        if self._silent >= 3:
            return Answer("not asked")
        begun = time.monotonic()
        answer = self.ask(ask)
        if isinstance(answer.status, str) and time.monotonic() - begun > 1:
            self._silent += 1
        return answer

    def ask(self, ask):
        headers = list(ask.headers)
        try:
            if ask.conditional:
                first = self._get(ask, headers)
                names = (("ETag", "If-None-Match"), ("Last-Modified", "If-Modified-Since"))
                headers += [(to, first.headers[name]) for name, to in names
                            if name in first.headers]
            begun = time.monotonic()
            answer = self._get(ask, headers)
            return self._facts(ask, answer, time.monotonic() - begun)
        except (OSError, ValueError, client.Incomplete, decode.DecodeError) as error:
            return Answer(type(error).__name__)

    def _get(self, ask, headers):
        answer = self.server.get(ask.path, ask.ae, headers, ask.method, ask.body, ask.protocol,
                                 timeout=10)
        if not answer.complete:
            raise client.Incomplete
        return answer

    def _facts(self, ask, answer, seconds):
        fields = {}
        for name, value in answer.headers.fields:
            if name == "Allow":  # httpd lists them from a table of hashes
                value = ",".join(sorted(value.split(",")))
            fields.setdefault(name.lower(), []).append(self._plain(value.encode("latin-1")))
        body = answer.raw
        if ask.method != "HEAD" and answer.status != 304 and answer.coding in ("gzip", "br"):
            body = answer.body
        return Answer(answer.status, answer.coding, self._plain(body), fields,
                      answer.headers.get("ETag"), seconds)

    def _plain(self, data):
        """Without what each server has of its own."""
        for number in filter(None, (self.server.port, self.server.tls_port)):
            data = data.replace(b":%d" % number, b":PORT").replace(b"%%3a%d" % number, b":PORT")
        return data.replace(str(self.server.root).encode(), b"ROOT")


def _strong(tag):
    return tag and re.sub(r'-(gzip|br|zstd)"$', '"', tag.removeprefix("W/"))


def _members(answer, name):
    return {part.strip().lower() for value in answer.fields.get(name, ())
            for part in value.decode("latin-1").split(",") if part.strip()}


def _same(values):
    return all(value == values[0] for value in values)


def _codings(ask, mine, stock):
    """A small answer may go out as it is, HEAD may say what GET does or nothing, and mod_filter, by
    which stock compresses, leaves other statuses than 200 alone."""
    if mine.coding == stock.coding or ask.method == "HEAD":
        return
    if stock.coding == "gzip" and mine.coding is None and len(mine.body) < 1500:
        return
    if mine.coding == "gzip" and stock.coding is None and mine.status != 200:
        return
    yield f"coding {mine.coding}, stock {stock.coding}"


def _fields(mine, stock):
    names = {name for answer in (*mine, *stock) for name in answer.fields} - _APART
    if ("expires" in mine[0].fields) != ("expires" in stock[0].fields):
        yield f"expires: {_shown(mine[0].fields.get('expires'))}"
    for name in sorted(names):
        theirs = [answer.fields.get(name) for answer in stock]
        ours = [answer.fields.get(name) for answer in mine]
        if None in ours and None not in theirs:
            yield f"{name}: none, stock {_shown(theirs[0])}"
        elif _same(theirs) and not _agree(ours[0], theirs[0]):
            yield f"{name}: {_shown(ours[0])}, stock {_shown(theirs[0])}"
    lost = _members(stock[0], "vary") - _members(mine[0], "vary")
    more = _members(mine[0], "vary") - _members(stock[0], "vary") - {"accept-encoding"}
    if lost or more:
        yield f"vary: {_members(mine[0], 'vary')}, stock {_members(stock[0], 'vary')}"
    tags = [_strong(answer.tag) for answer in stock]
    if mine[0].status != 304 and _same(tags) and _strong(mine[0].tag) != tags[0]:
        yield f"etag {mine[0].tag}, stock {stock[0].tag}"


def _agree(mine, stock):
    if mine and stock and [value[-4:] for value in mine + stock] == [b" GMT"] * 2:
        times = [email.utils.parsedate_to_datetime(value.decode()).timestamp()
                 for value in mine + stock]
        return abs(times[0] - times[1]) < 60
    return mine == stock


def _shown(values):
    return " | ".join(value.decode("latin-1")[:60] for value in values) if values else "none"


def _differ(ask, mine, stock, part):
    """How our answers to one request differ from those of the stock modules; `part` is the range of
    the page."""
    first, other = mine[0], stock[0]
    if ask.name.startswith("range, gzip"):
        # Stock cuts ranges from encoded bytes; ours are those of the page.
        if first.status != 206 or first.coding or first.body != part:
            if other.status == 206 or first.status != other.status:
                yield f"status {first.status}, coding {first.coding}, {len(first.body)} bytes"
        return
    if ask.name.startswith("304, gzip"):
        # The tag that mod_deflate gives out never yields one.
        if first.status not in (304, other.status):
            yield f"status {first.status}, stock {other.status}"
        return
    if first.status != other.status:
        yield f"status {first.status}, stock {other.status}"
        return
    yield from _codings(ask, first, other)
    yield from _fields(mine, stock)
    if not ask.loose and _same([answer.body for answer in stock]) and first.body != other.body \
            or bool(first.body) != bool(other.body):
        yield f"a body of {len(first.body)} bytes, stock {len(other.body)}"


def differences(mine, stock, decodes):
    """`decodes`: ours decode request bodies in /decoded/; the stock modules get these as sent."""
    parts = [answers[0].body for ask, answers in mine.answers.items() if ask.name == "range"]
    plain = {ask.name: answers[0].body for ask, answers in mine.answers.items()}
    for ask, answers in mine.answers.items():
        uncompressed = plain.get(ask.name.replace(", compressed", ""))
        if decodes and ", compressed" in ask.name:
            if uncompressed not in (None, answers[0].body):
                yield f"{ask.name}: {len(answers[0].body)} bytes, uncompressed {len(uncompressed)}"
            continue
        for text in _differ(ask, answers, stock.answers[ask], (parts or [b""])[0]):
            yield f"{ask.name}: {text}"


# What waits for a time-out, a lock or an acknowledgement takes longer; less is for benchmarks.
LATE, TURNS = 0.02, 60


def lateness(mine, stock):
    """(late, seconds, ask): the most by which our answers come later, and whether that is late. What
    looks late is asked again in turns, whose order is drawn, and three of four must be late: a busy
    machine is no neighbour's fault."""
    order, worst = random.Random(1), (False, 0.0, next(iter(mine.answers)))
    for ask in mine.answers:
        if isinstance(mine.answers[ask][0].status, str):
            continue
        later = [min(answer.seconds for answer in mine.answers[ask])
                 - min(answer.seconds for answer in stock.answers[ask])]
        if later[0] > LATE:
            later = []
            while len(later) < TURNS and (len(later) < 6 or statistics.median(later) > LATE):
                for sample in order.sample((mine, stock), 2):
                    sample.take([ask], 1)
                later.append(mine.answers[ask][-1].seconds - stock.answers[ask][-1].seconds)
        worst = max(worst, (sum(one > LATE for one in later) >= 0.75 * TURNS,
                            statistics.median(later), ask), key=lambda found: found[:2])
    return worst
