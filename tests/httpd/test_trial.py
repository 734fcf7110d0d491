"""Content that compresses badly: once a media type is known for it, a probe decides."""

import os

import pytest

from kit import bodies, check, env
from kit.driven import start_driven

NOISE, LARGE, TEXT = bodies.noise(200_000), bodies.noise(1_000_000), bodies.text(200_000)
SHORT_NOISE, SHORT_TEXT = bodies.noise(8_000), bodies.text(8_000)
FILES = {"noise.txt": NOISE, "large.txt": LARGE, "text.txt": TEXT, "noise.json": NOISE,
         "short-noise.txt": SHORT_NOISE, "short-text.txt": SHORT_TEXT, "empty.txt": b"",
         "tiny.txt": bodies.noise(1500)}

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


def probes(server):
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


@pytest.fixture
def poor(httpd):
    """A server that knows it."""
    def make(config="Elastic On", **kw):
        server = httpd(config, files=FILES, **kw)
        server.cgi("stream.cgi", STREAM)
        make_poor(server)
        assert probes(server) == 0
        return server

    return make


def refused(server, path, body, ae="gzip"):
    """The body goes out as it is, and nothing but the notes tells how that came."""
    answer = server.get(path, ae=ae)
    check.plain(answer, body)
    assert server.reason(answer) == "not-smaller"
    return answer


@pytest.mark.parametrize("ae", ["gzip", "br", "br, gzip", *["zstd"] * env.HAS_ZSTD])
def test_a_type_that_saves_nothing_is_probed(poor, ae):
    server = poor()
    for count in range(1, 4):
        answer = refused(server, "/noise.txt", NOISE, ae)
        assert answer.headers["Content-Length"] == str(len(NOISE))
        assert answer.headers["Accept-Ranges"] == "bytes"
        assert answer.headers["ETag"].endswith('"') and "gzip" not in answer.headers["ETag"]
        assert probes(server) == count


def test_a_probe_costs_little(poor):
    """Next to what it costs to encode the body."""
    server = poor()

    def spent(count):
        before = cpu_seconds(server)
        for _ in range(count):
            refused(server, "/large.txt", LARGE)
        return cpu_seconds(server) - before

    probing = spent(40)
    assert probes(server) == 40
    server.restart()
    whole = spent(KNOWN)
    assert probes(server) == 0
    print(whole, probing)
    assert probing / 40 < whole / KNOWN / 2


def test_what_compresses_is_compressed_all_the_same(poor):
    server = poor()
    answer = server.get("/text.txt", ae="gzip")
    check.encoded(answer, "gzip", TEXT)
    assert server.notes(answer)["elastic-level"] == "6"
    assert probes(server) == 1


def test_a_type_recovers(poor):
    server = poor()
    for _ in range(20):
        check.encoded(server.get("/text.txt", ae="gzip"), "gzip", TEXT)
    after = probes(server)
    assert 0 < after < 10
    check.encoded(server.get("/text.txt", ae="gzip"), "gzip", TEXT)
    refused(server, "/noise.txt", NOISE)
    assert probes(server) == after


def test_other_types_are_not_probed(poor):
    server = poor()
    refused(server, "/noise.json", NOISE)
    assert probes(server) == 0


def test_a_short_body_is_its_own_probe(poor):
    """It is encoded at the floor, once."""
    server = poor()
    refused(server, "/short-noise.txt", SHORT_NOISE)
    answer = server.get("/short-text.txt", ae="gzip")
    check.encoded(answer, "gzip", SHORT_TEXT)
    assert server.notes(answer)["elastic-level"] == "1"
    assert probes(server) == 0


def test_small_bodies_tell_nothing(httpd):
    """A few bytes more or less are the coding's own."""
    server = httpd("Elastic On\nElasticMinSize 0", files={**FILES, "small.txt": bodies.noise(500)})
    for _ in range(2 * KNOWN):
        server.get("/small.txt", ae="gzip")
    refused(server, "/noise.txt", NOISE)
    assert probes(server) == 0


def test_a_stream_is_probed_by_what_is_there(poor):
    server = poor()
    answer = refused(server, "/stream.cgi?8000", NOISE)
    assert "Content-Length" not in answer.headers
    assert probes(server) == 1


def test_too_little_of_a_stream_is_no_probe(poor):
    server = poor("Elastic On\nElasticMinSize 0")
    check.encoded(server.get("/stream.cgi?500", ae="gzip"), "gzip", NOISE)
    assert probes(server) == 0


def test_a_large_file_is_probed_before_it_is_streamed(poor):
    text = bodies.text(1_000_000)
    server = poor(f"Elastic On\nElasticWholeBody {len(NOISE)}")
    server.write("large-text.txt", text)
    answer = refused(server, "/large.txt", LARGE)
    assert answer.headers["Content-Length"] == str(len(LARGE))
    answer = server.get("/large-text.txt", ae="gzip")
    check.encoded(answer, "gzip", text)
    assert "Content-Length" not in answer.headers
    assert probes(server) == 2


def test_streams_tell_of_their_type(httpd):
    server = httpd("Elastic On\nElasticWholeBody 0", files=FILES)
    for _ in range(KNOWN):
        check.encoded(server.get("/noise.txt", ae="gzip"), "gzip", NOISE)
    refused(server, "/noise.txt", NOISE)
    assert probes(server) == 1


def test_who_refuses_identity_gets_a_coding(poor):
    server = poor()
    check.encoded(server.get("/noise.txt", ae="gzip, identity;q=0"), "gzip", NOISE)
    assert probes(server) == 0


@pytest.mark.parametrize("config", ["ElasticControl off", "ElasticLevel gzip 6"])
def test_a_level_that_does_not_move_is_not_probed(httpd, config):
    server = httpd("Elastic On\n" + config, files=FILES)
    make_poor(server, 2 * KNOWN)
    answer = server.get("/short-text.txt", ae="gzip")
    assert server.notes(answer)["elastic-level"] != "1"
    assert probes(server) == 0


def test_a_drop_in_filter_encodes_as_stock_does(httpd):
    server = httpd("SetOutputFilter DEFLATE", records=("elastic", "deflate"), files=FILES)
    for _ in range(2 * KNOWN):
        check.encoded(server.get("/noise.txt", ae="gzip"), "gzip", NOISE)
    assert probes(server) == 0


def test_a_probe_is_at_the_floor(httpd):
    """Within its bounds: what the level is that a short body gets."""
    server = httpd("Elastic On\nElasticLevel gzip 3 9", files=FILES)
    make_poor(server)
    answer = server.get("/short-text.txt", ae="gzip")
    check.encoded(answer, "gzip", SHORT_TEXT)
    assert server.notes(answer)["elastic-level"] == "3"


def test_a_stock_compressor_behind_leaves_it_alone(poor):
    server = poor("Elastic On\nAddOutputFilterByType DEFLATE text/plain",
                  modules=("filter", "deflate"))
    refused(server, "/noise.txt", NOISE)


def test_a_reload_remembers_and_a_restart_forgets(poor):
    server = poor()
    server.graceful()
    refused(server, "/noise.txt", NOISE)
    assert probes(server) == 1
    server.restart()
    refused(server, "/noise.txt", NOISE)
    assert probes(server) == 0


def test_at_every_position(httpd):
    """A probe says the same wherever the controller stands."""
    d = start_driven(httpd)
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
    """Its probe would let it go as it is, and httpd would give it the length that it has."""
    server = poor("Elastic On\nSetEnv ap_trust_cgilike_cl 1", cgi={"short.cgi": SHORT},
                  allow_log=["shorter than was announced"])
    answer = server.get("/short.cgi", ae="gzip")
    assert answer.status == 500 or not answer.complete
