"""The memory of httpd's children: it is bounded while bodies of any size stream, returned, and not
leaked (LeakSanitizer)."""

import contextlib
import gzip
import signal
import subprocess
import threading

import pytest

from kit import aborts, bodies, check, decode, env, faults, sanitizer
from kit.process import anonymous_kb, settled_kb

SIZE = 1 << 28  # a leak of a byte for each KB would show

# An encoder's memory for one response, in KB: zlib with a window of 15 bits and the largest memory
# level 390; brotli at level 1 with a window of 18 bits 359, by its own calls of malloc.
ENCODER_KB = {"gzip": 400, "br": 360}
SLACK_KB = 256

WARM = bodies.text(3 << 20)


@contextlib.contextmanager
def watch(pid):
    over, readings = threading.Event(), []

    def run():
        while not over.wait(0.01):
            readings.append(anonymous_kb(pid))

    thread = threading.Thread(target=run)
    thread.start()
    yield readings
    over.set()
    thread.join(10)


def consume(server, path, coding, at_quarter):
    """Reads and decodes the response as it comes, and checks its length. Calls `at_quarter` after
    each quarter."""
    decoder = decode.decoder(coding)
    seen = quarters = 0
    with server.connect(timeout=120) as connection:
        response = connection.read_head(connection.send_request(path, ae=coding))
        assert response.status == 200 and response.coding == coding
        for piece in connection.body_pieces(response):
            seen += len(decoder.feed(piece))
            while seen >= (quarters + 1) * SIZE // 4:
                quarters += 1
                at_quarter()
    assert response.complete and decoder.finished() and seen == SIZE


ZEROS = """
head('Content-Type: text/plain')
block = bytes(range(256)) * 256
try:
    for _ in range(%d // len(block)):
        out(block)
except OSError:
    pass  # the client is gone
""" % SIZE


@pytest.fixture
def one_child(httpd):
    server = httpd("Elastic On\nElasticLevel gzip 1\nElasticLevel br 1\n", cgi={"zeros.cgi": ZEROS},
                   files={"warm.txt": WARM}, allow_log=[aborts.LOG], **aborts.ONE_CHILD)
    with open(server.write("sparse.txt", b""), "wb") as file:
        file.truncate(SIZE)
    for _ in range(2):
        assert server.get("/warm.txt").status == 200
    (pid,) = server.children()
    return server, pid, settled_kb(pid)


@pytest.mark.slow
@pytest.mark.unsanitized
@pytest.mark.parametrize("coding", ["gzip", "br"])
@pytest.mark.parametrize("path", ["/zeros.cgi", "/sparse.txt"])
def test_a_large_body_does_not_grow_the_child(one_child, path, coding):
    server, pid, before = one_child
    tops = []  # the maximum of each quarter
    with watch(pid) as readings:
        consume(server, path, coding,
                lambda: tops.append(max([*readings, anonymous_kb(pid)])))
    assert max(readings) - before <= ENCODER_KB[coding] + SLACK_KB
    # Once the encoder exists, memory does not grow with the body. httpd's own memory for a slow
    # client may appear in any quarter; a leak of a byte for each KB appears in all.
    lost = SIZE // 4 // 1024 // 1024
    assert min(after - until for until, after in zip(tops, tops[1:])) <= lost // 2, tops
    assert settled_kb(pid) - before <= ENCODER_KB[coding] + SLACK_KB


@pytest.mark.slow
@pytest.mark.unsanitized
def test_a_client_that_does_not_read_holds_the_body_back(one_child):
    """The server makes no data that the client does not take; the script waits."""
    server, pid, before = one_child
    with server.connect() as connection:
        connection.read_head(connection.send_request("/zeros.cgi", ae="gzip"))
        assert settled_kb(pid) - before <= ENCODER_KB["gzip"] + SLACK_KB
        connection.abort()
    assert server.get("/warm.txt", ae="gzip").body == WARM


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.unsanitized
def test_1000_aborted_requests(httpd):
    """The children survive and answer as before; their memory does not grow with the aborts."""
    server = httpd("Elastic On", cgi=aborts.CGI, files=aborts.FILES, allow_log=[aborts.LOG],
                   **({} if env.MPM == "prefork" else aborts.ONE_CHILD))
    used = []
    for count in (200, 800):
        for index in range(count):
            aborts.midway(server, index)
        for coding in ("gzip", "br"):
            answer = server.get("/large.txt", ae=coding)
            check.encoded(answer, coding, aborts.FILES["large.txt"])
        children = server.children()
        used.append((children, settled_kb(children[0])))
    # prefork ends superfluous children.
    if env.MPM != "prefork":
        assert used[0][0] == used[1][0]
        # 800 encoders of 400 KB would be 320 MB. The pool may keep a context of each kind for each
        # of four threads, depending on how many ran at once.
        assert used[1][1] - used[0][1] <= 16384


FILES = {**aborts.FILES, "tiny.txt": b"tiny", "page.html": bodies.html(5000),
         "page.html.gz": gzip.compress(bodies.html(5000))}


def runtime():
    """The compiler's AddressSanitizer library, which contains LeakSanitizer. LeakSanitizer alone
    recurses forever with glibc 2.39, whose TLS update frees memory."""
    if env.PRELOAD:
        return []
    path = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True,
                          check=True).stdout.strip()
    if not path.startswith("/"):
        pytest.skip("the compiler has no libasan (package libgcc-12-dev or libasan)")
    return [path]


@pytest.fixture
def watched(httpd, tmp_path):
    """watched(CONFIG, NAME...): a server with those faults, whose children search for leaks when
    they end."""
    def make(config="", *names):
        libraries = [faults.library(tmp_path, name) for name in ("keep-libraries", *names)]
        server = httpd("Elastic On\nElasticPrecompressed On\n" + config, start=False,
                       cgi=aborts.CGI, files=FILES, allow_log=[aborts.LOG],
                       wrapper=faults.wrapper(*runtime(), *libraries), **aborts.ONE_CHILD)
        # Every process reports into a directory in which children may write.
        options = "detect_leaks=1:exitcode=0:fast_unwind_on_malloc=0:" \
            f"log_path={server.root}/sanitizer/leak"
        server.environ |= {"LSAN_OPTIONS": options, "ASAN_OPTIONS": options}
        return server.start()

    return make


def leaks_of_ours(server):
    """Ends the server; what its children have lost."""
    server.process.send_signal(signal.SIGWINCH)
    server.process.wait(60)
    found = []
    for report in (server.root / "sanitizer").iterdir():
        found += sanitizer.leaks(report.read_text(errors="replace"))
        report.unlink()
    return found


@pytest.mark.slow
def test_nothing_is_lost_after_many_aborts(watched):
    """Nor after whole bodies, streams, precompressed files, refusals and a reload."""
    server = watched()
    for path in ("/large.txt", "/small.txt", "/tiny.txt", "/stream.cgi", "/page.html"):
        for coding in ("gzip", "br", None):
            assert server.get(path, ae=coding).status == 200
            server.head(path, ae=coding)
    tag = server.get("/small.txt", ae="gzip").headers["ETag"]
    assert server.get("/small.txt", ae="gzip", headers={"If-None-Match": tag}).status == 304
    # aborts.midway() has 24 moments. The single process of prefork waits for each script whose
    # client is gone.
    for index in range(72 if env.MPM == "prefork" else 240):
        aborts.midway(server, index)
    server.status()
    server.graceful()
    assert server.get("/small.txt", ae="br").body == FILES["small.txt"]
    assert leaks_of_ours(server) == []


def test_a_leak_would_be_found(watched):
    server = watched("", "br-leak")
    for _ in range(10):
        check.encoded(server.get("/small.txt", ae="br"), "br", FILES["small.txt"])
    # The function has no name in each report.
    assert any("br-leak.so" in leak for leak in leaks_of_ours(server))
