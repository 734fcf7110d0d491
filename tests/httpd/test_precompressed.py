"""Precompressed siblings: which file is sent, and with which header."""

import gzip
import os
import socket
import threading
import time

import brotli
import pytest

from kit import bodies, check
from kit.counters import counted

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
<Directory {docs}/alone-folder>
    Elastic Off
</Directory>
<Directory {docs}/no-gzip>
    Elastic Off
    SetEnv no-gzip 1
</Directory>
<Directory {docs}/no-brotli>
    Elastic Off
    SetEnv no-brotli 1
</Directory>
<Directory {docs}/no-elastic>
    Elastic Off
    SetEnv no-elastic 1
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
    for folder in ("all", "denied", "secret", "off", "alone", "substitute", "rules", "no-gzip",
                   "no-brotli", "no-elastic"):
        add_set(server, f"{folder}/page.html", "br", "gz")
    add_set(server, "three/page.html", "br", "gz", "zst")
    add_set(server, "gz/page.html", "gz")
    add_set(server, "none/page.html")
    add_set(server, "index/index.html", "br", "gz")
    add_set(server, "language/page.en.html", "br", "gz")
    add_set(server, "older/page.html", "br", "gz", mtime=OLD - 1)
    add_set(server, "newer/page.html", "br", "gz", mtime=OLD + 1)
    for folder in ("folder", "alone-folder"):
        add_set(server, f"{folder}/page.html")
        (server.docs / folder / "page.html.br").mkdir()
    for smallest, other in (("br", "gz"), ("gz", "br")):
        server.write(f"small-{smallest}/page.html", BODY, OLD)
        server.write(f"small-{smallest}/page.html.{smallest}", b"x" * 100, OLD)
        server.write(f"small-{smallest}/page.html.{other}", b"x" * 200, OLD)
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
    assert (answer.status, answer.coding, answer.raw) == (200, coding, data), answer
    assert answer.varies
    assert answer.headers["Content-Length"] == str(len(data))
    assert answer.headers["Content-Type"].startswith("text/html")


def assert_dynamic(answer, body=BODY):
    """No sibling's bytes: an encoding that was made for the request."""
    assert answer.status == 200
    assert answer.coding in ("gzip", "br") and answer.varies
    assert answer.raw not in (BR, GZ) and answer.body == body


SIBLINGS = {"br": BR, "gzip": GZ}
CODINGS = pytest.mark.parametrize("coding", SIBLINGS)


@pytest.mark.smoke
@pytest.mark.protocols()
@CODINGS
def test_the_sibling_is_sent_as_it_is(site, protocol, coding):
    get = site.get("/all/page.html", ae=coding, protocol=protocol)
    assert_sibling(get, coding, SIBLINGS[coding])
    assert get.body == BODY and "Last-Modified" in get.headers
    head = site.head("/all/page.html", ae=coding, protocol=protocol)
    check.head_of(get, head, "Last-Modified", "Content-Length")


@pytest.mark.parametrize("path,ae,coding", [
    ("/all/page.html", "br, gzip", "br"),
    ("/all/page.html", "gzip, br", "br"),
    ("/all/page.html", "gzip;q=1, br;q=0.9", "gzip"),
    ("/all/page.html", "gzip;q=0.2, br;q=0.3", "br"),
    ("/all/page.html", "br;q=0, gzip", "gzip"),
    ("/all/page.html", "*", "br"),
    ("/all/page.html", "*;q=0.5, br;q=0", "gzip"),
    ("/all/page.html", "GZIP", "gzip"),
    ("/all/page.html", "x-gzip", "gzip"),
    ("/all/page.html", "identity;q=0, gzip;q=0.1", "gzip"),
    ("/gz/page.html", "br, gzip", "gzip"),  # there is no other
    ("/newer/page.html", "br", "br"),
    ("/index/", "br", "br"),
    ("/alone/page.html", "br", "br"),  # Elastic is Off
    ("/denied/page.html", "br, gzip", "gzip"),  # br's may not be read
    ("/rules/page.html", "br, gzip", "gzip"),
    ("/no-gzip/page.html", "br", "br"),
    ("/no-brotli/page.html", "gzip", "gzip"),
])
def test_weights_and_rules_choose_among_siblings(site, path, ae, coding):
    site.expect_log("AH01630")
    assert_sibling(site.get(path, ae=ae), coding, SIBLINGS[coding])


@pytest.mark.parametrize("path,ae", [
    *(("/all/page.html", ae) for ae in (None, "", "identity", "br;q=0, gzip;q=0", "deflate",
                                        "identity, gzip;q=0.5, br;q=0.5")),
    ("/alone/page.html", None), ("/no-gzip/page.html", "gzip"), ("/no-brotli/page.html", "br")])
def test_without_an_accepted_coding_the_file_is_sent(site, path, ae):
    check.plain(site.get(path, ae=ae), BODY)


@CODINGS
def test_no_elastic_means_no_sibling(site, coding):
    check.whole(site.get("/no-elastic/page.html", ae=coding), None, BODY)


@pytest.mark.parametrize("smallest,coding", [("br", "br"), ("gz", "gzip")])
def test_the_smallest_of_equals_is_sent(site, smallest, coding):
    assert_sibling(site.get(f"/small-{smallest}/page.html", ae="gzip, br"), coding, b"x" * 100)


def test_a_zstd_sibling_needs_no_encoder(site):
    assert_sibling(site.get("/three/page.html", ae="zstd"), "zstd", ZST)


MADE = {"/ssi/page.shtml": BODY + b"page.shtml", "/cgi/page.cgi": b"made" * 2000,
        "/substitute/page.html": BODY.replace(b"server", b"SERVER")}


@pytest.mark.parametrize("path,ae,log", [
    ("/none/page.html", "br, gzip", None),
    ("/off/page.html", "br", None),
    ("/older/page.html", "br", None),
    ("/older/page.html", "gzip", None),
    ("/denied/page.html", "br", "AH01630"),
    ("/rules/page.html", "br", "AH01630"),
    ("/folder/page.html", "br", None),
    ("/fifo/page.html", "br", None),
    ("/nolinks/page.html", "br", "AH00032|AH00037"),
    ("/unreadable/page.html", "br", "Permission denied"),
    *((path, "br", None) for path in MADE),
])
def test_where_no_sibling_may_serve_the_filter_compresses(site, path, ae, log):
    site.expect_log(log or "nothing")
    assert_dynamic(site.get(path, ae=ae, timeout=10), MADE.get(path, BODY))


def test_what_is_no_regular_file_is_not_negotiated(site):
    check.plain(site.get("/alone-folder/page.html", ae="br"), BODY, varies=False)


def test_a_sibling_goes_stale_when_its_file_changes(site):
    add_set(site, "changing/page.html", "br")
    assert_sibling(site.get("/changing/page.html", ae="br"), "br", BR)
    site.write("changing/page.html", BODY + b"more", OLD + 5)
    assert_dynamic(site.get("/changing/page.html", ae="br"), BODY + b"more")


@CODINGS
def test_type_and_language_are_the_files(site, coding):
    answer = site.get("/language/page.en.html", ae=coding)
    assert_sibling(answer, coding, SIBLINGS[coding])
    assert answer.headers.all("Content-Language") == ["en"]


@pytest.mark.parametrize("path,status,log", [
    ("/secret/page.html", 403, "AH01630"), ("/orphan/page.html", 404, None),
    ("/all/page.html/more", 404, None)])
def test_where_the_file_is_not_served_no_sibling_is(site, path, status, log):
    site.expect_log(log or "nothing")
    assert site.get(path, ae="br").status == status


def test_post_is_not_answered_from_a_sibling(site):
    answer = site.get("/all/page.html", ae="br", method="POST", body=b"x")
    assert answer.raw != BR


def test_siblings_have_a_counter_of_their_own(site):
    def sent():
        return int(site.status()["ElasticPrecompressed"])

    before = sent()
    answer, grown = counted(site, lambda: site.get("/all/page.html", ae="br"))
    assert answer.raw == BR and "elastic-reason" not in site.notes(answer)
    assert grown == {} and sent() == before + 1
    answer, grown = counted(site, lambda: site.get("/none/page.html", ae="br"))
    assert grown == {"compressed": 1} and sent() == before + 1


def passed_over(server):
    key = "ElasticPrecompressedSkipped-"
    return {name.removeprefix(key): int(value) for name, value in server.status().items()
            if name.startswith(key)}


@pytest.mark.parametrize("path,ae,grown", [
    ("/older/page.html", "br, gzip", {"outdated": 2}),
    ("/older/page.html", "br", {"outdated": 1}),
    ("/denied/page.html", "br, gzip", {"denied": 1}),
    ("/denied/page.html", "gzip", {}),  # br's is of no use to this client
    ("/folder/page.html", "br", {"irregular": 1}),
    ("/fifo/page.html", "br", {"irregular": 1}),
    ("/unreadable/page.html", "br", {"unreadable": 1}),
    ("/all/page.html", "br", {}), ("/none/page.html", "br", {}), ("/off/page.html", "br", {})])
def test_siblings_that_are_passed_over_are_counted_by_the_reason(site, path, ae, grown):
    site.expect_log("AH01630|Permission denied")
    before = passed_over(site)
    assert set(before) == {"outdated", "irregular", "denied", "owner", "outside", "unreadable"}
    site.get(path, ae=ae)
    after = passed_over(site)
    assert {name: after[name] - before[name] for name in after if after[name] != before[name]} \
        == grown
    if "outdated" in grown:
        site.wait_log(r"older/page.html.br is not sent: it is older than its file", 30)


# The owners of files: whose the original is, and somebody else, who may write into its folder.
OWN, OTHER, ROOT = 12345, 12346, 0

# How a sibling lies beside its file: its owner or, of a link, also that of what it leads to.
TRUSTED = {"own": OWN, "roots": ROOT, "own-link": (OWN, OWN), "roots-link": (ROOT, OWN),
           "link-to-roots": (OWN, ROOT)}
FOREIGN = {"others": OTHER, "others-link": (OTHER, OWN), "others-link-to-roots": (OTHER, ROOT),
           "link-to-others": (OWN, OTHER), "roots-link-to-others": (ROOT, OTHER)}


def add_owned(server, folder, owners):
    """A file of OWN's with siblings of those `owners`."""
    path = f"{folder}/page.html"
    add_set(server, path, "br", "gz")
    os.chown(server.docs / path, OWN, OWN)
    for extension in ("br", "gz"):
        sibling = server.docs / f"{path}.{extension}"
        if isinstance(owners, tuple):
            target = sibling.rename(server.docs / f"{folder}/{extension}")
            os.chown(target, owners[1], owners[1])
            sibling.symlink_to(target)
            os.chown(sibling, owners[0], owners[0], follow_symlinks=False)
        else:
            os.chown(sibling, owners, owners)
    return "/" + path


@pytest.mark.root
@pytest.mark.parametrize("name", TRUSTED)
def test_a_sibling_of_the_files_owner_or_of_root_is_sent(site, name):
    path = add_owned(site, f"owner-{name}", TRUSTED[name])
    for coding, data in SIBLINGS.items():
        assert_sibling(site.get(path, ae=coding), coding, data)


@pytest.mark.root
@pytest.mark.parametrize("name", FOREIGN)
def test_a_sibling_of_another_owner_is_not_sent(site, name):
    """Whoever may write into the folder could put it there: an upload x.svg.gz beside x.svg."""
    site.expect_log("another owner")
    path = add_owned(site, f"owner-{name}", FOREIGN[name])
    before = passed_over(site)
    for coding, data in SIBLINGS.items():
        assert_dynamic(site.get(path, ae=coding))
        # Nor do its tag or a range of it stand for anything.
        tag = f'"{len(data):x}-{OLD * 1000000:x}.{"gz" if coding == "gzip" else coding}"'
        assert site.get(path, ae=coding, headers={"If-None-Match": tag}).status == 200
        answer = site.get(path, ae=coding, headers={"Range": "bytes=0-9", "If-Range": tag})
        assert (answer.status, answer.coding) == (200, coding) and answer.body == BODY
    assert passed_over(site)["owner"] == before["owner"] + 6


@pytest.mark.root
def test_the_log_warns_of_another_owner_once(httpd):
    server = httpd("LogLevel elastic:warn\nElasticPrecompressed On\n")
    server.expect_log("another owner")
    paths = [add_owned(server, folder, OTHER) for folder in ("one", "two")]
    for _ in range(5):
        for path in paths:
            check.whole(server.get(path, ae="br"), None, BODY)
    server.wait_log(r"elastic:warn.*one/page.html.br is not sent: it is of another owner", 30)
    assert passed_over(server)["owner"] == 10
    assert len(server.log.lines("another owner")) == 1


def test_the_status_page_says_which_siblings_are_passed_over(site):
    page = site.get("/elastic-status").body.decode()
    assert "Precompressed files not sent: older than its file" in page


def test_pipelined_requests_get_whole_siblings(site):
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


def test_a_sibling_that_is_replaced_meanwhile_is_never_mixed_up(site):
    """Length and tag are of one file, the bytes never of another."""
    other = bodies.text(15000)
    versions = [GZ, gzip.compress(other, 1, mtime=0)]
    add_set(site, "replaced/page.html")
    sibling = site.write("replaced/page.html.gz", GZ, OLD)
    over = threading.Event()
    count = 0

    def replace():
        nonlocal count
        part = sibling.with_name("part")
        while not over.wait(0.0005):
            count += 1
            part.write_bytes(versions[count % 2])
            part.chmod(0o644)
            part.rename(sibling)

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        tags = {}
        end = time.monotonic() + 2
        while time.monotonic() < end:
            answer = site.get("/replaced/page.html", ae="gzip")
            assert answer.complete and answer.body in (BODY, other), answer
            tag = answer.headers["ETag"]
            assert tags.setdefault(tag, answer.body) == answer.body, tag
    finally:
        over.set()
        thread.join()
    assert count > 100
