"""Content that compresses badly: once a media type is known for it, a part of each body is encoded
as a trial, which decides."""

import functools
import os

import pytest

from kit import bodies, check, env

NOISE, LARGE, TEXT = bodies.noise(200_000), bodies.noise(1_000_000), bodies.text(200_000)
HUGE = bodies.noise(1_100_000)
SHORT_NOISE, SHORT_TEXT = bodies.noise(8_000), bodies.text(8_000)
FILES = {"noise.txt": NOISE, "large.txt": LARGE, "text.txt": TEXT, "noise.json": NOISE,
         "short-noise.txt": SHORT_NOISE, "short-text.txt": SHORT_TEXT, "empty.txt": b"",
         "tiny.txt": bodies.noise(1500), "huge.txt": HUGE}

# How many bodies of a type are encoded before it is known.
KNOWN = 8

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


def make_poor(server, count=KNOWN, ae="gzip"):
    """Lets text/plain be known for saving nothing."""
    for _ in range(count):
        check.plain(server.get("/noise.txt", ae=ae), NOISE)


class Poor:
    """A server on which text/plain is known for saving nothing."""

    def __init__(self, httpd, config="Elastic On", cgi=None, **kw):
        self.server = httpd(config, files=FILES, cgi={"stream.cgi": STREAM, **(cgi or {})}, **kw)
        self._before = 0
        make_poor(self.server)
        assert self.trials() == 0

    def get(self, path, ae="gzip"):
        return self.server.get(path, ae=ae)

    def trials(self):
        """Since the last call."""
        before, self._before = self._before, trials(self.server)
        return self._before - before

    def encodes(self, path, body, level=None):
        answer = self.get(path)
        check.encoded(answer, "gzip", body)
        assert level is None or self.server.notes(answer)["elastic-level"] == level
        return answer

    def refuses(self, path, body, ae="gzip"):
        return refused(self.server, path, body, ae)


@pytest.fixture
def poor(httpd):
    return functools.partial(Poor, httpd)


@pytest.fixture(scope="module")
def shared(httpd_shared):
    """Of these, tests see the counter's growth only: the type stays poor."""
    return Poor(httpd_shared)


@pytest.fixture
def site(shared):
    make_poor(shared.server, 1)
    shared.trials()
    return shared


def refused(server, path, body, ae="gzip"):
    """The body goes out as it is, and nothing but the notes says why."""
    answer = server.get(path, ae=ae)
    check.plain(answer, body)
    assert server.reason(answer) == "not-smaller"
    return answer


@pytest.mark.parametrize("ae", ["gzip", "br", "br, gzip", *["zstd"] * env.HAS_ZSTD])
def test_a_type_that_saves_nothing_is_tried(site, ae):
    for _ in range(3):
        answer = site.refuses("/noise.txt", NOISE, ae)
        assert answer.headers["Content-Length"] == str(len(NOISE))
        assert answer.headers["Accept-Ranges"] == "bytes"
        assert answer.headers["ETag"].endswith('"') and "gzip" not in answer.headers["ETag"]
        assert site.trials() == 1


def test_a_trial_costs_little(poor):
    """Next to what it costs to encode the body."""
    site = poor()

    def spent(count):
        before = cpu_seconds(site.server)
        for _ in range(count):
            site.refuses("/large.txt", LARGE)
        return cpu_seconds(site.server) - before

    trying = spent(40)
    assert trials(site.server) == 40
    site.server.restart()
    whole = spent(KNOWN)
    assert trials(site.server) == 0
    assert trying / 40 < whole / KNOWN / 2


def test_what_compresses_is_compressed_all_the_same(poor):
    site = poor()
    site.encodes("/text.txt", TEXT, "6")
    assert site.trials() == 1


def test_a_type_recovers(poor):
    site = poor()
    for _ in range(20):
        site.encodes("/text.txt", TEXT)
    assert 0 < site.trials() < 10
    site.encodes("/text.txt", TEXT)
    site.refuses("/noise.txt", NOISE)
    assert site.trials() == 0


def test_bodies_of_other_types_and_for_clients_that_refuse_identity_are_not_tried(site):
    site.refuses("/noise.json", NOISE)
    check.encoded(site.get("/noise.txt", "gzip, identity;q=0"), "gzip", NOISE)
    assert site.trials() == 0


@pytest.mark.parametrize("bounds,floor", [("1 9", "1"), ("3 9", "3")])
def test_a_short_body_is_its_own_trial(poor, bounds, floor):
    """It is encoded at the floor, once."""
    site = poor(f"Elastic On\nElasticLevel gzip {bounds}")
    site.refuses("/short-noise.txt", SHORT_NOISE)
    site.encodes("/short-text.txt", SHORT_TEXT, floor)
    assert site.trials() == 0


def test_small_bodies_do_not_count(httpd):
    """A few bytes more or less are the coding's own."""
    server = httpd("Elastic On\nElasticMinSize 0", files={**FILES, "small.txt": bodies.noise(500)})
    for _ in range(2 * KNOWN):
        server.get("/small.txt", ae="gzip")
    refused(server, "/noise.txt", NOISE)
    assert trials(server) == 0


def test_a_stream_is_tried_by_what_is_there(site):
    answer = check.once(lambda: site.get("/stream.cgi?8000", "gzip"),
                        lambda answer: answer.coding is None)
    check.plain(answer, NOISE)
    assert site.server.reason(answer) == "not-smaller"
    assert "Content-Length" not in answer.headers
    assert site.trials() == 1


def test_too_little_of_a_stream_is_not_tried(poor):
    site = poor("Elastic On\nElasticMinSize 0")
    site.encodes("/stream.cgi?500", NOISE)
    assert site.trials() == 0


def test_a_large_file_is_tried_before_it_is_streamed(poor):
    text = bodies.text(1_000_000)
    site = poor(f"Elastic On\nElasticWholeBody {len(NOISE)}")
    site.server.write("large-text.txt", text)
    answer = site.refuses("/large.txt", LARGE)
    assert answer.headers["Content-Length"] == str(len(LARGE))
    assert "Content-Length" not in site.encodes("/large-text.txt", text).headers
    assert site.trials() == 2


def test_streams_count_for_their_type(httpd):
    server = httpd("Elastic On\nElasticWholeBody 0", files=FILES)
    for _ in range(KNOWN):
        check.encoded(server.get("/noise.txt", ae="gzip"), "gzip", NOISE)
    refused(server, "/noise.txt", NOISE)
    assert trials(server) == 1


@pytest.mark.parametrize("config", ["ElasticControl off", "ElasticLevel gzip 6"])
def test_where_the_level_does_not_move_nothing_is_tried(httpd, config):
    server = httpd("Elastic On\n" + config, files=FILES)
    make_poor(server, 2 * KNOWN)
    answer = server.get("/short-text.txt", ae="gzip")
    assert server.notes(answer)["elastic-level"] != "1"
    assert trials(server) == 0


def test_a_drop_in_filter_encodes_as_stock_does(httpd):
    server = httpd("SetOutputFilter DEFLATE", records=("elastic", "deflate"), files=FILES)
    for _ in range(2 * KNOWN):
        check.encoded(server.get("/noise.txt", ae="gzip"), "gzip", NOISE)
    assert trials(server) == 0


def test_a_stock_compressor_behind_leaves_it_alone(poor):
    poor("Elastic On\nAddOutputFilterByType DEFLATE text/plain",
         modules=("filter", "deflate")).refuses("/noise.txt", NOISE)


def test_a_reload_keeps_what_is_known_and_a_restart_does_not(poor):
    site = poor()
    site.server.graceful()
    site.refuses("/noise.txt", NOISE)
    assert trials(site.server) == 1
    site.server.restart()
    site.refuses("/noise.txt", NOISE)
    assert trials(site.server) == 0


def test_at_every_position(driven):
    """A trial has the same result wherever the controller is."""
    d = driven()
    d.server.write("noise.txt", NOISE)
    d.server.write("text.txt", TEXT)
    make_poor(d.server)
    for position in (0, 8):
        d.walk_to(position)
        refused(d.server, "/noise.txt", NOISE)
        answer = d.server.get("/text.txt", ae="gzip")
        check.encoded(answer, "gzip", TEXT)
        assert d.server.notes(answer)["elastic-level"] == str(position + 1)


SHORT = """\
head('Content-Type: text/plain', 'Content-Length: 90000')
out(bodies.noise(40000))
"""


def test_a_body_that_comes_short_is_never_whole(poor):
    """Its trial would let it go as it is, and httpd would give it the length that it has."""
    site = poor("Elastic On\nSetEnv ap_trust_cgilike_cl 1", cgi={"short.cgi": SHORT},
                allow_log=["shorter than was announced"])
    answer = site.get("/short.cgi")
    assert answer.status == 500 or not answer.complete
