"""Bodies as what differs from a dictionary: whole and streamed, and beside what else a body can be.
"""

import pytest

from kit import at, bodies, check, env
from kit.dictionary import decoded, field, learn, make_store

pytestmark = pytest.mark.skipif(not env.HAS_ZSTD, reason="needs libzstd")

DICT = bodies.html(60_000)
PAGE = DICT[:30_000] + b"<p>what is new here</p>" + DICT[30_000:]
NOISE = bodies.noise(50_000)
# Prepared, it has more than the 2 MB that each process may hold at least.
LARGE = bodies.text(3_000_000)
STREAM = """\
head('Content-Type: text/html')
with open(os.environ['DOCUMENT_ROOT'] + '/page.html', 'rb') as page:
    body = page.read()
for start in range(0, len(body), 7000):
    out(body[start:start + 7000])
"""

CONFIG = """
Elastic On
ElasticControl off
ElasticDictionaryStore {root}/dictionaries
""" + at("d", 'ElasticDictionary match="/*"', 'Header set Cache-Control "public, max-age=604800"')
BODIES = CONFIG \
    + at("streams", "ElasticWholeBody 0") \
    + at("kept", "ElasticCache On") \
    + at("strong", "ElasticETag suffix")


@pytest.fixture(scope="module")
def server(httpd_shared):
    made = httpd_shared(BODIES, modules=("socache_shmcb",), start=False,
                        files={"dict.html": DICT, "page.html": PAGE, "noise.txt": NOISE},
                        cgi={"page.cgi": STREAM})
    make_store(made)
    made.start()
    learn(made)
    return made


def ask(server, path, ae="gzip, dcz", dictionary=DICT, **more):
    headers = {"Available-Dictionary": field(dictionary)}
    headers.update({name.replace("_", "-"): value for name, value in more.items()})
    return server.get(path, ae=ae, headers=headers)


@pytest.mark.parametrize("path", ["/page.html", "/streams/page.html", "/page.cgi",
                                  "/streams/page.cgi"])
def test_a_body_is_a_difference_whole_and_streamed(server, tmp_path, path):
    answer = ask(server, path)
    assert decoded(answer, DICT, tmp_path) == PAGE
    assert len(answer.raw) < 1000
    notes = server.notes(answer)
    assert (notes["elastic-coding"], notes["elastic-engine"], notes["elastic-level"]) == \
        ("dcz", "zstd", "9")
    assert (int(notes["elastic-in"]), int(notes["elastic-out"])) == (len(PAGE), len(answer.raw))


def test_a_page_that_its_dictionary_has_nothing_of_is_encoded_all_the_same(server, tmp_path):
    body = bodies.text(90_000)
    server.write("other.txt", body)
    assert decoded(ask(server, "/other.txt"), DICT, tmp_path) == body


def test_what_no_dictionary_makes_smaller_goes_as_it_is(server):
    answer = ask(server, "/noise.txt")
    check.plain(answer, NOISE)
    assert server.reason(answer) == "not-smaller"
    # Differences say nothing of what other codings make of the type.
    check.encoded(server.get("/page.html", ae="gzip"), "gzip", PAGE)


def test_differences_are_counted(server):
    names = ("ElasticCompressed", "ElasticDifferences", "ElasticDifferenceBytesIn",
             "ElasticDifferenceBytesOut")
    before = server.status()
    sent = [ask(server, "/page.html") for _ in range(3)]
    server.get("/page.html", ae="gzip")
    after = server.status()
    grown = [int(after[name]) - int(before[name]) for name in names]
    assert grown == [4, 3, 3 * len(PAGE), sum(len(answer.raw) for answer in sent)]


def test_a_difference_is_not_kept(server, tmp_path):
    before = server.status()
    for _ in range(4):
        assert decoded(ask(server, "/kept/page.html"), DICT, tmp_path) == PAGE
    after = server.status()
    for name in ("ElasticCacheHits", "ElasticCacheMisses", "ElasticCacheStored"):
        assert after[name] == before[name]


def test_a_strong_tag_is_taken_back(server):
    answer = ask(server, "/strong/page.html")
    tag = answer.headers["ETag"]
    assert answer.coding == "dcz" and tag.endswith('-dcz"') and not tag.startswith("W/")
    assert ask(server, "/strong/page.html", If_Match=tag).coding == "dcz"
    # A 304 needs no dictionary: the client has the body. But it must know the coding still.
    assert server.get("/strong/page.html", ae="gzip, dcz",
                      headers={"If-None-Match": tag}).status == 304
    other = server.get("/strong/page.html", ae="gzip", headers={"If-None-Match": tag})
    check.encoded(other, "gzip", PAGE)


def test_a_range_is_of_the_page(server):
    answer = ask(server, "/page.html", Range="bytes=0-99")
    assert (answer.status, answer.coding, answer.body) == (206, None, PAGE[:100])


def test_a_dictionary_that_memory_has_no_room_for_is_not_used(httpd):
    server = httpd(CONFIG + "ElasticPoolMemory 1M\n", start=False,
                   files={"page.html": PAGE, "large.txt": LARGE})
    make_store(server)
    server.start()
    learn(server, "/d/large.txt")
    answer = ask(server, "/page.html", dictionary=LARGE)
    check.encoded(answer, "gzip", PAGE)
    assert server.notes(answer)["elastic-dictionary"] == "unprepared"
