"""Content that compresses badly: the first piece of a stream is encoded as a trial, which decides.
Bodies that are encoded whole need no trial."""

import contextlib
from pathlib import Path

import pytest

from kit import bodies, check, env

# Above the default of ElasticWholeBody, above ElasticWholeBody 0, and shorter than a trial.
FILES = {"large.txt": bodies.noise(1_100_000), "large-text.txt": bodies.text(1_100_000),
         "noise.txt": bodies.noise(200_000), "text.txt": bodies.text(200_000),
         "short.txt": bodies.noise(12_000)}

STREAM = """
head('Content-Type: text/plain')
first = int(os.environ['QUERY_STRING'])
body = bodies.noise(200_000)
out(body[:first])
time.sleep(.3)
out(body[first:])
"""
# After a trial it may be sent uncompressed, but not with that length.
SHORT = "head('Content-Type: text/plain', 'Content-Length: 1100000')\nout(bodies.noise(40000))\n"
CGI = {"stream.cgi": STREAM, "short.cgi": SHORT}


@pytest.fixture
def made(httpd):
    """made(config): a server; encodes(), refuses() and trials() are asked of it."""
    return lambda config="Elastic On", **kw: httpd(config, files=FILES, cgi=CGI, **kw)


@pytest.fixture(scope="module")
def shared(httpd_shared):
    return httpd_shared("Elastic On", files=FILES)


@contextlib.contextmanager
def trials(server, count):
    """So many trials are in the block."""
    before = int(server.status()["ElasticProbes"])
    yield
    assert int(server.status()["ElasticProbes"]) - before == count


def encodes(server, name, ae="gzip"):
    answer = server.get(f"/{name}", ae=ae)
    check.encoded(answer, "gzip", FILES.get(name, FILES["noise.txt"]))
    return answer


def refuses(server, name, ae="gzip"):
    """The response is uncompressed, and only the notes give the reason."""
    answer = server.get(f"/{name}", ae=ae)
    check.plain(answer, FILES[name])
    assert server.reason(answer) == "not-smaller"
    return answer


@pytest.mark.parametrize("ae", ["gzip", "br", "br, gzip", *["zstd"] * env.HAS_ZSTD])
def test_a_large_body_that_saves_nothing_is_not_encoded(shared, ae):
    """Already the first body: its type need not be known."""
    for _ in range(3):
        with trials(shared, 1):
            answer = refuses(shared, "large.txt", ae)
        assert answer.headers["Content-Length"] == "1100000"
        assert answer.headers["Accept-Ranges"] == "bytes"
        assert answer.headers["ETag"].endswith('"') and "gzip" not in answer.headers["ETag"]
        with trials(shared, 1):  # what compresses is streamed all the same
            assert "Content-Length" not in encodes(shared, "large-text.txt").headers


def test_what_is_encoded_whole_is_not_tried(made):
    """The body is sent uncompressed if that did not help; this does not affect the next one."""
    server = made("Elastic On\nElasticControl step\nElasticCPU 0 100")  # a level that stays
    with trials(server, 0):
        level = server.notes(encodes(server, "text.txt"))["elastic-level"]
        for _ in range(20):
            refuses(server, "noise.txt")
        assert server.notes(encodes(server, "text.txt"))["elastic-level"] == level
        refuses(server, "short.txt")


def test_a_trial_costs_little(made):
    """Compared with encoding the body."""
    server = made()

    def ticks():
        """CPU time of all children, in the kernel's ticks."""
        return sum(sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                           [11:13])) for pid in server.children())

    def spent(count, ae):
        """CPU time for a request."""
        before = ticks()
        for _ in range(count):
            assert server.get("/large.txt", ae=ae).complete
        return (ticks() - before) / count

    with trials(server, 0):
        whole = spent(8, "gzip, identity;q=0")
    with trials(server, 40):
        assert spent(40, "gzip") < whole / 2


@pytest.mark.parametrize("config,names", [
    ("Elastic On\nElasticLevel gzip 1 2", ["large.txt", "large-text.txt"]),  # at any level
    ("Elastic On\nElasticLevel gzip 8 9", ["large.txt", "large-text.txt"]),
    ("Elastic On\nElasticWholeBody 0", ["noise.txt"])])  # longer than what is encoded whole
def test_what_is_tried(made, config, names):
    server = made(config)
    with trials(server, len(names)):
        for name in names:
            (encodes if "text" in name else refuses)(server, name)


def test_a_stream_is_tried_by_what_is_there(made):
    server = made("Elastic On\nSetEnv ap_trust_cgilike_cl 1")
    with trials(server, 1):
        answer = check.once(lambda: server.get("/stream.cgi?8000", ae="gzip"),
                            lambda answer: answer.coding is None)
        check.plain(answer, FILES["noise.txt"])
        assert server.reason(answer) == "not-smaller" and "Content-Length" not in answer.headers
    # A script's body that comes short is whole.
    answer = server.get("/short.cgi", ae="gzip")
    assert answer.complete
    check.whole(answer, answer.coding, bodies.noise(40_000))


@pytest.mark.parametrize("config,name,ae", [
    ("Elastic On", "large.txt", "gzip, identity;q=0"),  # the client accepts nothing else
    ("Elastic On\nElasticMinSize 0", "stream.cgi?500", "gzip"),  # too little is there
    ("Elastic On\nElasticWholeBody 0", "short.txt", "gzip"),  # no longer than a trial
    ("Elastic On\nElasticControl off", "large.txt", "gzip"),  # a fixed level
    ("Elastic On\nElasticLevel gzip 6", "large.txt", "gzip"),
    ("SetOutputFilter DEFLATE", "large.txt", "gzip")])
def test_what_is_encoded_without_a_trial(made, config, name, ae):
    server = made(config, records=("elastic", "deflate"))
    with trials(server, 0):
        encodes(server, name, ae)


def test_a_stock_compressor_behind_leaves_it_alone(made):
    refuses(made("Elastic On\nAddOutputFilterByType DEFLATE text/plain",
                 modules=("filter", "deflate")), "large.txt")
