"""Memory while bodies stream: bounded, whatever their size, and given back."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from kit import aborts, bodies, check, decode, env
from kit.process import anonymous_kb

# A sanitizer's own memory is not the module's, and its server is slow: there the sizes are smaller
# and only the bodies are checked.
SANITIZED = bool(env.PRELOAD)
# A byte that is lost for each KB would show.
SIZE = 1 << 26 if SANITIZED else 1 << 28

# What the encoders hold for one response, in KB: zlib with a window of 15 bits and the largest
# memory level 390; brotli at level 1 with a window of 18 bits 359, by its own calls of malloc.
ENCODER_KB = {"gzip": 400, "br": 360}
SLACK_KB = 256

WARM = bodies.text(3 << 20)


def settle(pid):
    """The child's private memory when nothing moves any more."""
    last = anonymous_kb(pid)
    while True:
        time.sleep(0.2)
        now = anonymous_kb(pid)
        if abs(now - last) <= 16:
            return now
        last = now


class Watch(threading.Thread):
    """Reads the child's private memory all the while."""

    def __init__(self, pid):
        super().__init__()
        self._pid = pid
        self._over = threading.Event()
        self.readings = []

    def run(self):
        while not self._over.wait(0.01):
            self.readings.append(anonymous_kb(self._pid))

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self.join(10)


def consume(server, path, coding, size, at_quarter=None):
    """Reads the response and decodes it as it comes: whole, and as long as it should be. Calls
    `at_quarter` when another quarter of it has come."""
    decoder = decode.decoder(coding)
    seen = quarters = 0
    with server.connect(timeout=120) as connection:
        response = connection.read_head(connection.send_request(path, ae=coding))
        assert response.status == 200 and response.coding == coding
        for piece in connection.body_pieces(response):
            seen += len(decoder.feed(piece))
            while at_quarter and seen >= (quarters + 1) * size // 4:
                quarters += 1
                at_quarter()
    assert response.complete and decoder.finished() and seen == size


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
    with open(server.docs / "sparse.txt", "wb") as file:
        file.truncate(SIZE)
    (server.docs / "sparse.txt").chmod(0o644)
    return server


@pytest.mark.slow
@pytest.mark.parametrize("coding", ["gzip", "br"])
@pytest.mark.parametrize("path", ["/zeros.cgi", "/sparse.txt"])
def test_a_large_body_does_not_grow_the_child(one_child, path, coding):
    server = one_child
    for _ in range(2):  # what httpd itself makes at its first requests
        assert server.get("/warm.txt").status == 200
    (pid,) = server.children()
    before = settle(pid)
    tops = []  # the most until each quarter's end
    with Watch(pid) as watch:

        def at_quarter():
            watch.readings.append(anonymous_kb(pid))
            tops.append(max(watch.readings))

        consume(server, path, coding, SIZE, at_quarter)
    if SANITIZED:
        return
    assert max(watch.readings) - before <= ENCODER_KB[coding] + SLACK_KB
    # Once the encoder is there nothing grows with the body. What httpd itself holds for a client
    # that is slow at times may come in any quarter; a byte that is lost for each KB, in all of
    # them.
    lost = SIZE // 4 // 1024 // 1024
    assert min(after - until for until, after in zip(tops, tops[1:])) <= lost // 2, tops
    assert settle(pid) - before <= ENCODER_KB[coding] + SLACK_KB


@pytest.mark.slow
def test_a_client_that_does_not_read_holds_the_body_back(one_child):
    """What the client does not take is not made: the script waits instead."""
    server = one_child
    assert server.get("/warm.txt").status == 200
    (pid,) = server.children()
    before = settle(pid)
    with server.connect() as connection:
        connection.read_head(connection.send_request("/zeros.cgi", ae="gzip"))
        time.sleep(2)
        held = anonymous_kb(pid) - before
        connection.abort()
    if not SANITIZED:
        assert held <= ENCODER_KB["gzip"] + SLACK_KB
    assert server.get("/warm.txt", ae="gzip").body == WARM


def text_of(size):
    return "head('Content-Type: text/plain')\nimport hashlib\n" \
           "for i in range(%d):\n" \
           "    out((hashlib.sha256(b'%%d' %% i).hexdigest() + 'streaming ') * 400)\n" \
           "    time.sleep(0.002)\n" % (size // 29600)


@pytest.mark.smoke
def test_64_parallel_streams(httpd):
    """Each client gets its own body, whole, in both codings at once."""
    server = httpd("Elastic On", cgi={"stream.cgi": text_of(600000)},
                   files={"large.txt": bodies.text(3 << 20)})
    expected = server.get("/stream.cgi").raw
    assert len(expected) > 500000
    children = set(server.children())

    def client(index):
        path, want = (("/stream.cgi", expected), ("/large.txt", bodies.text(3 << 20)))[index % 2]
        coding = ("gzip", "br", "gzip", "br", None)[index % 5]
        check.whole(server.get(path, ae=coding, timeout=120), coding, want)

    with ThreadPoolExecutor(64) as pool:
        list(pool.map(client, range(64)))
    assert children & set(server.children())


@pytest.fixture
def abortable(httpd):
    return httpd("Elastic On", cgi=aborts.CGI, files=aborts.FILES, allow_log=[aborts.LOG],
                 **({} if env.MPM == "prefork" else aborts.ONE_CHILD))


@pytest.mark.slow
def test_1000_aborted_requests(abortable):
    """The children live and answer as before; their memory does not follow the aborts."""
    server = abortable

    def batch(count):
        for index in range(count):
            aborts.midway(server, index)

    def well():
        for coding in ("gzip", "br"):
            answer = server.get("/large.txt", ae=coding)
            check.encoded(answer, coding, aborts.FILES["large.txt"])

    batch(200)
    well()
    children = server.children()
    if env.MPM == "prefork" or SANITIZED:
        batch(800)
        well()
        assert env.MPM == "prefork" or server.children() == children
        return
    (pid,) = children
    before = settle(pid)
    batch(800)
    well()
    assert server.children() == children
    # 800 encoders of 400 KB would be 320 MB. What may be kept besides is a context of each kind for
    # each of four threads, depending on how many of them met.
    assert settle(pid) - before <= 16384
