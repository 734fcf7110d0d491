"""Encoded request bodies, and a site of readers for them.

    site = inflate.site(httpd_shared, origin, tmp_path_factory.mktemp("reader"))
    answer = post(site, "/elastic/echo.cgi", encode(BODY, "gzip", "br"), "gzip, br")
    answer = post_chunks(site, "/elastic/origin/echo", [encode(BODY, "gzip")])
    is_body(read(answer), BODY)
    connection.send(head("/elastic/x", Content_Encoding="gzip", Content_Length=len(sent)) + sent)
"""

import functools
import gzip
import hashlib
import json

import brotli
import zstandard

from . import bodies, env, handlers
from .origin import framed
from .process import Listener

# The codings that are decoded, as in Accept-Encoding of a 415.
CODINGS = ("gzip", "br", *["zstd"] * env.HAS_ZSTD)
KNOWN = ", ".join(CODINGS)

# The ways to enable the decoder, each below a place of that name.
WAYS = {"elastic": "ElasticInflate On", "deflate": "SetInputFilter DEFLATE"}
PLACES = "".join(f"<Location ~ /{name}/>\n{line}\n</Location>\n" for name, line in WAYS.items())

_ENCODERS = {
    # Large ones are made in less time.
    "gzip": lambda data: gzip.compress(data, 6 if len(data) < 1 << 20 else 1, mtime=0),
    "br": lambda data: brotli.compress(data, quality=3),
    "zstd": zstandard.ZstdCompressor(level=3, write_checksum=True).compress,
}


@functools.lru_cache(maxsize=32)
def encode(data, *codings):
    for coding in codings:
        data = _ENCODERS[coding.removeprefix("x-")](data)
    return data


def post(server, path, body, coding="gzip", headers=None, method="POST", **kw):
    fields = {**(headers or {}), **({"Content-Encoding": coding} if coding else {})}
    return server.get(path, headers=fields, method=method, body=body, **kw)


def head(path, **fields):
    """The bytes of a POST's header; underscores in names stand for hyphens."""
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    return f"POST {path} HTTP/1.1\r\nHost: x\r\n{lines}\r\n".encode()


def post_chunks(server, path, pieces, coding="gzip"):
    with server.connect() as connection:
        connection.send(head(path, Transfer_Encoding="chunked", Content_Encoding=coding)
                        + framed(pieces))
        return connection.read_response()


# --- the site: /[limit/]way/reader, whose answer is the reader's report

ECHO = """\
import hashlib, json
body = sys.stdin.buffer.read()
head('Content-Type: application/json')
out(json.dumps({'size': len(body), 'digest': hashlib.md5(body).hexdigest(),
                'coding': os.environ.get('HTTP_CONTENT_ENCODING'),
                'length': os.environ.get('CONTENT_LENGTH'),
                'md5': os.environ.get('HTTP_CONTENT_MD5'),
                'redirect': os.environ.get('REDIRECT_STATUS')}))
"""
PAGE = """<?php
$body = file_get_contents('php://input');
echo json_encode(['size' => strlen($body), 'digest' => md5($body), 'md5' => null,
                  'length' => @$_SERVER['CONTENT_LENGTH'],
                  'coding' => @$_SERVER['HTTP_CONTENT_ENCODING']]);
"""


def found(body, coding, length, md5=None):
    """A reader's report on a body and its header."""
    return json.dumps({"size": len(body), "digest": hashlib.md5(body).hexdigest(),
                       "coding": coding, "length": length, "md5": md5}).encode()


def echo(exchange):
    fields = exchange.headers
    exchange.respond(200, {}, found(exchange.body, fields.get("content-encoding"),
                                     fields.get("content-length"), fields.get("content-md5")))


def _scgi(sock):
    with sock.makefile("rb") as file:
        size = b""
        while not size.endswith(b":"):
            size += file.read(1)
        fields = file.read(int(size[:-1]) + 1)[:-1].decode().split("\0")
        names = dict(zip(fields[::2], fields[1::2]))
        length = names["CONTENT_LENGTH"]
        answer = found(file.read(int(length)), names.get("HTTP_CONTENT_ENCODING"), length)
    sock.sendall(b"Status: 200\r\nContent-Type: text/plain\r\n\r\n" + answer)


def read(answer, status=200):
    """The reader's report; the answer itself must not be encoded."""
    assert (answer.status, answer.coding) == (status, None), answer
    return json.loads(answer.body)


def is_body(found, body, coding=None):
    assert (found["size"], found["digest"]) == (len(body), hashlib.md5(body).hexdigest()), found
    assert found["coding"] == coding and found["md5"] is None, found


def refused(answer, status):
    assert (answer.status, answer.coding) == (status, None), answer


# The directives for paths that match.
_LINES = {
    **{f"/{name}/": line for name, line in WAYS.items()},
    "/twice/": "SetInputFilter DEFLATE;DEFLATE",
    "/both/": "ElasticInflate On\nSetInputFilter DEFLATE",
    "/dav/": "Dav On", "/denied$": "Require all denied", "^/[a-z]+/act$": "SetHandler echo-it",
    "/reflect$": "SetHandler reflector", "/reader$": "SetHandler reader",
    "[.]php$": 'SetHandler "proxy:unix:{root}/run/fpm.sock|fcgi://localhost"',
}


def site(make, origin, folder, limits):
    """`limits`: {name: directives}; the module of kit.handlers is built in `folder`. The PHP page
    needs Fpm(site.root)."""
    scgi = f"//127.0.0.1:{Listener(_scgi).port}"
    config = handlers.load(folder) + ("DavLockDB {root}/run/dav\nAction echo-it /echo.cgi virtual\n"
                                    "SetEnvIf Request_URI /sendcl/ proxy-sendcl\n"
                                    "SetEnvIf Request_URI /force10/ force-proxy-request-1.0\n")
    for at in ("", *(f"/{name}" for name in limits)):
        for way in (*WAYS, "twice", "both", "plain"):
            config += "".join(f"ProxyPass {at}/{way}/{name}/ {origin.url}/\n"
                              for name in ("origin", "sendcl", "force10"))
            config += (f"ProxyPass {at}/{way}/scgi/ scgi:{scgi}/\n"
                       f"Alias {at}/{way}/dav/ {{root}}/dav/\nAlias {at}/{way}/ {{docs}}/\n")
    for path, lines in {**_LINES, "/handler$": f"SetHandler proxy:SCGI:{scgi}",
                        **{f"^/{name}/": lines for name, lines in limits.items()}}.items():
        config += f"<LocationMatch {path}>\n{lines}\n</LocationMatch>\n"
    server = make(config, modules=["dav", "dav_fs", "proxy", "proxy_http", "proxy_scgi",
                                   "proxy_fcgi", "actions", "reflector"],
                  records=("elastic", "deflate"), tls=True, h2=True, cgi={"echo.cgi": ECHO},
                  files={"a.txt": bodies.text(70000), "page.php": PAGE},
                  allow_log=("AH0", "cgid?:", r"\[dav:error\].*\[413, #0\]"))
    server.folder("dav", "run")
    origin.route("/echo", echo)
    return server
