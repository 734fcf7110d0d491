"""mod_dav beside ours: its answers are compressed, and a tag that was given out allows to write, in
the strong form that WebDAV clients give it; a weak one does not (RFC 9110 §13.1.1: If-Match
compares strongly)."""

import itertools
import os
import re
import shutil
import subprocess
import time

import pytest

from kit import bodies, check

BODY = bodies.html(30000)
OLD = 1_500_000_000

LOCK = (b'<?xml version="1.0"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>'
        b"<D:locktype><D:write/></D:locktype><D:owner>" + bodies.text(3000) + b"</D:owner>"
        b"</D:lockinfo>")
PATCH = (b'<?xml version="1.0"?><D:propertyupdate xmlns:D="DAV:" xmlns:x="urn:x"><D:set><D:prop>'
         + b"".join(b"<x:name%d>value</x:name%d>" % (n, n) for n in range(100))
         + b"</D:prop></D:set></D:propertyupdate>")


@pytest.fixture(scope="module")
def server(httpd_shared, way):
    server = way.start(
        httpd_shared,
        "DavLockDB {root}/locks/db\nHeader set Cache-Control max-age=0\n"
        f"<Location /dav>\nDav On\n{way.lines()}\n</Location>\n",
        modules=["dav", "dav_fs"], allow_log=[r"\[dav:error\]"])
    for n in range(50):
        server.write(f"dav/many/{n}.html", b"x", OLD)
    write(server, "dav/a.html")
    (server.root / "locks").mkdir()
    (server.root / "locks").chmod(0o777)
    return server


def write(server, path):
    """A file that a client may change."""
    file = server.write(path, BODY, OLD)
    file.chmod(0o666)
    file.parent.chmod(0o777)


def strong(server, path):
    """The tag of the identity."""
    tag = server.get(path).headers["ETag"]
    assert tag.startswith('"')
    return tag


def is_short(answer, coding, status):
    """httpd's own text; a stock filter that is named takes some of those."""
    assert answer.status == status and answer.coding in (None, coding), answer
    assert answer.complete and len(answer.body) < 400


def answered(server, way, method, path, status, **kw):
    """An answer in XML, in each coding; mod_filter's own ways leave what is no 200 as it is."""
    plain = server.get(path, method=method, **kw)
    check.plain(plain, plain.body, status, varies=way.errors)
    assert plain.headers["Content-Type"].startswith("text/xml"), plain
    if way.errors:
        way.encodes(server, path, plain.body, status, method=method, **kw)
    else:
        for coding in way.codings:
            answer = server.get(path, ae=coding, method=method, **kw)
            check.plain(answer, plain.body, status, varies=False)
    return plain


def test_propfind(server, way):
    plain = answered(server, way, "PROPFIND", "/dav/many/", 207, headers={"Depth": "1"})
    assert plain.body.count(b"<D:response ") == 51


def test_proppatch(server, way):
    write(server, "dav/patched.html")
    plain = answered(server, way, "PROPPATCH", "/dav/patched.html", 207, body=PATCH)
    assert b"name99" in plain.body and b"200 OK" in plain.body


def test_what_was_put_is_got(server, way):
    for n, coding in enumerate(way.codings):
        for status, body in ((201, BODY), (204, BODY[::-1])):
            path = f"/dav/put-{n}.html"
            answer = server.get(path, ae=coding, method="PUT", body=body)
            is_short(answer, coding, status)
            check.encoded(server.get(path, ae=coding), coding, body)
            check.plain(server.get(path), body)


def test_a_part_is_put(server, way):
    write(server, "dav/part.html")
    answer = server.get("/dav/part.html", ae="gzip", method="PUT", body=b"0123456789",
                        headers={"Content-Range": f"bytes 100-109/{len(BODY)}"})
    assert answer.status == 204, answer
    body = BODY[:100] + b"0123456789" + BODY[110:]
    way.encodes(server, "/dav/part.html", body)


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_tag_that_was_given_out_allows_to_write(server, way, method):
    """Clients that leave out W/ make a strong one of it."""
    for coding in way.codings:
        path = f"/dav/{method}-{coding}.html"
        write(server, path)
        tag = strong(server, path)
        ours = server.get(path, ae=coding).headers["ETag"]
        assert ours == way.tagged(tag.strip('"'), coding)
        suffixed = f'"{tag[1:-1]}-{coding}"'
        allowed = [tag, suffixed, f'"other", {suffixed}']
        for value in (f"W/{tag}", f"W/{suffixed}", f'"other-{coding}"', f'"{tag[1:-1]}-dcz"',
                      f'"{suffixed[1:-1]}-{coding}"', suffixed[1:-1], f'"{tag[2:-1]}-{coding}"'):
            answer = server.get(path, ae=coding, method=method, body=b"new",
                                headers={"If-Match": value})
            assert (answer.status, answer.coding) == (412, None), (value, answer)
        for value in allowed:
            write(server, path)
            # The client that writes need not accept the coding of what it has read.
            answer = server.get(path, method=method, body=b"new", headers={"If-Match": value})
            assert answer.status == 204, (value, answer)
            after = server.get(path, ae=coding)
            assert after.status == 404 if method == "DELETE" else after.body == b"new", after


def test_a_tag_whose_identity_is_weak_allows_nothing(server, way):
    """A file that has just changed may have had another body under the same tag."""
    write(server, "dav/fresh.html")
    os.utime(server.docs / "dav/fresh.html", (time.time() + 1000,) * 2)
    tag = server.get("/dav/fresh.html").headers["ETag"]
    assert tag.startswith("W/")
    for coding in way.codings:
        suffixed = f'{tag[2:-1]}-{coding}"'
        for named in ({"If-Match": suffixed}, {"If": f"([{suffixed}])"}):
            answer = server.get("/dav/fresh.html", method="PUT", body=b"new", headers=named)
            assert answer.status == 412, (named, answer)


STATES = [
    # What stands for the tag, and the status of a PUT with that If: of RFC 4918 §10.4.
    ('([{ours}])', 204), ('(["x"]) ([{ours}])', 204), ('( [ {ours}])', 204), ('([{plain}])', 204),
    ('<{url}> ([{ours}])', 204), ('<{path}>([{ours}])', 204), ('<{escaped}> ([{ours}])', 204),
    ('<{other}> (["x"]) <{url}> ([{ours}])', 204), ('<{url}> (["x"]) (Not ["x"] [{ours}])', 204),
    ('([W/{ours}])', 412), ('(["x-{coding}"])', 412), ('([{ours}] ["x"])', 412),
    ('<{url}> (["x"]) <{other}> ([{ours}])', 412),
    # Not the tag of what it is about: that holds, whether the base is current or not.
    ('(Not [{ours}])', 204), ('(Not [{plain}])', 412), ('(Not [{ours}] [{ours}])', 204),
    ('(Not [{ours}] [{plain}])', 204), ('<{url}> (Not [{ours}])', 204),
    # Nonsense stays nonsense.
    ('([{ours}', 400), ('({ours})', 400), ('[{ours}]', 400), ('<{url} ([{ours}])', 400),
    ('([{ours}]), ([{ours}])', 400), ('(X [{ours}])', 400)]


def test_a_tag_in_webdavs_if(server, way):
    path = "/dav/state%20of.html"
    url = f"http://127.0.0.1:{server.port}{path}"
    for coding, (state, status) in itertools.product(way.codings, STATES):
        write(server, "dav/state of.html")
        tag = strong(server, path)
        value = state.format(ours=f'"{tag[1:-1]}-{coding}"', plain=tag, coding=coding, url=url,
                             path=path, escaped="/dav/../dav/st%61te%20of.html",
                             other=url.replace("state", "other"))
        answer = server.get(path, method="PUT", body=b"new", headers={"If": value})
        assert answer.status == status, (value, answer)


def test_a_list_about_another_resource_stays_as_it_is(server, way):
    """Though its tag be the same, as that of a file of the same size and time is."""
    host = f"127.0.0.1:{server.port}"
    for coding in way.codings:
        for form, status in (('{ours}', 412), ('{plain}', 204)):
            for path in ("/dav/from.html", "/dav/onto.html"):
                write(server, path)
            tag = strong(server, "/dav/from.html")
            assert tag == strong(server, "/dav/onto.html")
            ours = f'"{tag[1:-1]}-{coding}"'
            state = (f"<http://{host}/dav/from.html> ([{ours}]) <http://{host}/dav/onto.html> "
                     f"([{form.format(ours=ours, plain=tag)}])")
            answer = server.get("/dav/from.html", method="MOVE", headers={
                "Host": host, "Destination": f"http://{host}/dav/onto.html", "If": state})
            assert answer.status == status, (state, answer)


def test_put_of_what_must_not_be_there(server, way):
    there, new = "/dav/a.html", "/dav/new.html"
    for coding in way.codings:
        for path, named, status in ((there, "*", 412), (there, strong(server, there), 412),
                                    (new, "*", 201)):
            answer = server.get(path, ae=coding, method="PUT", body=BODY,
                                headers={"If-None-Match": named})
            assert answer.status == status, answer
            check.encoded(server.get(path, ae=coding), coding, BODY)
        assert server.get(new, method="DELETE").status == 204


def test_a_lock(server, way):
    path = "/dav/locked.html"
    for coding in way.codings:
        write(server, path)
        tag = strong(server, path)
        # The answer to LOCK is a 200: all ways compress it.
        answer = server.get(path, ae=coding, method="LOCK", body=LOCK)
        check.encoded(answer, coding, answer.body)
        assert answer.headers["Content-Type"].startswith("text/xml"), answer
        token = re.fullmatch("<(.*)>", answer.headers["Lock-Token"])[1]
        assert token.encode() in answer.body and bodies.text(3000) in answer.body
        assert server.get(path, ae=coding, method="PUT", body=b"new").status == 423
        for state, status in ((f'(<{token}> ["other-{coding}"])', 412),
                              (f'(<{token}> ["{tag[1:-1]}-{coding}"])', 204)):
            answer = server.get(path, ae=coding, method="PUT", body=b"new", headers={"If": state})
            assert answer.status == status, (state, answer)
        answer = server.get(path, ae=coding, method="UNLOCK", headers={"Lock-Token": f"<{token}>"})
        assert (answer.status, answer.coding) == (204, None), answer


def test_collections(server, way):
    host = f"http://127.0.0.1:{server.port}"
    for coding in way.codings:
        def do(method, path, status, **headers):
            answer = server.get(path, ae=coding, method=method,
                                headers={"Host": host.removeprefix("http://"), **headers})
            is_short(answer, coding, status)
            return answer

        assert "2" in do("OPTIONS", "/dav/", 200).headers["DAV"]
        do("MKCOL", "/dav/c/", 201)
        do("COPY", "/dav/a.html", 201, Destination=f"{host}/dav/c/b.html")
        do("MOVE", "/dav/c/b.html", 201, Destination=f"{host}/dav/c/c.html")
        check.encoded(server.get("/dav/c/c.html", ae=coding), coding, BODY)
        do("DELETE", "/dav/c/", 204)


@pytest.mark.skipif(not shutil.which("litmus"), reason="litmus is not there (package litmus)")
def test_litmus(server, way, tmp_path):
    """Its tests of WebDAV servers, all of which mod_dav passes alone."""
    server.expect_log("XML parser error|XML Parser Error")  # which some of them ask for
    (server.docs / "dav/litmus").mkdir(mode=0o777)
    (server.docs / "dav/litmus").chmod(0o777)
    run = subprocess.run(["litmus", "-k", f"http://127.0.0.1:{server.port}/dav/"], cwd=tmp_path,
                         capture_output=True, text=True, timeout=100)
    counts = [tuple(map(int, found)) for found in re.findall(
        r"of (\d+) tests run: (\d+) passed, (\d+) failed", run.stdout)]
    assert all(passed == count and failed == 0 for count, passed, failed in counts), run.stdout
    assert sum(count for count, _, _ in counts) >= 104, run.stdout
