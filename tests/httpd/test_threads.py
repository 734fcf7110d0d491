"""Many clients with different requests at once: each gets its own response. With ThreadSanitizer,
data races of the module are reported, too."""

import gzip
import random
from concurrent.futures import ThreadPoolExecutor

import brotli
import pytest

from kit import at, bodies, check, env
from kit.cache import MISSED, make_directory
from kit.dictionary import DICT, PAGE, STORE, WEEK, ask, body_of, learn, make_store
from kit.keep import SHMCB

CLIENTS, REQUESTS = 16, 120
PLACES = {
    "kept": ["ElasticCache On"],
    "new": ["ElasticCache Off"],
    "packed": ["ElasticPrecompressed On"],
    "stored": ["CacheEnable disk"],
}
CONFIG = f"""
Elastic On
ElasticInterval 500ms
ElasticControl mix
ElasticCacheStore shmcb:(1048576)
CacheRoot {{root}}/cache
CacheDirLevels 1
CacheDirLength 1
{STORE}
<Location /echo>
    SetHandler reflector
    ReflectorHeader Content-Type
    ElasticInflate On
</Location>
{at("d", 'ElasticDictionary match="/pages/*"', WEEK)}{at("pages")}
""" + "".join(at(name, *lines) for name, lines in PLACES.items())
FILES = {f"{n}.txt": bodies.text(1500 + 500 * n) for n in range(90)}
PACKED = {f"{n}.txt.br": brotli.compress(FILES[f"{n}.txt"], quality=1) for n in range(0, 90, 9)}
CODINGS = ["gzip", "br", "gzip, br", None] + ["zstd", "gzip, br, zstd"] * env.HAS_ZSTD


@pytest.fixture
def server(httpd):
    server = httpd(CONFIG, start=False, modules=(*SHMCB, "reflector", "cache", "cache_disk"),
                   files={"dict.html": DICT, "page.html": PAGE}, allow_log=[MISSED])
    make_store(server)
    make_directory(server)
    for name, body in {**FILES, **PACKED}.items():
        server.write(name, body, mtime=1_700_000_000)
    server.start()
    learn(server)
    return server


def _accepted(coding):
    return [None, *(coding or "").split(", ")]


def _file(server, pick):
    name, coding = pick.choice(list(FILES)), pick.choice(CODINGS)
    answer = server.get(f"/{pick.choice(list(PLACES))}/{name}", ae=coding)
    assert answer.status == 200 and answer.body == FILES[name], (name, answer)
    assert answer.coding in _accepted(coding)


def _page(server, _):
    answer = ask(server, ae="dcz")
    assert body_of(answer, DICT) == PAGE, answer


def _echo(server, pick):
    name, coding = pick.choice(list(FILES)), pick.choice(CODINGS)
    answer = server.get("/echo", method="POST", ae=coding, body=gzip.compress(FILES[name]),
                        headers={"Content-Encoding": "gzip", "Content-Type": "text/plain"})
    assert answer.coding in _accepted(coding)
    check.negotiated(answer, answer.coding, FILES[name])


def _status(server, _):
    answer = server.get("/elastic-status?auto")
    assert answer.status == 200 and b"ElasticVersion: " in answer.body, answer


def _head(server, pick):
    answer = server.get(f"/kept/{pick.choice(list(FILES))}", method="HEAD", ae="gzip")
    assert answer.status == 200 and not answer.raw, answer


@pytest.mark.smoke
def test_each_client_gets_what_is_its_own(server):
    def client(number):
        pick = random.Random(number)
        for _ in range(REQUESTS):
            pick.choice([_file] * 6 + [_page, _echo, _status, _head])(server, pick)

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(client, range(CLIENTS)))
    status = server.status()
    assert int(status["ElasticCacheHits"]) > 0
    assert int(status["ElasticDifferences"]) > 0 or not env.HAS_ZSTD
