"""Encoded request bodies beside a module that reads them before the handler: mod_security2 does in
fixups, inspects them, and hands them out by an input filter of its own."""

import pytest

from kit import bodies, inflate
from kit.inflate import encode, is_body, post, post_chunks, read

BODY = bodies.text(70_000)
SENT = encode(BODY, "gzip")
ATTACK = BODY + b"<attack>"

INSPECT = ('SecRuleEngine On\nSecRequestBodyAccess On\n'
           'SecAction "id:2,phase:1,pass,nolog,ctl:forceRequestBodyVariable=On"\n'
           'SecRule REQUEST_BODY "<attack>" "id:1,phase:2,deny,status:403"\n')
# How the script is reached.
LEADS = {
    "read/echo.cgi": "", "read/": "DirectoryIndex echo.cgi",
    "read/nothing": "RewriteEngine On\nRewriteRule nothing echo.cgi",
    "read/elsewhere": "FallbackResource /read/echo.cgi", "origin/echo": ""}


@pytest.fixture(scope="module")
def inspected(httpd_shared, origin):
    """inspected(way, lines): a server that inspects bodies."""
    origin.route("/echo", inflate.echo)

    def make(way, lines=INSPECT):
        return httpd_shared(
            f"{lines}<Directory {{docs}}>\n"
            "AllowOverride All\n</Directory>\n"
            f"<Location />\n{way}\n</Location>\nProxyPass /origin/ {origin.url}/\n",
            modules=["unique_id", "security2", "rewrite", "proxy", "proxy_http"],
            records=("elastic", "deflate"), files={"read/.htaccess": ""},
            cgi={"read/echo.cgi": inflate.ECHO}, allow_log=["ModSecurity: "])

    return make


@pytest.fixture(scope="module")
def decoded(inspected):
    return inspected(inflate.WAYS["elastic"])


def each_way(server, path, body, coding, sent):
    yield post(server, path, sent, coding)
    yield post_chunks(server, path, bodies.pieces(sent, (7, 9000)), coding)


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("coding", inflate.CODINGS)
def test_the_decoded_body_is_inspected_and_read(decoded, lead, coding):
    decoded.write("read/.htaccess", LEADS[lead])
    for codings, sent in ((coding, encode(BODY, coding)),
                          (f"{coding}, gzip", encode(BODY, coding, "gzip"))):
        for answer in each_way(decoded, f"/{lead}", BODY, codings, sent):
            found = read(answer)
            is_body(found, BODY)
            assert (found["coding"], found["length"]) == (None, str(len(BODY)))
    for answer in each_way(decoded, f"/{lead}", ATTACK, coding, encode(ATTACK, coding)):
        assert answer.status == 403
    is_body(read(post(decoded, f"/{lead}", BODY, None)), BODY)


@pytest.mark.parametrize("sent", [SENT[:5000], SENT[:-1], b"x" * 9000, SENT[:9000] + b"x" * 9000],
                         ids=["cut", "short", "other", "broken"])
def test_a_damaged_body_reaches_nobody(decoded, sent):
    for answer in each_way(decoded, "/read/echo.cgi", None, "gzip", sent):
        assert answer.status == 400 and b"digest" not in answer.body


@pytest.mark.parametrize("engine", ["DetectionOnly", "On"])
def test_a_body_beyond_a_limit_is_refused_as_without_inspection(inspected, engine):
    server = inspected("ElasticInflate On\nLimitRequestBody 60000",
                       f"SecRuleEngine {engine}\nSecRequestBodyAccess On\n")
    for path in ("/read/echo.cgi", "/origin/echo"):
        for answer in each_way(server, path, BODY, "gzip", SENT):
            assert answer.status == 413


def test_the_resource_that_answers_decides(httpd, origin):
    """Not the URL that led to it."""
    server = httpd(
        "DirectoryIndex echo.cgi\n<Directory {docs}>\nElasticInflate On\nAllowOverride All\n"
        "</Directory>\n<Files echo.cgi>\nElasticInflate Off\n</Files>\n"
        "<Directory {docs}/less>\nFallbackResource /less/read.cgi\n</Directory>\n"
        "<Files read.cgi>\nLimitRequestBody 60000\n</Files>\n",
        modules=["rewrite"], files={"refused/.htaccess": "RewriteEngine On\nRewriteRule ^ - [F]"},
        cgi={"raw/echo.cgi": inflate.ECHO, "less/read.cgi": inflate.ECHO})
    assert read(post(server, "/raw/", SENT))["coding"] == "gzip"
    assert post(server, "/less/any", SENT).status == 413
    is_body(read(post(server, "/less/any", encode(BODY[:50_000], "gzip"))), BODY[:50_000])
    with server.connect() as connection:  # What was refused before is not decoded any more.
        for path, status in (("/refused/a", 403), ("/less/read.cgi", 200)):
            sent = b"damaged" if status == 403 else encode(b"x", "gzip")
            answer = connection.request(path, "POST", headers={"Content-Encoding": "gzip"},
                                        body=sent)
            assert answer.status == status


def test_a_body_that_a_rule_has_changed_has_its_length(inspected):
    server = inspected("ElasticInflate On", INSPECT + "SecStreamInBodyInspection On\n"
                       'SecRule STREAM_INPUT_BODY "@rsub s/two/twenty/" "id:3,phase:2,pass"\n')
    body = b"one two three " * 1000
    for path in ("/read/echo.cgi", "/origin/echo"):
        plain = read(post(server, path, body, None))
        assert plain["size"] != len(body)
        for answer in each_way(server, path, body, "gzip", encode(body, "gzip")):
            assert read(answer) == plain


def test_the_inspectors_limit_is_that_of_the_decoded_body(inspected):
    server = inspected("ElasticInflate On", "SecRuleEngine On\nSecRequestBodyAccess On\n"
                       "SecRequestBodyLimit 30000\nSecRequestBodyNoFilesLimit 30000\n")
    for path in ("/read/echo.cgi", "/origin/echo"):
        for answer in each_way(server, path, BODY, "gzip", SENT):
            assert answer.status == 413 and len(SENT) < 30_000


@pytest.mark.parametrize("engine", ["DetectionOnly", "On"])
def test_the_part_that_is_not_inspected_is_decoded_too(inspected, engine):
    server = inspected("ElasticInflate On", f"SecRuleEngine {engine}\nSecRequestBodyAccess On\n"
                       "SecRequestBodyLimit 20000\nSecRequestBodyNoFilesLimit 20000\n"
                       "SecRequestBodyInMemoryLimit 200000\n"
                       "SecRequestBodyLimitAction ProcessPartial\n")
    for path in ("/read/echo.cgi", "/origin/echo"):
        for answer in each_way(server, path, BODY, "gzip", SENT):
            is_body(read(answer), BODY)


def test_the_drop_in_leaves_it_encoded_as_mod_deflate_does(inspected):
    """Its filter comes too late. The header says what the body is."""
    server = inspected(inflate.WAYS["deflate"])
    for path in ("/read/echo.cgi", "/origin/echo"):
        for answer in each_way(server, path, BODY, "gzip", SENT):
            found = read(answer)
            assert (found["size"], found["coding"]) == (len(SENT), "gzip"), found
