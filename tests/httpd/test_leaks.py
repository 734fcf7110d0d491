"""Memory that nobody holds any more at a child's end, by LeakSanitizer."""

import re
import signal
import subprocess

import pytest

from kit import aborts, bodies, env, faults

FILES = {**aborts.FILES, "tiny.txt": b"tiny", "page.html": bodies.html(5000),
         "page.html.gz": b"sibling"}


def runtime():
    """LeakSanitizer's library of the compiler; AddressSanitizer's contains it."""
    if env.PRELOAD:
        return []
    path = subprocess.run(["cc", "-print-file-name=liblsan.so"], capture_output=True, text=True,
                          check=True).stdout.strip()
    if not path.startswith("/"):
        pytest.skip("the compiler has no liblsan (package libgcc-12-dev or liblsan)")
    return [path]


@pytest.fixture
def watched(httpd, tmp_path):
    """A server whose children search for leaks when they end."""
    def make(*further, config=""):
        libraries = [*runtime(), faults.library(tmp_path, "keep-libraries"),
                     *(faults.library(tmp_path, name) for name in further)]
        options = "detect_leaks=1:exitcode=0:fast_unwind_on_malloc=0:log_path={root}/sanitizer/leak"
        text = "Elastic On\nElasticPrecompressed On\n" + config
        server = httpd(text, start=False, cgi=aborts.CGI,
                       files=FILES, wrapper=faults.wrapper(*libraries), allow_log=[aborts.LOG],
                       **aborts.ONE_CHILD)
        # Every process reports into the directory that the children may write to.
        for name in ("LSAN_OPTIONS", "ASAN_OPTIONS"):
            server.environ[name] = options.replace("{root}", str(server.root))
        return server.start()

    return make


def leaks_of_ours(server):
    """Ends the server; the direct leaks whose stack has a frame of the module."""
    server.process.send_signal(signal.SIGWINCH)
    server.process.wait(60)
    found = []
    for report in (server.root / "sanitizer").iterdir():
        blocks = report.read_text(errors="replace").split("\n\n")
        found += [b for b in blocks if "Direct leak" in b and re.search(r"mod_elastic|\bel_", b)]
        report.unlink()
    return found


def use(server, count):
    """A bit of everything: whole bodies, streams, siblings, refusals, clients that go away."""
    for path in ("/large.txt", "/small.txt", "/tiny.txt", "/stream.cgi", "/page.html"):
        for coding in ("gzip", "br", None):
            assert server.get(path, ae=coding).status == 200
            server.head(path, ae=coding)
    tag = server.get("/small.txt", ae="gzip").headers["ETag"]
    assert server.get("/small.txt", ae="gzip", headers={"If-None-Match": tag}).status == 304
    for index in range(count):
        aborts.midway(server, index)
    server.status()
    server.graceful()
    assert server.get("/small.txt", ae="br").body == FILES["small.txt"]


@pytest.mark.slow
def test_nothing_is_lost_after_many_aborts(watched):
    server = watched()
    # aborts.midway() has 24 moments. A single process of prefork waits for each of the scripts
    # whose client is gone.
    use(server, 72 if env.MPM == "prefork" else 240)
    assert leaks_of_ours(server) == []


def test_a_leak_would_be_found(watched):
    """The search itself: with an encoder that is never freed it must find ours."""
    # A context of such a level is larger than what is kept.
    server = watched("gzip-leak", config="ElasticPoolMemory 8M\nElasticLevel gzip 12")
    for _ in range(10):
        server.get("/small.txt", ae="gzip")
    found = leaks_of_ours(server)
    assert any("libdeflate_create" in block or "el_pool_acquire" in block for block in found)
