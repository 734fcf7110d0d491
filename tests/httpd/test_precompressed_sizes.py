"""scripts/precompress makes no file that is larger than the server's own encoding."""

import pathlib
import random
import subprocess

import pytest

from kit import at, bodies, env

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "precompress"
EXTENSIONS = {"gzip": "gz", "br": "br", "zstd": "zst"}

LEVELS = {"gzip": range(1, 13 if env.HAS_LIBDEFLATE else 10), "br": range(12)}
if env.HAS_ZSTD:
    LEVELS["zstd"] = range(1, 20)


def records(count):
    """JSON whose lines differ by numbers."""
    source = random.Random(count)
    return b"[" + b",\n".join(b'{"id": %d, "value": %d, "name": "n%d"}' % (
        number, source.randrange(10**6), source.randrange(50)) for number in range(count)) + b"]"


BODIES = {
    "words.txt": bodies.text(300), "small.json": records(20), "page.html": bodies.html(20000),
    "dense.txt": bodies.noise(3000) + bytes(200),
    # For the smallest files, a lower level or another library may make fewer bytes.
    **{f"tiny{size}.txt": bodies.text(size // 2) + b"a" * (size // 2)
       for size in range(30, 120, 7)},
    "data.json": records(3000),  # larger than the files of which precompress tries every level
}


@pytest.mark.parametrize("coding", LEVELS)
def test_no_precompressed_file_is_larger_than_what_the_server_would_send(httpd, coding):
    server = httpd("ElasticMinSize 0\nElasticControl off\n" + at("kept", "ElasticPrecompressed On")
                   + "".join(at(str(level), "Elastic On", f"ElasticLevel {coding} {level}")
                             for level in LEVELS[coding]), files=BODIES)
    subprocess.run([env.PYTHON, SCRIPT, "--quiet", "--all", server.docs], check=True, timeout=300)
    for name, body in BODIES.items():
        kept = server.get(f"/kept/{name}", ae=coding)
        assert kept.body == body
        assert kept.coding == coding or not (server.docs / f"{name}.{EXTENSIONS[coding]}").exists()
        assert kept.coding == coding or name != "page.html"
        for level in LEVELS[coding]:
            sent = server.get(f"/{level}/{name}", ae=coding)
            assert sent.body == body
            assert len(kept.raw) <= len(sent.raw), (name, level)
