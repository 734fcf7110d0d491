"""Precompressed files: which one is sent, and with which header."""

import gzip
import os
import threading
import time

import brotli
import pytest

from kit import check
from kit.counters import counted
from kit.precompressed import BODY, BR, DATE, GZ, OLD, PRECOMPRESSED, ZST, add_set, check_made, \
    check_sent, directories, passed_over, passes_over

CODINGS = pytest.mark.parametrize("coding", PRECOMPRESSED)
DENIED = '<Files "{}">\nRequire all denied\n</Files>'

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
ErrorDocument 404 /all/page.html
<Location /substitute>
    SetOutputFilter SUBSTITUTE
</Location>
<Directory {docs}>
    Options +Includes
</Directory>
""" + directories({
    "denied": DENIED.format("*.br"), "secret": DENIED.format("page.html"),
    "off": "ElasticPrecompressed Off", "alone": "Elastic Off", "alone-folder": "Elastic Off",
    "no-gzip": "Elastic Off\nSetEnv no-gzip 1", "no-brotli": "Elastic Off\nSetEnv no-brotli 1",
    "no-elastic": "Elastic Off\nSetEnv no-elastic 1", "nolinks": "Options -FollowSymLinks",
    "rules": "AllowOverride FileInfo AuthConfig Limit", "untagged": "FileETag None",
    "not-found": "ErrorDocument 404 /none/page.html"})


def sized(nbytes):
    """Looks like gzip of BODY, and like br; nobody decodes it."""
    return GZ[:nbytes - 4] + len(BODY).to_bytes(4, "little")


@pytest.fixture(scope="module")
def site(httpd_shared):
    server = httpd_shared(CONFIG, modules=["include", "substitute", "filter"], tls=True, h2=True)
    for name in ("all", "denied", "secret", "off", "alone", "substitute", "rules", "untagged",
                 "no-gzip", "no-brotli", "no-elastic", "index/index.html", "language/page.en.html"):
        add_set(server, name if "." in name else f"{name}/page.html", "br", "gz")
    add_set(server, "three/page.html", "br", "gz", "zst")
    add_set(server, "gz/page.html", "gz")
    add_set(server, "older/page.html", "br", "gz", mtime=OLD - 1)
    add_set(server, "newer/page.html", "br", "gz", mtime=OLD + 1)
    for folder in ("none", "folder", "alone-folder", "fifo", "nolinks", "loop", "small-br",
                   "small-gz", "as-small"):
        add_set(server, f"{folder}/page.html")
    for folder in ("folder", "alone-folder"):
        (server.docs / folder / "page.html.br").mkdir()
    os.mkfifo(server.docs / "fifo/page.html.br", 0o644)
    (server.docs / "nolinks/page.html.br").symlink_to("../elsewhere.br")
    (server.docs / "loop/page.html.br").symlink_to("page.html.br")
    add_set(server, "unreadable/page.html", "br")
    os.chmod(server.docs / "unreadable/page.html.br", 0)
    ssi = BODY + b'<!--#echo var="DOCUMENT_NAME" -->'
    server.cgi("cgi/page.cgi", "head('Content-Type: text/html')\nout('made' * 2000)\n")
    for name, data in {
            "elsewhere.br": BR, "orphan/page.html.br": BR, "cgi/page.cgi.br": BR,
            "small-br/page.html.br": sized(100), "small-br/page.html.gz": sized(200),
            "as-small/page.html.gz": sized(100), "as-small/page.html.br": sized(100),
            "small-gz/page.html.gz": sized(100), "small-gz/page.html.br": sized(200),
            "rules/.htaccess": DENIED.format("*.br"), "ssi/page.shtml": ssi,
            "ssi/page.shtml.br": brotli.compress(ssi)}.items():
        server.write(name, data, OLD)
    return server


@pytest.mark.smoke
@pytest.mark.protocols()
@CODINGS
def test_the_precompressed_file_is_sent_as_it_is(site, protocol, coding):
    get = site.get("/all/page.html", ae=coding, protocol=protocol)
    check_sent(get, coding, PRECOMPRESSED[coding])
    assert get.body == BODY
    head = site.head("/all/page.html", ae=coding, protocol=protocol)
    check.head_of(get, head, "Last-Modified", "Content-Length")


@pytest.mark.parametrize("path,ae,coding,data", [
    *((path, ae, coding, PRECOMPRESSED[coding]) for path, ae, coding in (
        ("/all/page.html", "br, gzip", "br"), ("/all/page.html", "gzip;q=1, br;q=0.9", "gzip"),
        ("/all/page.html", "br;q=0, gzip", "gzip"), ("/all/page.html", "*", "br"),
        ("/all/page.html", "identity;q=0, x-gzip;q=0.1", "gzip"),
        ("/gz/page.html", "br, gzip", "gzip"),  # the only one
        ("/newer/page.html", "br", "br"), ("/index/", "br", "br"),
        ("/language/page.en.html", "gzip", "gzip"), ("/language/page.en.html", "br", "br"),
        ("/alone/page.html", "br", "br"),  # Elastic is Off
        ("/denied/page.html", "br, gzip", "gzip"),  # br's is not readable
        ("/rules/page.html", "br, gzip", "gzip"),
        ("/no-gzip/page.html", "br", "br"), ("/no-brotli/page.html", "gzip", "gzip"))),
    # The smallest of equally liked ones; and one that needs no encoder.
    ("/small-br/page.html", "gzip, br", "br", sized(100)),
    ("/small-gz/page.html", "gzip, br", "gzip", sized(100)),
    ("/as-small/page.html", "gzip, br", "br", sized(100)),
    ("/three/page.html", "zstd", "zstd", ZST)])
def test_weights_and_rules_choose_among_precompressed_files(site, path, ae, coding, data):
    site.expect_log("AH01630")
    answer = site.get(path, ae=ae)
    check_sent(answer, coding, data)
    assert answer.headers.all("Content-Language") == ["en"] * path.startswith("/language")


@pytest.mark.parametrize("path,ae,varies", [
    *(("/all/page.html", ae, True) for ae in (
        None, "", "br;q=0, gzip;q=0", "deflate", "identity, gzip;q=0.5, br;q=0.5")),
    ("/alone/page.html", None, True), ("/no-gzip/page.html", "gzip", True),
    ("/no-brotli/page.html", "br", True),
    ("/alone-folder/page.html", "br", False),  # not a regular file, so not negotiated
    ("/no-elastic/page.html", "br", True), ("/no-elastic/page.html", "gzip", True)])
def test_without_an_accepted_coding_the_file_is_sent(site, path, ae, varies):
    check.plain(site.get(path, ae=ae), BODY, varies=varies)


MADE = {"/ssi/page.shtml": BODY + b"page.shtml", "/cgi/page.cgi": b"made" * 2000,
        "/substitute/page.html": BODY.replace(b"server", b"SERVER")}


@pytest.mark.parametrize("path,ae,grown,log", [
    ("/none/page.html", "br", {}, None), ("/off/page.html", "br", {}, None),
    ("/older/page.html", "br, gzip;q=0.5", {"outdated": 2}, None),
    ("/older/page.html", "gzip", {"outdated": 1}, None),
    ("/denied/page.html", "br", {"denied": 1}, "AH01630"),
    ("/rules/page.html", "br", {"denied": 1}, "AH01630"),
    ("/folder/page.html", "br", {"irregular": 1}, None),
    ("/fifo/page.html", "br", {"irregular": 1}, None),
    ("/nolinks/page.html", "br", {"denied": 1}, "AH00032|AH00037"),
    ("/unreadable/page.html", "br", {"unreadable": 1}, "Permission denied"),
    ("/loop/page.html", "br", {"unreadable": 1}, None),
    ("/cgi/page.cgi", "br", {}, None),
    *((path, "br", {"filter": 1}, None) for path in ("/ssi/page.shtml", "/substitute/page.html"))])
def test_where_no_precompressed_file_may_serve_the_filter_compresses(site, path, ae, grown, log):
    site.expect_log(log or "nothing")
    with passes_over(site, **grown):
        check_made(site.get(path, ae=ae, timeout=10), ae.split(",")[0], MADE.get(path, BODY))
    if "outdated" in grown:
        site.wait_log(r"older/page.html.br is not sent: it is older than its file", 30)


def test_precompressed_files_have_a_counter_of_their_own(site):
    assert set(passed_over(site)) == {
        "outdated", "irregular", "denied", "owner", "outside", "unreadable", "empty", "coding",
        "window", "size", "filter"}
    before = int(site.status()["ElasticPrecompressed"])
    with passes_over(site):
        answer, grown = counted(site, lambda: site.get("/all/page.html", ae="br"))
        assert answer.raw == BR and "elastic-reason" not in site.notes(answer) and grown == {}
        answer, grown = counted(site, lambda: site.get("/none/page.html", ae="br"))
        assert grown == {"compressed": 1}
        assert int(site.status()["ElasticPrecompressed"]) == before + 1
        # A file that does not suit the client is not looked at.
        assert site.get("/denied/page.html", ae="gzip").raw == GZ
    assert b"Precompressed files not sent: older than its file" in site.get("/elastic-status").body


def test_where_the_file_is_not_served_no_precompressed_file_is(site):
    site.expect_log("AH01630")
    for path, status in (("/secret/page.html", 403), ("/orphan/page.html", 404),
                         ("/all/page.html/more", 404)):
        assert site.get(path, ae="br").status == status, path
    assert site.get("/all/page.html", ae="br", method="POST", body=b"x").raw != BR


def test_a_file_that_is_encoded_itself_has_no_precompressed_file(site):
    site.write("own/page.html.gz", GZ, OLD)
    site.write("own/page.html.gz.br", BR, OLD)
    answer = site.get("/own/page.html.gz", ae="br")
    assert (answer.coding, answer.raw) == ("x-gzip", GZ)


# Owners: of the original, of somebody who may write into the folder, and root.
OWN, OTHER, ROOT = 12345, 12346, 0
TRUSTED = [(OWN,), (ROOT,), (OWN, OWN), (ROOT, OWN), (OWN, ROOT)]
FOREIGN = [(OTHER,), (OTHER, OWN), (OTHER, ROOT), (OWN, OTHER), (ROOT, OTHER)]


def add_owned(server, folder, owner, owner_of_target=None):
    """A file of OWN's with precompressed files of `owner`, or with links to files of his."""
    path = add_set(server, f"{folder}/page.html", "br", "gz")
    os.chown(server.docs / path[1:], OWN, OWN)
    for extension in ("br", "gz"):
        compressed = server.docs / f"{path[1:]}.{extension}"
        if owner_of_target is not None:
            target = compressed.rename(server.docs / f"{folder}/{extension}")
            os.chown(target, owner_of_target, owner_of_target)
            compressed.symlink_to(target)
        os.chown(compressed, owner, owner, follow_symlinks=False)
    return path


@pytest.mark.root
@pytest.mark.parametrize("owners", [*TRUSTED, *FOREIGN])
def test_a_precompressed_file_of_another_owner_is_not_sent(site, owners):
    """Anybody who may write into the folder could add it: an upload x.svg.gz beside x.svg."""
    site.expect_log("owned neither by")
    path = add_owned(site, "owners-" + "-".join(map(str, owners)), *owners)
    with passes_over(site, **{"owner": 6} if owners in FOREIGN else {}):
        for coding, data in PRECOMPRESSED.items():
            # Its tag and ranges are not used either.
            tag = f'"{len(data):x}-{OLD * 1000000:x}.{"gz" if coding == "gzip" else coding}"'
            for fields in ({}, {"If-None-Match": tag}, {"Range": "bytes=0-9", "If-Range": tag}):
                answer = site.get(path, ae=coding, headers=fields)
                if owners in FOREIGN:
                    check_made(answer, coding)
                elif not fields:
                    check_sent(answer, coding, data)
    if owners in FOREIGN:
        site.wait_log("page.html.br is not sent: it is owned neither by the owner of its file", 30)


def test_a_precompressed_file_that_is_replaced_meanwhile_is_never_mixed_up(site):
    """Length and tag belong to one file, and the bytes are never another's."""
    other = BODY[::-1]
    versions = [GZ, gzip.compress(other, 1, mtime=0)]
    path = add_set(site, "replaced/page.html", "gz")
    compressed, over, replaced = site.docs / f"{path[1:]}.gz", threading.Event(), []

    def replace():
        part = compressed.with_name("part")
        while not over.wait(0.0005):
            part.write_bytes(versions[len(replaced) % 2])
            part.chmod(0o644)
            replaced.append(part.rename(compressed))

    thread = threading.Thread(target=replace)
    thread.start()
    try:
        tags = {}
        end = time.monotonic() + 2
        # On a busy machine the other thread needs longer for so many.
        while time.monotonic() < end or len(replaced) <= 100:
            assert thread.is_alive()
            answer = site.get(path, ae="gzip")
            assert answer.complete and answer.body in (BODY, other), answer
            tag = answer.headers["ETag"]
            assert tags.setdefault(tag, answer.body) == answer.body, tag
    finally:
        over.set()
        thread.join()


# --- conditional requests beyond the table of test_conditionals.py

EARLY = "Mon, 01 Jan 2001 00:00:00 GMT"


def tag_of(site, ae, path="/all/page.html"):
    return site.get(path, ae).headers["ETag"]


@CODINGS
def test_the_tag_changes_with_the_precompressed_file_only(site, coding):
    """A new one is strong as well. httpd's own tags are weak for a second after a change, but
    precompressed files are replaced, not edited."""
    tags = [tag_of(site, coding, add_set(site, "tagged.html", "br", "gz", mtime=mtime))
            for mtime in (OLD, OLD, OLD + 3, time.time())]
    assert tags[0] == tags[1] and len(set(tags)) == 3
    assert all(tag.startswith('"') and tag.endswith((".br\"", ".gz\"")) for tag in tags)


@pytest.mark.parametrize("fields,status", [
    ({}, 200), ({"If-None-Match": '"x"'}, 200), ({"If-None-Match": '""'}, 200),
    ({"If-Modified-Since": DATE}, 304), ({"If-Match": "*"}, 200), ({"If-Match": '"x"'}, 412),
    ({"Range": "bytes=0-9", "If-Range": '"x"'}, 200)])
def test_without_a_tag_no_condition_names_the_file(site, fields, status):
    answer = site.get("/untagged/page.html", "br", fields)
    assert answer.status == status and "ETag" not in answer.headers
    if "If-Range" in fields:
        check_made(answer, "br")
    elif status == 200:
        check_sent(answer, "br", BR)


def test_a_precompressed_file_goes_stale_when_its_file_changes(site):
    path = add_set(site, "changing.html", "br")
    sent = {"If-None-Match": tag_of(site, "br", path)}
    site.write("changing.html", BODY + b"more", OLD + 5)
    for fields in (None, sent):
        check_made(site.get(path, "br", fields), "br", BODY + b"more")
    add_set(site, "changing.html", "br")
    check.not_modified(site.get(path, "br", sent), sent["If-None-Match"])
    (site.docs / "changing.html.br").unlink()
    check_made(site.get(path, "br", sent), "br")


def test_dates(site):
    check_sent(site.get("/all/page.html", "br", {"If-Modified-Since": EARLY}), "br", BR)
    assert site.get("/all/page.html", "br", {"If-Unmodified-Since": EARLY}).status == 412
    # Both files have this date: slices of both would be joined.
    for ae in ("br", None):
        answer = site.get("/alone/page.html", ae, {"Range": "bytes=100-199", "If-Range": DATE})
        check.whole(answer, ae, BODY)


@pytest.mark.parametrize("ae,match,status,coding", [
    ("br", "{br}", 200, "br"), ("br", "*", 200, "br"), ("br", '"other", {br}', 200, "br"),
    ("br", "{None}", 200, None), ("br", '"other"', 412, None), ("br", "W/{br}", 412, None),
    ("br", "W/{None}", 412, None), (None, "{br}", 412, None)])
def test_if_match_is_strong_and_names_the_representation(site, ae, match, status, coding):
    """With Elastic Off, so that a response without a precompressed file is the file."""
    tags = {str(coding): tag_of(site, coding, "/alone/page.html") for coding in ("br", None)}
    answer = site.get("/alone/page.html", ae, {"If-Match": match.format(**tags)})
    assert (answer.status, answer.coding) == (status, coding), answer
    if status == 200:
        assert answer.body == BODY and answer.headers["ETag"] == tags[str(coding)]


@pytest.mark.parametrize("ae", ["gzip", None])
def test_a_precondition_that_fails_comes_before_if_none_match(site, ae):
    """RFC 9110 §13.2.2."""
    path, tag = "/all/page.html", tag_of(site, ae)
    for first in ({"If-Match": '"other"'}, {"If-Unmodified-Since": EARLY}):
        for named in (tag, tag_of(site, "br"), "*"):
            assert site.get(path, ae, {**first, "If-None-Match": named}).status == 412
    check.not_modified(site.get(path, ae, {"If-Match": tag, "If-None-Match": tag}), tag)


@pytest.mark.parametrize("path,document", [("/none-such", "/all/page.html"),
                                           ("/not-found/none", "/none/page.html")])
@pytest.mark.parametrize("ae", ["gzip", None])
def test_a_tag_does_not_make_an_error_a_304(site, path, document, ae):
    tags = [tag_of(site, coding, document) for coding in ("gzip", "br", None)]
    for named in (", ".join(tags), "*"):
        check.whole(site.get(path, ae, {"If-None-Match": named}), ae, BODY, 404)
