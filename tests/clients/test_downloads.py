"""curl, wget and aria2: whole files, ranges, resumed and parallel downloads are the bytes beside
the server."""

import functools
import hashlib
import os

import pytest

import site_of
from kit import bodies
from site_of import answers, logged

TEXT = bodies.text(3_000_000)
FILES = {
    "text.txt": TEXT, "page.html": bodies.html(200_000), "style.css": bodies.text(60_000),
    "noise.bin": bodies.noise(3_000_000), "small.txt": b"small", "empty.txt": b"",
    **{f"many/{n}.txt": bodies.text(1000 * n) for n in range(1, 40)},
}
SITE = {
    "index.html": b"<html><head><link rel='stylesheet' href='/style.css'></head><body>"
                  + bodies.html(20_000)
                  + b"".join(b"<a href='/pages/%d.html'>%d</a>" % (n, n) for n in range(12))
                  + b"</body></html>",
    "style.css": b"body { background: url(/picture.svg) }\n" + bodies.text(9000),
    "picture.svg": b"<svg xmlns='http://www.w3.org/2000/svg'>%s</svg>" % bodies.text(5000),
    **{f"pages/{n}.html": b"<html><a href='/index.html'>up</a>%s</html>" % bodies.html(3000 * n)
       for n in range(12)},
}


def same(one, other):
    """By hashes, which make a short message."""
    assert (len(one), hashlib.sha256(one).hexdigest()) == \
        (len(other), hashlib.sha256(other).hexdigest())


@pytest.fixture
def server(site):
    return site("FileETag MTime Size\n", files=FILES, tls=True, h2=True)


@pytest.fixture
def run(tmp_path):
    return functools.partial(site_of.run, cwd=tmp_path)


def urls(server, version="h1"):
    return f"https://localhost:{server.tls_port}" if version == "h2" \
        else f"http://127.0.0.1:{server.port}"


def part_of(path, body, size=1_000_000):
    path.write_bytes(body[:size])
    return path


CURL = ["curl", "-sSkf"]
VERSIONS = pytest.mark.parametrize("version", ["h1", "h2"])


@pytest.mark.smoke
@VERSIONS
def test_curl(server, kind, run, tmp_path, version):
    """curl: each coding, many at a time, and again by tag and by date"""
    curl = [*CURL, "--http2" if version == "h2" else "--http1.1"]
    for name, body in FILES.items():
        if "/" not in name:
            url = f"{urls(server, version)}/{name}"
            same(run(*curl, url), body)
            for coding in ("gzip", "br", "gzip, deflate, br"):
                same(run(*curl, "--compressed", "-H", f"Accept-Encoding: {coding}", url), body)
    assert {"gzip", "br"} <= {answer.coding for answer in answers(server)}
    many = [name for name in FILES if name.startswith("many/")]
    run(*curl, "--compressed", "--parallel", "--create-dirs",
        *[word for name in many for word in (f"{urls(server, version)}/{name}", "-o", name)])
    for name in many:
        same((tmp_path / name).read_bytes(), FILES[name])
    url = f"{urls(server, version)}/page.html"
    for options in (("--etag-save", "tag", "--etag-compare", "tag"), ("-z", "page.html")):
        for _ in range(2):
            run(*curl, "--compressed", "-R", "-o", "page.html", *options, url)
            same((tmp_path / "page.html").read_bytes(), FILES["page.html"])
    # The stock modules know no tag again.
    assert logged(server, 2 if kind.stock else 3, path="/page.html", status="304")


@VERSIONS
def test_curl_ranges(server, run, tmp_path, version):
    """curl: ranges, and a download resumed"""
    curl = [*CURL, "--http2" if version == "h2" else "--http1.1"]
    url = f"{urls(server, version)}/text.txt"
    run(*curl, "--compressed", url)
    for wanted, part in (("0-0", TEXT[:1]), ("100-299", TEXT[100:300]), ("-500", TEXT[-500:]),
                         ("2999990-", TEXT[2999990:])):
        same(run(*curl, "-r", wanted, url), part)
    several = run(*curl, "-r", "0-9,1000-1009", url)
    assert TEXT[:10] in several and TEXT[1000:1010] in several
    for name in ("text.txt", "noise.bin"):
        part = part_of(tmp_path / name, FILES[name])
        run(*curl, "-C", "-", "-o", name, f"{urls(server, version)}/{name}")
        same(part.read_bytes(), FILES[name])
        assert logged(server, path=f"/{name}", status="206", sent="2000000")


@pytest.mark.ours
@VERSIONS
def test_curl_resumes_with_a_coding(server, run, tmp_path, version):
    """curl --compressed: ranges, and a download resumed"""
    curl = [*CURL, "--compressed", "--http2" if version == "h2" else "--http1.1"]
    url = f"{urls(server, version)}/text.txt"
    same(run(*curl, url), TEXT)
    same(run(*curl, "-r", "100-299", url), TEXT[100:300])
    part = part_of(tmp_path / "text.txt", TEXT)
    run(*curl, "-C", "-", "-o", "text.txt", url)
    same(part.read_bytes(), TEXT)
    assert {answer.coding for answer in logged(server, status="206")} == {"-"}


def test_curl_if_match(site, kind, run, tmp_path):
    """curl: a file is read and changed only if it has the tag that was seen"""
    server = site("DavLockDB {root}/locks/db\nFileETag MTime Size\n<Location /dav>\nDav On\n"
                  "</Location>\n", modules=["dav", "dav_fs"],
                  files={"dav/page.html": FILES["page.html"]}, allow_log=[r"\[dav:error\]"])
    server.folder("locks")
    site_of.give(server.docs / "dav")
    page, new = server.docs / "dav/page.html", tmp_path / "new"
    curl, url = ["curl", "-sS", "--compressed"], f"{urls(server)}/dav/page.html"

    def seen(coding):
        run(*curl, "-H", f"Accept-Encoding: {coding}", "--etag-save", "tag", "-o", "body", url)
        same((tmp_path / "body").read_bytes(), page.read_bytes())
        return (tmp_path / "tag").read_text().strip()

    def status(tag, *words):
        return run(*curl, "-o", "answer", "-w", "%{http_code}", "-H", f"If-Match: {tag}", *words,
                   url).decode()

    # Clients of WebDAV send a tag without the W/ that says that it is weak; httpd knows none of the
    # stock modules' tags.
    for number, coding in enumerate(("identity", "gzip", "br")):
        os.utime(page, (number + 1e9, number + 1e9))  # httpd's tag of a new file is weak
        tag = seen(coding)
        strong = tag.removeprefix("W/")
        known = coding == "identity" or not kind.stock
        assert (strong != tag) == (kind.name == "elastic" and coding != "identity")
        assert strong == tag or status(tag) == "412"
        assert status(strong) == ("200" if known else "412")
        if known:
            same((tmp_path / "answer").read_bytes(), page.read_bytes())
        before = page.read_bytes()
        new.write_bytes(bodies.html(200_000 + number))
        assert status('"other"', "-T", "new") == "412"
        assert status(strong, "-T", "new") == ("204" if known else "412")
        same(page.read_bytes(), new.read_bytes() if known else before)
        # It is another file now.
        assert not known or status(strong, "-T", "new") == "412"


def test_wget(server, run, tmp_path):
    """wget: whole, resumed, by date again"""
    wget = ["wget", "-q", "--compression=auto"]
    url = urls(server)
    for name, body in FILES.items():
        if "/" not in name:
            run(*wget, f"{url}/{name}")
            same((tmp_path / name).read_bytes(), body)
    for name in ("text.txt", "noise.bin"):
        part = part_of(tmp_path / name, FILES[name])
        run("wget", "-q", "-c", f"{url}/{name}")
        same(part.read_bytes(), FILES[name])
    assert logged(server, path="/text.txt", status="206")
    run("wget", "-q", "-N", f"{url}/page.html")
    run("wget", "-q", "-N", f"{url}/page.html")
    same((tmp_path / "page.html").read_bytes(), FILES["page.html"])
    assert logged(server, path="/page.html", status="304")


def test_wget_mirror(site, run, tmp_path):
    """wget: a mirror of a site, by links in pages that come compressed"""
    server = site(files=SITE)
    run("wget", "-q", "-r", "-l", "inf", "-p", "-nH", "--compression=auto",
        f"{urls(server)}/index.html")
    for name, body in SITE.items():
        same((tmp_path / name).read_bytes(), body)
    assert {answer.coding for answer in logged(server, path="/pages/9.html")} == {"gzip"}


ARIA = ["aria2c", "-q", "--no-conf", "--allow-overwrite=true", "--file-allocation=none"]


@pytest.mark.parametrize("gzip", ["false", "true"], ids=["plain", "gzip"])
def test_aria2(server, run, tmp_path, gzip):
    """aria2: in five parts at a time, resumed, many files; with gzip accepted and without"""
    url = urls(server)
    aria = [*ARIA, f"--http-accept-gzip={gzip}"]
    for name in ("text.txt", "noise.bin"):
        run(*aria, "-x5", "-s5", "-k1M", "-o", name, f"{url}/{name}")
        same((tmp_path / name).read_bytes(), FILES[name])
        # Of what comes in gzip, aria2 takes the length for the file's, whoever the server is.
        if gzip == "false" or name == "noise.bin":
            part = part_of(tmp_path / name, FILES[name])
            run(*[word for word in aria if "overwrite" not in word], "-c", "-o", name,
                f"{url}/{name}")
            same(part.read_bytes(), FILES[name])
    assert logged(server, 3, path="/noise.bin", status="206")
    many = [name for name in FILES if name.startswith("many/")]
    (tmp_path / "list").write_text("".join(f"{url}/{name}\n out={name}\n" for name in many))
    run(*aria, "-j8", "-i", "list")
    for name in many:
        same((tmp_path / name).read_bytes(), FILES[name])
    run("curl", "-sf", "--compressed", f"{url}/text.txt")  # that it could have been encoded
