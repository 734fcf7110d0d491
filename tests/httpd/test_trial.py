"""Content that compresses badly: the first piece of a stream is encoded as a trial, which decides.
Bodies that are encoded whole need no trial."""

import os

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


class Site:
    """A server that counts its trials between calls."""

    def __init__(self, server):
        self.server = server
        self._before = 0
        self.trials()

    def trials(self):
        """The number of trials since the last call."""
        before, self._before = self._before, int(self.server.status()["ElasticProbes"])
        return self._before - before

    def encodes(self, name, ae="gzip"):
        answer = self.server.get(f"/{name}", ae=ae)
        check.encoded(answer, "gzip", FILES.get(name, FILES["noise.txt"]))
        return answer

    def refuses(self, name, ae="gzip"):
        """The response is uncompressed, and only the notes give the reason."""
        answer = self.server.get(f"/{name}", ae=ae)
        check.plain(answer, FILES[name])
        assert self.server.reason(answer) == "not-smaller"
        return answer


@pytest.fixture
def made(httpd):
    def start(config="Elastic On", **kw):
        return Site(httpd(config, files=FILES, cgi=CGI, **kw))

    return start


@pytest.fixture(scope="module")
def shared(httpd_shared):
    return httpd_shared("Elastic On", files=FILES)


@pytest.fixture
def site(shared):
    return Site(shared)


@pytest.mark.parametrize("ae", ["gzip", "br", "br, gzip", *["zstd"] * env.HAS_ZSTD])
def test_a_large_body_that_saves_nothing_is_not_encoded(site, ae):
    """Already the first body: its type need not be known."""
    for _ in range(3):
        answer = site.refuses("large.txt", ae)
        assert answer.headers["Content-Length"] == "1100000"
        assert answer.headers["Accept-Ranges"] == "bytes"
        assert answer.headers["ETag"].endswith('"') and "gzip" not in answer.headers["ETag"]
        assert site.trials() == 1


def test_a_large_body_that_compresses_is_streamed_all_the_same(site):
    for _ in range(3):
        site.refuses("large.txt")
        assert "Content-Length" not in site.encodes("large-text.txt").headers
    assert site.trials() == 6


def test_what_is_encoded_whole_is_not_tried(made):
    """The body is sent uncompressed if that did not help; this does not affect the next one."""
    site = made("Elastic On\nElasticControl step\nElasticCPU 0 100")  # a level that stays
    level = site.server.notes(site.encodes("text.txt"))["elastic-level"]
    for _ in range(20):
        site.refuses("noise.txt")
    assert site.server.notes(site.encodes("text.txt"))["elastic-level"] == level
    site.refuses("short.txt")
    assert site.trials() == 0


def test_a_trial_costs_little(made):
    """Compared with encoding the body."""
    site = made()

    def spent(count, ae):
        """CPU time of all children for a request, in ticks of the kernel."""
        ticks = [0, 0]
        for turn in range(2):
            for pid in site.server.children():
                with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
                    ticks[turn] += sum(map(int, stat.read().rpartition(")")[2].split()[11:13]))
            for _ in range(count * (1 - turn)):
                assert site.server.get("/large.txt", ae=ae).complete
        return (ticks[1] - ticks[0]) / os.sysconf("SC_CLK_TCK") / count

    whole = spent(8, "gzip, identity;q=0")
    assert site.trials() == 0
    trying = spent(40, "gzip")
    assert site.trials() == 40
    assert trying < whole / 2


@pytest.mark.parametrize("levels", ["1 2", "8 9"])
def test_any_level_may_be_tried(made, levels):
    site = made(f"Elastic On\nElasticLevel gzip {levels}")
    site.refuses("large.txt")
    site.encodes("large-text.txt")
    assert site.trials() == 2


def test_a_stream_is_tried_by_what_is_there(made):
    site = made()
    answer = check.once(lambda: site.server.get("/stream.cgi?8000", ae="gzip"),
                        lambda answer: answer.coding is None)
    check.plain(answer, FILES["noise.txt"])
    assert site.server.reason(answer) == "not-smaller" and "Content-Length" not in answer.headers
    assert site.trials() == 1


def test_a_body_that_is_longer_than_what_is_encoded_whole_is_tried(made):
    site = made("Elastic On\nElasticWholeBody 0")
    site.refuses("noise.txt")
    assert site.trials() == 1


@pytest.mark.parametrize("config,name,ae", [
    ("Elastic On", "large.txt", "gzip, identity;q=0"),  # the client accepts nothing else
    ("Elastic On\nElasticMinSize 0", "stream.cgi?500", "gzip"),  # too little is there
    ("Elastic On\nElasticWholeBody 0", "short.txt", "gzip"),  # no longer than a trial
    ("Elastic On\nElasticControl off", "large.txt", "gzip"),  # a fixed level
    ("Elastic On\nElasticLevel gzip 6", "large.txt", "gzip"),
    ("SetOutputFilter DEFLATE", "large.txt", "gzip")])
def test_what_is_encoded_without_a_trial(made, config, name, ae):
    site = made(config, records=("elastic", "deflate"))
    site.encodes(name, ae)
    assert site.trials() == 0


def test_a_stock_compressor_behind_leaves_it_alone(made):
    made("Elastic On\nAddOutputFilterByType DEFLATE text/plain",
         modules=("filter", "deflate")).refuses("large.txt")


def test_a_scripts_body_that_comes_short_is_whole(made):
    site = made("Elastic On\nSetEnv ap_trust_cgilike_cl 1")
    answer = site.server.get("/short.cgi", ae="gzip")
    assert answer.complete
    check.whole(answer, answer.coding, bodies.noise(40_000))
