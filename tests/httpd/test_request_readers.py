"""Encoded request bodies that are decoded here, as real modules and programs read them, each beside
the stock module's filter. The manual has the same table (inflate.md)."""

import hashlib
import os
import re
import shutil
import struct
from typing import NamedTuple

import pytest

from kit import bodies, env, inflate
from kit.fpm import Fpm
from kit.inflate import encode, is_body, post, post_chunks, read
from kit.process import Listener, exactly

BODY = bodies.text(70000)
SENT = encode(BODY, "gzip")

WSGI = """\
import hashlib, json
def application(environ, start):
    body = environ['wsgi.input'].read()
    start('200 OK', [('Content-Type', 'text/plain')])
    return [json.dumps({'size': len(body), 'digest': hashlib.md5(body).hexdigest(), 'md5': None,
                        'length': environ.get('CONTENT_LENGTH') or None,
                        'coding': environ.get('HTTP_CONTENT_ENCODING')}).encode()]
"""
PERL = """\
<Perl>
package Reader;
use Apache2::RequestRec (); use Apache2::RequestIO (); use APR::Table (); use Digest::MD5 ();
sub handler {
    my $r = shift; my ($body, $piece) = ('', '');
    $body .= $piece while $r->read($piece, 8192);
    my @named = map { my $v = $r->headers_in->get($_); defined $v ? qq("$v") : 'null' }
        ('Content-Length', 'Content-Encoding');
    $r->content_type('text/plain');
    $r->print(sprintf('{"size": %d, "digest": "%s", "md5": null, "length": %s, "coding": %s}',
                      length($body), Digest::MD5::md5_hex($body), @named));
    return 0;
}
</Perl>
"""
# Runs as a CGI program, which needs to know that httpd has started it.
PHP_CGI = "#!/bin/sh\nexport REDIRECT_STATUS=200 SCRIPT_FILENAME={docs}/page.php\nexec php-cgi -n\n"


def _uwsgi(sock):
    """Reads as many bytes as announced."""
    def value(name):
        """Of a variable; its length comes before it."""
        _, found, rest = data.partition(name)
        return rest[2:2 + rest[0]].decode() or None if found else None

    data = exactly(sock, struct.unpack("<xHx", exactly(sock, 4))[0])
    length = value(b"CONTENT_LENGTH")
    body = exactly(sock, int(length or 0))
    answer = inflate.found(body, value(b"HTTP_CONTENT_ENCODING"), length)
    sock.sendall(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s"
                 % (len(answer), answer))


def _ajp(sock):
    """One request of AJP 1.3, answered like Tomcat."""
    def receive():
        return exactly(sock, struct.unpack(">2xH", exactly(sock, 4))[0])

    def send(data):
        sock.sendall(b"AB" + struct.pack(">H", len(data)) + data)

    def value(name):
        """Of a field; a text has its length before it, and a zero behind."""
        found = re.search(name + rb"\0.([^\0]*)\0", request, re.DOTALL | re.IGNORECASE)
        return found and found[1].decode()

    request = receive()
    length = value(rb"\xa0\x08")
    body, piece = b"", b"..."
    # The first piece of a body with a length comes without a request for it.
    while len(piece) > 2 and (length is None or len(body) < int(length)):
        if body or length is None:
            send(b"\x06\x1f\xfa")
        piece = receive()
        body += piece[2:]
    answer = inflate.found(body, value(rb"content-encoding\0"), length)
    send(b"\x04" + struct.pack(">H", 200) + b"\0\2OK\0" + struct.pack(">H", 0))
    send(b"\x03" + struct.pack(">H", len(answer)) + answer + b"\0")
    send(b"\x05\1")


class Reader(NamedTuple):
    path: str
    decoded: bool = True
    chunks: object = "all"  # its part of a body that came in chunks
    stock: object = "all"  # its part with the stock filter

    # "all" of the body, "none" of it, or the answer's status. None: as many bytes as were sent, or
    # nothing, or the answer breaks off.


READERS = {
    "mod_cgid": Reader("echo.cgi"),
    "php-cgi": Reader("php.cgi", chunks=None, stock=None),
    "mod_fcgid": Reader("fcgid/page.php"),
    "mod_wsgi": Reader("app.wsgi", chunks=411),
    "mod_perl": Reader("perl"),
    "php-fpm": Reader("fpm/page.php", stock="none"),
    "mod_uwsgi": Reader("uwsgi", chunks=411, stock=None),
    "mod_proxy_http": Reader("http/echo"),
    "mod_proxy_balancer": Reader("balanced/echo"),
    "php-fpm behind a balancer": Reader("pool/page.php", stock="none"),
    "mod_proxy_uwsgi": Reader("proxied-uwsgi/x", decoded=False, chunks=411, stock=None),
    "mod_proxy_ajp": Reader("ajp/x", stock=None),
}
MODULES = ["slotmem_shm", "proxy", "proxy_balancer", "lbmethod_byrequests", "proxy_http", "proxy_fcgi", "proxy_uwsgi", "proxy_ajp", "fcgid", "wsgi", "perl"]
# Not installed, because mod_ruwsgi excludes it.
MOD_UWSGI = env.DEBIAN / "usr/lib/apache2/modules/mod_uwsgi.so"


def start(make, origin, ways, **kw):
    uwsgi, ajp = Listener(_uwsgi).port, Listener(_ajp).port
    lines = [PERL, "AddHandler wsgi-script .wsgi\nWSGIDestroyInterpreter Off", "FcgidIPCDir {root}/run\n"
             "FcgidProcessTableFile {root}/run/fcgid\nFcgidMaxRequestLen 1000000"]
    for name, url in (("one", origin.url),
                      ("fpm", "unix:{root}/run/fpm.sock|fcgi://balanced{docs}")):
        lines.append(f"<Proxy balancer://{name}>\nBalancerMember {url}\n</Proxy>")
    if MOD_UWSGI.exists():
        lines += [f"LoadModule uwsgi_module {MOD_UWSGI}", f"uWSGIsocket 127.0.0.1:{uwsgi}"]
    for way, line in ways.items():
        lines += [f"Alias /{way}/fcgid {{docs}}", f"Alias /{way}/fpm {{docs}}",
                  *(f"ProxyPass /{way}/{name}/ {url}/ disablereuse=on" for name, url in (
                      ("http", origin.url), ("proxied-uwsgi", f"uwsgi://127.0.0.1:{uwsgi}"),
                      ("ajp", f"ajp://127.0.0.1:{ajp}"))),
                  f"ProxyPass /{way}/balanced/ balancer://one/",
                  f"ProxyPass /{way}/pool/ balancer://fpm/",
                  f"<Location /{way}/perl>\nSetHandler modperl\nPerlResponseHandler Reader\n"
                  "</Location>",
                  f"<Location /{way}/uwsgi>\nSetHandler uwsgi-handler\n</Location>",
                  f"Alias /{way}/ {{docs}}/", f"<Location /{way}/>\n{line}\n</Location>",
                  f"<Location /{way}/fcgid/>\nSetHandler fcgid-script\n"
                  f"FcgidWrapper {shutil.which('php-cgi')} virtual\nOptions +ExecCGI\n</Location>",
                  f"<LocationMatch ^/{way}/fpm/>\n"
                  'SetHandler "proxy:unix:{root}/run/fpm.sock|fcgi://localhost"\n</LocationMatch>']
    server = make("\n".join(lines), modules=[*MODULES, *kw.pop("more", [])], start=False,
                  environ={"TMPDIR": "{root}/run"},
                  cgi={"echo.cgi": inflate.ECHO},
                  files={"page.php": inflate.PAGE, "app.wsgi": WSGI},
                  allow_log=("AH0", r"\[wsgi", "mod_perl"), **kw)
    script = server.write("php.cgi", PHP_CGI.replace("{docs}", str(server.docs)))
    os.chmod(script, 0o755)
    (server.root / "run").chmod(0o777)
    origin.route("/echo", inflate.echo)
    return server


def running(server):
    fpm = Fpm(server.root)
    server.start()
    yield server
    fpm.stop()


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    yield from running(start(httpd_shared, origin, inflate.WAYS, records=("elastic", "deflate")))


@pytest.fixture(scope="module")
def stock(httpd_shared, origin):
    yield from running(start(httpd_shared, origin, {"deflate": inflate.WAYS["deflate"]},
                             elastic=False, more=["deflate"]))


# mod_uwsgi is Debian's, and available if its packages are unpacked.
EACH = pytest.mark.parametrize("name", [
    pytest.param(name, marks=[pytest.mark.debian, pytest.mark.package("libapache2-mod-uwsgi")]
                 if name == "mod_uwsgi" else []) for name in READERS
    if name != "mod_uwsgi" or MOD_UWSGI.exists() or env.DEBIAN.parts != ("/",)])


def check(answer, expected):
    if isinstance(expected, int):
        assert answer.status == expected, answer
    else:
        found = read(answer)
        size, body = (found["size"], found["digest"]), BODY if expected == "all" else b""
        assert size == (len(body), hashlib.md5(body).hexdigest()), found


@EACH
@pytest.mark.parametrize("way", inflate.WAYS)
def test_a_reader_gets_all_of_a_body_and_its_length(server, way, name):
    reader = READERS[name]
    path = f"/{way}/{reader.path}"
    expected, coding = (BODY, None) if reader.decoded else (SENT, "gzip")
    found = read(post(server, path, SENT))
    is_body(found, expected, coding)
    assert found["length"] == str(len(expected)), found
    plain = read(post(server, path, BODY, None))
    is_body(plain, BODY)
    assert plain["length"] == str(len(BODY))


@EACH
def test_a_body_in_chunks_stays_in_chunks(server, name):
    """The reader treats it like chunks from a client."""
    reader = READERS[name]
    for way in inflate.WAYS if reader.chunks else ():
        check(post_chunks(server, f"/{way}/{reader.path}", [SENT]), reader.chunks)


@EACH
def test_what_the_stock_module_leaves(stock, name):
    """The stock filter removes the encoded body's length after the reader has seen it."""
    reader = READERS[name]
    if reader.stock:
        check(post(stock, f"/deflate/{reader.path}", SENT), reader.stock)


@pytest.mark.parametrize("name", ["mod_wsgi"])
def test_readers_that_refuse_chunks_get_what_is_not_held_in_memory(server, name):
    """The body is kept in a file, which is deleted."""
    body = bodies.text(3_000_000)
    for way in inflate.WAYS:
        found = read(post(server, f"/{way}/{READERS[name].path}", encode(body, "gzip")))
        is_body(found, body)
    assert not list(server.root.glob("run/elastic.*"))
