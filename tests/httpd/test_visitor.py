"""Elastic-Visitor: a client with the current token is a stranger to every rule, rewrite and
application."""

import contextlib
import fcntl
import hashlib
import os
import secrets
import socket
import time

import pytest

from kit import env
from kit.process import free_port

pytestmark = pytest.mark.rules

FOUR, SIX = "198.51.100.46", "2001:db8:198:51::46"
FIELD = "Elastic-Visitor"
FILE = "elastic.visitor"
ENVIRONMENT = "head('Content-Type: text/plain')\n" \
    "out(''.join(f'{k}={v}\\n' for k, v in sorted(os.environ.items())))\n"


@contextlib.contextmanager
def token_of(server, text="elastic-visitor 1\nsha256 {}\n", mode=0o644, locked=True, age=0,
             owner=None):
    """A token that is valid while the block runs; arguments spoil its file."""
    token = secrets.token_hex(32)
    path = server.root / "run" / FILE
    with open(path, "w") as file:
        file.write(text.format(hashlib.sha256(token.encode()).hexdigest()))
        file.flush()
        os.fchmod(file.fileno(), mode)
        if owner is not None:
            os.fchown(file.fileno(), owner, -1)
        os.utime(path, (time.time() - age,) * 2)
        if locked:
            fcntl.lockf(file, fcntl.LOCK_EX)
        try:
            yield token
        finally:
            path.unlink()


def proof(token):
    return hashlib.sha256(f"taken {token}".encode()).hexdigest()


# Access for this machine only: a rule for each way to check the client's address.
RULES = {
    "local": "Require local",
    "ip": "Require ip 127.0.0.0/8 ::1",
    "host": "Require host localhost",
    "forward-dns": "Require forward-dns localhost",
    "any": "<RequireAny>\nRequire local\nRequire ip 10.0.0.0/8\n</RequireAny>",
    "none": f"<RequireAll>\nRequire all granted\nRequire not ip {FOUR} {SIX}\n</RequireAll>",
    "expr": "Require expr %{REMOTE_ADDR} == '127.0.0.1' || %{REMOTE_ADDR} == '::1'",
    "conn": "Require expr %{CONN_REMOTE_ADDR} in {'127.0.0.1', '::1'}",
    "subnet": "Require expr -R '127.0.0.0/8' || -R '::1/128'",
    "allow": "Order deny,allow\nDeny from all\nAllow from 127.0.0.1 ::1",
    "env": "Require env insider",
    "if": "<If \"!(-R '127.0.0.0/8') && !(-R '::1')\">\nRequire all denied\n</If>",
    "rewrite": "RewriteEngine On\nRewriteCond %{REMOTE_ADDR} !^(127\\.|::1$)\nRewriteRule ^ - [F]",
    "rewrite-conn": "RewriteEngine On\nRewriteCond %{CONN_REMOTE_ADDR} !^(127\\.|::1$)\n"
                    "RewriteRule ^ - [F]",
    "rewrite-expr": "RewriteEngine On\nRewriteCond expr \"! -R '127.0.0.0/8'\"\n"
                    "RewriteCond expr \"! -R '::1'\"\nRewriteRule ^ - [F]",
    "htaccess": "AllowOverride All",
}
HTACCESS = "Require local\n"

CONFIG = """
HostnameLookups On
SetEnvIf Remote_Addr "^(127\\.|::1$)" insider=1
SetEnvIfExpr "-R '127.0.0.0/8' || -R '::1'" inside=1
ErrorDocument 404 /env.cgi
DirectoryIndex env.cgi
ProxyPass /backend {origin}/
RewriteEngine On
RewriteCond %{REMOTE_ADDR} !^(127\\.|::1$)
RewriteRule ^/who$ /stranger.txt [L]
RewriteRule ^/who$ /insider.txt [L]
AddOutputFilter INCLUDES .shtml
<Directory {docs}>
Options +Includes
</Directory>
""" + "".join(f"<Directory {{docs}}/{name}>\n{rule}\n</Directory>\n"
              for name, rule in RULES.items())


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    origin.route("/", lambda exchange: exchange.respond(
        200, {"Content-Type": "text/plain"},
        "".join(f"{name.lower()}={value}\n" for name, value in exchange.headers.items()).encode()))
    return httpd_shared(
        CONFIG.replace("{origin}", origin.url), tls=True, h2=env.possible("h2"), ipv6=True,
        modules=["authz_host", "access_compat", "rewrite", "proxy", "proxy_http", "include"],
        allow_log=["AH01630|AH01753|AH01797|AH01758"],  # denied by the configuration
        cgi={"env.cgi": ENVIRONMENT},
        files={"stranger.txt": "stranger", "insider.txt": "insider",
               "page.shtml": '<!--#include virtual="/env.cgi" -->',
               "htaccess/.htaccess": HTACCESS, **{f"{name}/a.txt": b"secret" for name in RULES}})


@pytest.mark.smoke
@pytest.mark.protocols("http/1.1", "tls", "h2")
@pytest.mark.parametrize("name", RULES)
def test_no_rule_lets_a_visitor_in(server, protocol, name):
    path = f"/{name}/a.txt"
    assert server.get(path, protocol=protocol).raw == b"secret"
    with token_of(server) as token:
        answer = server.get(path, headers={FIELD: token}, protocol=protocol)
        assert answer.status == 403 and answer.headers[FIELD] == proof(token)
        assert server.get(path, protocol=protocol).raw == b"secret"


def seen(answer):
    assert answer.status in (200, 404)
    return dict(line.split("=", 1) for line in answer.body.decode().splitlines() if "=" in line)


@pytest.mark.parametrize("path", ["/env.cgi", "/absent", "/", "/page.shtml"])
@pytest.mark.protocols("http/1.1", "h2")
def test_applications_see_a_stranger(server, path, protocol):
    """Also after an internal redirect, and in a part of a page."""
    found = seen(server.get(path, protocol=protocol))
    assert found["REMOTE_ADDR"] == "127.0.0.1" and found["insider"] == found["inside"] == "1"
    with token_of(server) as token:
        answer = server.get(path, headers={FIELD: token}, protocol=protocol)
    found = seen(answer)
    assert found["REMOTE_ADDR"] == FOUR and answer.headers[FIELD] == proof(token)
    for name in ("REMOTE_HOST", "insider", "inside", "HTTP_ELASTIC_VISITOR"):
        assert name not in found
    assert "REDIRECT_insider" not in found and token not in answer.body.decode()


def test_rewrites_and_backends_see_a_stranger(server):
    with token_of(server) as token:
        for headers, who, address in (({}, b"insider", "127.0.0.1"),
                                      ({FIELD: token}, b"stranger", FOUR)):
            assert server.get("/who", headers=headers).raw == who
            found = seen(server.get("/backend", headers=headers))
            assert found["x-forwarded-for"] == address and FIELD.lower() not in found
        for headers, status, address in (({}, 200, "::1"), ({FIELD: token}, 403, SIX)):
            assert server.get("/local/a.txt", headers=headers, ipv6=True).status == status
            found = seen(server.get("/env.cgi", headers=headers, ipv6=True))
            assert found["REMOTE_ADDR"] == address


def test_the_connection_stays_a_visitors(server):
    with token_of(server) as token, server.connect() as connection:
        assert connection.request("/local/a.txt").raw == b"secret"
        for headers in ({FIELD: token}, {}, {FIELD: "x"}, {FIELD: token}):
            answer = connection.request("/local/a.txt", headers=headers)
            assert answer.status == 403
            assert (FIELD in answer.headers) == (headers.get(FIELD) == token)


def refused(server, headers, why):
    """The request stays ordinary, and no handler sees the token."""
    before = len(server.log.lines(why))
    answer = server.get("/env.cgi", headers=headers)
    found = seen(answer)
    assert found["REMOTE_ADDR"] == "127.0.0.1" and "HTTP_ELASTIC_VISITOR" not in found
    assert FIELD not in answer.headers
    server.wait_for(lambda: len(server.log.lines(why)) > before, 10, why)


@pytest.mark.parametrize("field", ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"])
def test_what_a_proxy_passes_on_is_refused(server, field):
    with token_of(server) as token:
        refused(server, {FIELD: token, field: "192.0.2.1"},
                "Elastic-Visitor is not taken: a proxy has passed the request on")


OTHERS_MAY = "others than who has started httpd may write"


@pytest.mark.parametrize("given,why", [
    ({}, "it is not the token"), ({"locked": False}, "nobody has the file"),
    ({"age": 1000}, "not of the last 15 minutes"), ({"age": -1000}, "not of the last 15 minutes"),
    ({"mode": 0o664}, OTHERS_MAY), ({"mode": 0o646}, OTHERS_MAY),
    pytest.param({"mode": 0o600}, "there is no file", marks=pytest.mark.root),
    pytest.param({"owner": 65534}, OTHERS_MAY, marks=pytest.mark.root),
    ({"text": "elastic-visitor 2\nsha256 {}\n"}, "it is not the token"),
    ({"text": "elastic-visitor 1\nsha256 {:.63}\n"}, "it is not the token"),
    ({"text": "elastic-visitor 1\nsha256 {}0"}, "it is not the token"),
    ({"text": ""}, "not the token")])
def test_a_file_that_is_not_in_order_is_refused(server, given, why):
    with token_of(server, **given) as token:
        refused(server, {FIELD: token if given else token[::-1]}, why)


def test_without_the_file_and_with_words_that_are_no_token(server):
    refused(server, {FIELD: "a" * 64}, "Elastic-Visitor is not taken: there is no file")
    for token in ("", "a" * 31, "a" * 129):
        refused(server, {FIELD: token}, "Elastic-Visitor is not taken: it is no token")
    with token_of(server) as token:  # a link in its place is not followed
        path = server.root / "run" / FILE
        path.symlink_to(path.rename(path.with_suffix(".real")))
        refused(server, {FIELD: token}, "Elastic-Visitor is not taken: there is no file")


def said_to(port, *lines, source="127.0.0.1"):
    """What comes to a request of these lines, from that address."""
    with socket.create_connection(("127.0.0.1", port), 30, (source, 0)) as sock:
        sock.sendall("\r\n".join([*lines, "", ""]).encode())
        return b"".join(iter(lambda: sock.recv(65536), b"")).decode()


def test_each_address_of_loopback_is_this_machine(server):
    """Debian's own name of a machine is at 127.0.1.1."""
    with token_of(server) as token:
        said = said_to(server.port, "GET /env.cgi HTTP/1.0", f"{FIELD}: {token}",
                       source="127.0.1.1")
    assert f"{FIELD}: {proof(token)}" in said and "REMOTE_ADDR=127." not in said


def test_nobody_from_elsewhere_is_a_visitor(server):
    """A connection between two of this machine's addresses stands for one from elsewhere: its ends
    differ."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("203.0.113.1", 9))  # sends nothing; selects the address to use
        except OSError:
            pytest.skip("this machine has no address but loopback")
        own = probe.getsockname()[0]
    with token_of(server) as token:
        said = said_to(server.port, "GET /env.cgi HTTP/1.0", f"{FIELD}: {token}", source=own)
    assert f"REMOTE_ADDR={own}\n" in said and FIELD not in said and "HTTP_ELASTIC" not in said
    assert server.wait_log("Elastic-Visitor is not taken: the connection is not from this machine")


def test_mod_remoteip_makes_no_insider_of_a_visitor(httpd):
    """Neither by a field that it trusts, nor by a proxy's header before the request."""
    port = free_port()
    local = "<Location /local.txt>\nRequire local\n</Location>\n"
    server = httpd(
        f"RemoteIPHeader X-Client\n{local}Listen 127.0.0.1:{port}\n"
        f"<VirtualHost 127.0.0.1:{port}>\nRemoteIPProxyProtocol On\n</VirtualHost>\n",
        modules=["remoteip", "authz_host"], files={"local.txt": "secret"}, allow_log=["AH01630"])
    with token_of(server) as token:
        for headers, status in (({}, 200), ({FIELD: token}, 403)):
            answer = server.get("/local.txt", headers={**headers, "X-Client": "127.0.0.1"})
            assert answer.status == status and (FIELD in answer.headers) == (status == 403)
        for field, status in (("X: x", 200), (f"{FIELD}: {token}", 403)):
            said = said_to(port, "PROXY TCP4 127.0.0.1 127.0.0.1 9 80",
                           "GET /local.txt HTTP/1.0", field)
            assert said.startswith(f"HTTP/1.1 {status} ") and (FIELD in said) == (status == 403)
