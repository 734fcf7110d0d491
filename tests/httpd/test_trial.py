"""Content that compresses badly: of what is streamed, the first piece is encoded as a trial, which
decides. What is encoded whole needs none."""

import os

import pytest

from kit import bodies, check, env

NOISE, TEXT = bodies.noise(200_000), bodies.text(200_000)
# Above the default of ElasticWholeBody.
LARGE, LARGE_TEXT = bodies.noise(1_100_000), bodies.text(1_100_000)
SHORT_NOISE = bodies.noise(12_000)
FILES = {"noise.txt": NOISE, "text.txt": TEXT, "large.txt": LARGE, "large-text.txt": LARGE_TEXT,
         "short-noise.txt": SHORT_NOISE}

STREAM = """
head('Content-Type: text/plain')
first = int(os.environ['QUERY_STRING'])
body = bodies.noise(200_000)
out(body[:first])
time.sleep(.3)
out(body[first:])
"""


def trials(server):
    return int(server.status()["ElasticProbes"])


def cpu_seconds(server):
    """Of all children, in ticks of the kernel."""
    ticks = 0
    for pid in server.children():
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            ticks += sum(map(int, stat.read().rpartition(")")[2].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


class Site:
    """A server whose trials are counted from one call to the next."""

    def __init__(self, server):
        self.server = server
        self._before = trials(server)

    def trials(self):
        """Since the last call."""
        before, self._before = self._before, trials(self.server)
        return self._before - before

    def encodes(self, path, body, ae="gzip"):
        answer = self.server.get(path, ae=ae)
        check.encoded(answer, "gzip", body)
        return answer

    def refuses(self, path, body, ae="gzip"):
        """The body goes out as it is, and nothing but the notes says why."""
        answer = self.server.get(path, ae=ae)
        check.plain(answer, body)
        assert self.server.reason(answer) == "not-smaller"
        return answer


@pytest.fixture
def made(httpd):
    def start(config="Elastic On", cgi=None, **kw):
        return Site(httpd(config, files=FILES, cgi={"stream.cgi": STREAM, **(cgi or {})}, **kw))

    return start


@pytest.fixture(scope="module")
def shared(httpd_shared):
    return httpd_shared("Elastic On", files=FILES)


@pytest.fixture
def site(shared):
    return Site(shared)


@pytest.mark.parametrize("ae", ["gzip", "br", "br, gzip", *["zstd"] * env.HAS_ZSTD])
def test_a_large_body_that_saves_nothing_is_not_encoded(site, ae):
    """From the first one on: nothing has to be known of its type."""
    for _ in range(3):
        answer = site.refuses("/large.txt", LARGE, ae)
        assert answer.headers["Content-Length"] == str(len(LARGE))
        assert answer.headers["Accept-Ranges"] == "bytes"
        assert answer.headers["ETag"].endswith('"') and "gzip" not in answer.headers["ETag"]
        assert site.trials() == 1


def test_a_large_body_that_compresses_is_streamed_all_the_same(site):
    for _ in range(3):
        site.refuses("/large.txt", LARGE)
        assert "Content-Length" not in site.encodes("/large-text.txt", LARGE_TEXT).headers
    assert site.trials() == 6


def test_what_is_encoded_whole_is_not_tried(made):
    """It goes out as it is where that did not help, and says nothing of the next one."""
    site = made("Elastic On\nElasticControl step\nElasticCPU 0 100")  # a level that stays
    level = site.server.notes(site.encodes("/text.txt", TEXT))["elastic-level"]
    for _ in range(20):
        site.refuses("/noise.txt", NOISE)
    assert site.server.notes(site.encodes("/text.txt", TEXT))["elastic-level"] == level
    site.refuses("/short-noise.txt", SHORT_NOISE)
    assert site.trials() == 0


def test_a_trial_costs_little(made):
    """Next to what it costs to encode the body."""
    site = made()

    def spent(count, ae):
        before = cpu_seconds(site.server)
        for _ in range(count):
            assert site.server.get("/large.txt", ae=ae).complete
        return cpu_seconds(site.server) - before

    whole = spent(8, "gzip, identity;q=0")
    assert site.trials() == 0
    trying = spent(40, "gzip")
    assert site.trials() == 40
    assert trying / 40 < whole / 8 / 2


def test_a_client_that_refuses_identity_gets_no_trial(site):
    site.encodes("/large.txt", LARGE, "gzip, identity;q=0")
    assert site.trials() == 0


def test_a_stream_is_tried_by_what_is_there(made):
    site = made()
    answer = check.once(lambda: site.server.get("/stream.cgi?8000", ae="gzip"),
                        lambda answer: answer.coding is None)
    check.plain(answer, NOISE)
    assert site.server.reason(answer) == "not-smaller"
    assert "Content-Length" not in answer.headers
    assert site.trials() == 1


def test_too_little_of_a_stream_is_not_tried(made):
    site = made("Elastic On\nElasticMinSize 0")
    site.encodes("/stream.cgi?500", NOISE)
    assert site.trials() == 0


def test_a_body_that_is_no_longer_than_a_trial_is_streamed_without(made):
    site = made("Elastic On\nElasticWholeBody 0")
    site.encodes("/short-noise.txt", SHORT_NOISE)
    assert site.trials() == 0
    site.refuses("/noise.txt", NOISE)
    assert site.trials() == 1


@pytest.mark.parametrize("config", ["ElasticControl off", "ElasticLevel gzip 6"])
def test_where_the_level_does_not_move_nothing_is_tried(made, config):
    site = made("Elastic On\n" + config)
    site.encodes("/large.txt", LARGE)
    assert site.trials() == 0


def test_a_drop_in_filter_encodes_as_stock_does(made):
    site = made("SetOutputFilter DEFLATE", records=("elastic", "deflate"))
    site.encodes("/large.txt", LARGE)
    assert site.trials() == 0


def test_a_stock_compressor_behind_leaves_it_alone(made):
    made("Elastic On\nAddOutputFilterByType DEFLATE text/plain",
         modules=("filter", "deflate")).refuses("/large.txt", LARGE)


def test_at_every_position(driven):
    """A trial has the same result wherever the controller is."""
    d = driven()
    for name, body in FILES.items():
        d.server.write(name, body)
    site = Site(d.server)
    for position in (0, 8):
        d.walk_to(position)
        site.refuses("/large.txt", LARGE)
        answer = site.encodes("/large-text.txt", LARGE_TEXT)
        assert d.server.notes(answer)["elastic-level"] == str(position + 1)
    assert site.trials() == 4


SHORT = """\
head('Content-Type: text/plain', 'Content-Length: 1100000')
out(bodies.noise(40000))
"""


def test_a_body_that_comes_short_is_never_whole(made):
    """Its trial would let it go as it is, and httpd would give it the length that it has."""
    site = made("Elastic On\nSetEnv ap_trust_cgilike_cl 1", cgi={"short.cgi": SHORT},
                allow_log=["shorter than was announced"])
    answer = site.server.get("/short.cgi", ae="gzip")
    assert answer.status == 500 or not answer.complete
