"""Precompressed siblings: which file is sent, and with which header."""

import gzip
import os
import socket
import time

import brotli
import pytest

from kit import bodies

BODY = bodies.html(30000)
BR = brotli.compress(BODY, quality=11)
GZ = gzip.compress(BODY, 9, mtime=0)
ZST = b"\x28\xb5\x2f\xfd" + bodies.noise(500)  # nobody decodes it here
OLD = int(time.time()) - 1000

CONFIG = """
Elastic On
ElasticPrecompressed On
DirectoryIndex index.html
AddLanguage en .en
AddLanguage br .br
AddEncoding x-gzip .gz
AddOutputFilter INCLUDES .shtml
AddType text/html .shtml
Substitute "s/server/SERVER/q"
<Location /substitute>
    SetOutputFilter SUBSTITUTE
</Location>
<Directory {docs}>
    Options +Includes
</Directory>
<Directory {docs}/denied>
    <Files "*.br">
        Require all denied
    </Files>
</Directory>
<Directory {docs}/secret>
    <Files "page.html">
        Require all denied
    </Files>
</Directory>
<Directory {docs}/off>
    ElasticPrecompressed Off
</Directory>
<Directory {docs}/alone>
    Elastic Off
</Directory>
<Directory {docs}/nolinks>
    Options -FollowSymLinks
</Directory>
<Directory {docs}/rules>
    AllowOverride FileInfo AuthConfig Limit
</Directory>
"""


def add_set(server, name, *extensions, mtime=OLD):
    """`name` with those siblings; the siblings are as old as the file itself."""
    server.write(name, BODY, OLD)
    for extension in extensions:
        data = {"br": BR, "gz": GZ, "zst": ZST}[extension]
        server.write(f"{name}.{extension}", data, mtime)


@pytest.fixture(scope="module")
def site(httpd_shared):
    server = httpd_shared(CONFIG, modules=["include", "substitute", "filter"], tls=True, h2=True)
    for folder in ("all", "denied", "secret", "off", "alone", "substitute", "rules"):
        add_set(server, f"{folder}/page.html", "br", "gz")
    add_set(server, "three/page.html", "br", "gz", "zst")
    add_set(server, "gz/page.html", "gz")
    add_set(server, "none/page.html")
    add_set(server, "index/index.html", "br", "gz")
    add_set(server, "language/page.en.html", "br", "gz")
    add_set(server, "older/page.html", "br", "gz", mtime=OLD - 1)
    add_set(server, "newer/page.html", "br", "gz", mtime=OLD + 1)
    add_set(server, "folder/page.html")
    (server.docs / "folder/page.html.br").mkdir()
    add_set(server, "fifo/page.html")
    os.mkfifo(server.docs / "fifo/page.html.br", 0o644)
    add_set(server, "nolinks/page.html")
    server.write("elsewhere.br", BR, OLD)
    (server.docs / "nolinks/page.html.br").symlink_to("../elsewhere.br")
    add_set(server, "unreadable/page.html", "br")
    os.chmod(server.docs / "unreadable/page.html.br", 0)
    server.write("rules/.htaccess", "<Files *.br>\nRequire all denied\n</Files>\n")
    server.write("orphan/page.html.br", BR)
    ssi = BODY + b'<!--#echo var="DOCUMENT_NAME" -->'
    server.write("ssi/page.shtml", ssi, OLD)
    server.write("ssi/page.shtml.br", brotli.compress(ssi), OLD)
    server.cgi("cgi/page.cgi", "head('Content-Type: text/html')\nout('made' * 2000)\n")
    server.write("cgi/page.cgi.br", BR)
    return server


def assert_sibling(answer, coding, data):
    assert answer.status == 200
    assert answer.coding == coding and answer.raw == data
    assert answer.varies
    assert answer.headers["Content-Length"] == str(len(data))
    assert answer.headers["Content-Type"].startswith("text/html")


def assert_dynamic(answer, body=BODY):
    """No sibling's bytes: an encoding that was made for the request."""
    assert answer.status == 200
    assert answer.coding in ("gzip", "br") and answer.varies
    assert answer.raw not in (BR, GZ) and answer.body == body


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("coding,data", [("br", BR), ("gzip", GZ)])
def test_the_sibling_is_sent_as_it_is(site, protocol, coding, data):
    answer = site.get("/all/page.html", ae=coding, protocol=protocol)
    assert_sibling(answer, coding, data)
    assert answer.body == BODY


@pytest.mark.parametrize("accept,coding,data", [
    ("br, gzip", "br", BR),
    ("gzip, br", "br", BR),
    ("gzip;q=1, br;q=0.9", "gzip", GZ),
    ("gzip;q=0.2, br;q=0.3", "br", BR),
    ("br;q=0, gzip", "gzip", GZ),
    ("*", "br", BR),
    ("*;q=0.5, br;q=0", "gzip", GZ),
    ("GZIP", "gzip", GZ),
    ("x-gzip", "gzip", GZ),
    ("identity;q=0, gzip;q=0.1", "gzip", GZ),
], ids=lambda value: value if isinstance(value, str) else "")
def test_weights_choose_among_siblings(site, accept, coding, data):
    assert_sibling(site.get("/all/page.html", ae=accept), coding, data)


@pytest.mark.parametrize("accept", [None, "", "identity", "br;q=0, gzip;q=0", "deflate",
                                    "identity, gzip;q=0.5, br;q=0.5"])
def test_without_an_accepted_coding_the_file_is_sent(site, accept):
    answer = site.get("/all/page.html", ae=accept)
    assert answer.status == 200 and answer.coding is None and answer.varies
    assert answer.raw == BODY


def test_a_zstd_sibling_needs_no_encoder(site):
    answer = site.get("/three/page.html", ae="zstd")
    assert answer.coding == "zstd" and answer.raw == ZST and answer.varies


def test_a_single_sibling_is_enough(site):
    assert_sibling(site.get("/gz/page.html", ae="br, gzip"), "gzip", GZ)


def test_without_a_sibling_the_filter_compresses(site):
    assert_dynamic(site.get("/none/page.html", ae="br, gzip"))


def test_a_sibling_as_old_or_newer_serves_and_an_older_one_does_not(site):
    assert_sibling(site.get("/newer/page.html", ae="br"), "br", BR)
    assert_dynamic(site.get("/older/page.html", ae="br"))
    assert_dynamic(site.get("/older/page.html", ae="gzip"))


def test_a_sibling_goes_stale_when_its_file_changes(site):
    add_set(site, "changing/page.html", "br")
    assert_sibling(site.get("/changing/page.html", ae="br"), "br", BR)
    site.write("changing/page.html", BODY + b"more", OLD + 5)
    assert_dynamic(site.get("/changing/page.html", ae="br"), BODY + b"more")


def test_the_directory_index_has_siblings(site):
    assert_sibling(site.get("/index/", ae="br"), "br", BR)


def test_type_and_language_are_the_files(site):
    for coding, data in (("br", BR), ("gzip", GZ)):
        answer = site.get("/language/page.en.html", ae=coding)
        assert_sibling(answer, coding, data)
        assert answer.headers.all("Content-Language") == ["en"]


def test_last_modified_is_there(site):
    assert "Last-Modified" in site.get("/all/page.html", ae="br").headers


@pytest.mark.parametrize("folder", ["denied", "rules"])
def test_a_sibling_that_may_not_be_read_is_not_sent(site, folder):
    site.expect_log("AH01630")
    assert_dynamic(site.get(f"/{folder}/page.html", ae="br"))
    assert_sibling(site.get(f"/{folder}/page.html", ae="br, gzip"), "gzip", GZ)


def test_a_denied_file_stays_denied(site):
    site.expect_log("AH01630")
    assert site.get("/secret/page.html", ae="br").status == 403


def test_a_sibling_alone_answers_nothing(site):
    assert site.get("/orphan/page.html", ae="br").status == 404
    assert site.get("/all/page.html/more", ae="br").status == 404


@pytest.mark.parametrize("folder", ["folder", "fifo", "nolinks"])
def test_what_is_no_regular_file_is_no_sibling(site, folder):
    site.expect_log("AH00032|AH00037")
    assert_dynamic(site.get(f"/{folder}/page.html", ae="br", timeout=10))


def test_a_sibling_that_the_server_cannot_open_is_not_sent(site):
    site.expect_log("Permission denied")
    assert_dynamic(site.get("/unreadable/page.html", ae="br"))


def test_off_means_off(site):
    assert_dynamic(site.get("/off/page.html", ae="br"))


def test_siblings_need_no_filter(site):
    """ElasticPrecompressed works where Elastic is Off."""
    assert_sibling(site.get("/alone/page.html", ae="br"), "br", BR)
    plain = site.get("/alone/page.html")
    assert plain.raw == BODY and plain.varies


def test_included_pages_are_made_for_each_request(site):
    assert_dynamic(site.get("/ssi/page.shtml", ae="br"), BODY + b"page.shtml")


def test_substituted_pages_are_made_for_each_request(site):
    assert_dynamic(site.get("/substitute/page.html", ae="br"), BODY.replace(b"server", b"SERVER"))


def test_scripts_have_no_siblings(site):
    answer = site.get("/cgi/page.cgi", ae="br")
    assert_dynamic(answer, b"made" * 2000)


def test_post_is_not_answered_from_a_sibling(site):
    answer = site.get("/all/page.html", ae="br", method="POST", body=b"x")
    assert answer.raw != BR


@pytest.mark.protocols()
@pytest.mark.parametrize("coding,data", [("br", BR), ("gzip", GZ)])
def test_head_has_gets_header(site, protocol, coding, data):
    get = site.get("/all/page.html", ae=coding, protocol=protocol)
    head = site.head("/all/page.html", ae=coding, protocol=protocol)
    assert head.status == 200 and head.raw == b""
    for name in ("Content-Encoding", "Content-Length", "Content-Type", "ETag", "Vary",
                 "Last-Modified"):
        assert head.headers[name] == get.headers[name]


def test_counters_tell_siblings_from_encoded_responses(site):
    before = site.status()
    for _ in range(3):
        site.get("/all/page.html", ae="br")
    site.get("/none/page.html", ae="br")
    after = site.status()
    assert int(after["ElasticPrecompressed"]) == int(before["ElasticPrecompressed"]) + 3
    assert int(after["ElasticCompressed"]) == int(before["ElasticCompressed"]) + 1


def test_pipelined_requests_get_whole_siblings(site):
    """The connection stays in step: nothing is sent twice or left out."""
    with site.connect() as connection:
        ids = [connection.send_request("/all/page.html", ae=coding)
               for coding in ("br", "gzip", "identity")]
        raws = [connection.read_response(id).raw for id in ids]
    assert raws == [BR, GZ, BODY]


def test_an_aborted_sibling_leaves_the_server_well(site):
    with site.connect() as connection:
        connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.send_request("/all/page.html", ae="br")
        connection.receive(100)
        connection.abort()
    assert_sibling(site.get("/all/page.html", ae="br"), "br", BR)
