"""Responses that are compressed with a dictionary of the client (RFC 9842)."""

import gzip

import pytest

from kit import at, bodies, cache, check, env
from kit.dictionary import DICT, PAGE, STORE, WEEK, ask, decoded, field, learn, name_of, start, \
    store_of

pytestmark = pytest.mark.skipif(not env.HAS_ZSTD, reason="needs libzstd")

OTHER = bodies.text(30_000)
STYLE = bodies.text(20_000)
NOISE = bodies.noise(50_000)
PRECOMPRESSED = gzip.compress(PAGE, 9, mtime=0)
NO_BYTES = gzip.compress(b"", mtime=0)
# Prepared, it exceeds the 2 MB that each process may hold in any case.
LARGE = bodies.text(3_000_000)
STREAM = """\
head('Content-Type: text/html')
with open(os.environ['DOCUMENT_ROOT'] + '/page.html', 'rb') as page:
    body = page.read()
for start in range(0, len(body), 7000):
    out(body[start:start + 7000])
"""
AVAILABLE = "Available-Dictionary"
CORS = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "cors"}
NO_CORS = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"}

BASE = "Elastic On\nElasticControl off\n"
CONFIG = BASE + "".join(
    at(name, f"ElasticDictionary {rule}", WEEK) for name, rule in {
        "d": 'match="/pages/*"', "dest": 'match="/pages/*" match-dest="document"',
        "named": 'match="/pages/*" id="v 1"', "elsewhere": 'match="/other/*"'}.items()) \
    + at("other") + at("free") + at("pages/precompressed", "ElasticPrecompressed On") \
    + at("pages/shared", "ElasticPrecompressed On",
         'Header set Access-Control-Allow-Origin "https://a.example"') \
    + at("pages/open", 'Header set Access-Control-Allow-Origin "*"') \
    + at("pages/off", "Elastic Off") + at("pages/streams", "ElasticWholeBody 0") \
    + at("pages/kept", "ElasticCache On") + at("pages/strong", "ElasticETag suffix") \
    + at("pages", 'Header set Cache-Control "private, no-store"')


@pytest.fixture(scope="module")
def server(httpd_shared):
    made = start(httpd_shared, CONFIG, {
        "other.txt": OTHER, "style.css": STYLE, "small.html": b"<p>short</p>",
        "page.html.gz": PRECOMPRESSED, "noise.txt": NOISE,
        # No type that is compressed, and no bytes.
        "page.bin": PAGE, "page.bin.gz": PRECOMPRESSED,
        "empty.html": b"", "empty.html.gz": NO_BYTES},
        records=("elastic", "deflate"), modules=("socache_shmcb",), tls=True,
        h2=env.possible("h2"),
        cgi={"inside.cgi": "head('Location: /free/page.html')\n", "page.cgi": STREAM})
    for path in ("/d/dict.html", "/dest/other.txt", "/named/style.css"):
        learn(made, path)
    return made


def note(server, answer):
    return server.notes(answer).get("elastic-dictionary")


def varies_by(answer, *names):
    assert all(answer.has_token("Vary", name) for name in names), answer


def asked_for(server):
    """The number of requests that named a dictionary, by outcome."""
    return {key.removeprefix("ElasticDictionaryAsked-"): int(value)
            for key, value in server.status().items() if key.startswith("ElasticDictionaryAsked-")}


@pytest.mark.smoke
@pytest.mark.protocols("http/1.1", "tls", "h2")
@pytest.mark.parametrize("path", ["page.html", "streams/page.html", "page.cgi", "streams/page.cgi"])
@pytest.mark.parametrize("coding,engine,levels", [
    ("dcz", "zstd", (9, 9)), pytest.param("dcb", "brotli", (5, 9), marks=pytest.mark.dcb)])
def test_a_page_is_a_difference(server, tmp_path, protocol, path, coding, engine, levels):
    """For whole bodies and streams."""
    learn(server, protocol=protocol)  # an origin of its own
    answer = ask(server, f"/pages/{path}", f"gzip, {coding}", protocol=protocol)
    assert decoded(answer, DICT, tmp_path, coding) == PAGE
    assert len(answer.raw) < 1000
    varies_by(answer, "Accept-Encoding", AVAILABLE, "Sec-Fetch-Site")
    assert answer.headers["Cache-Control"] == "private, no-store"
    notes = server.notes(answer)
    assert (notes["elastic-coding"], notes["elastic-engine"], notes["elastic-dictionary"]) == \
        (coding, engine, "used")
    assert levels[0] <= int(notes["elastic-level"]) <= levels[1]
    assert (int(notes["elastic-in"]), int(notes["elastic-out"])) == (len(PAGE), len(answer.raw))


@pytest.mark.parametrize("ae,coding", [
    ("gzip", "gzip"), ("gzip, br;q=0, zstd;q=0, *", "gzip"), ("gzip, dcz;q=0, dcb;q=0", "gzip"),
    ("gzip;q=1, dcz;q=0.5, dcb;q=0.5", "gzip"), ("dcz", "dcz"),
    *(pytest.param(*row, marks=pytest.mark.dcb) for row in (
        ("gzip, dcb, dcz;q=0.5", "dcb"), ("gzip, dcb;q=0.5, dcz", "dcz")))])
def test_who_does_not_ask_for_it_gets_another_coding(server, tmp_path, ae, coding):
    answer = ask(server, ae=ae)
    assert answer.has_token("Vary", AVAILABLE)
    if coding == "gzip":
        check.encoded(answer, coding, PAGE)
    else:
        assert decoded(answer, DICT, tmp_path, coding) == PAGE


# The syntax: tests/unit/test_structured.c
@pytest.mark.parametrize("value", ["", ":" + "A" * 8000 + ":", ":" + "é" * 43 + "=:", None])
def test_a_field_that_is_none_is_no_error(server, value):
    fields = [(AVAILABLE, value)] if value is not None else \
        [(AVAILABLE, field(DICT)), (AVAILABLE, field(OTHER))]  # the field comes twice
    answer = server.get("/pages/page.html", ae="gzip, dcz", headers=fields)
    check.encoded(answer, "gzip", PAGE)
    assert note(server, answer) == "malformed"


# (request, the reason why no dictionary is used); who may read a response: tests/unit
OTHERS = [
    ("unknown", {"dictionary": b"never seen"}), ("unknown", {"Host": "localhost:1"}),
    ("match", {"path": "/other/page.html"}), ("id", {"dictionary": STYLE}),
    ("dest", {"dictionary": OTHER, "Sec_Fetch_Dest": "script"}),
    ("malformed", {"Dictionary_ID": "v1"}),
    ("malformed", {"Dictionary_ID": '"' + "a" * 1025 + '"'}), ("cross-origin", NO_CORS),
    # mod_headers sets a field when the precompressed file has been considered already.
    ("cross-origin", {**CORS, "Origin": "https://b.example", "path": "/pages/shared/page.html"})]


@pytest.mark.parametrize("reason,asked", OTHERS)
def test_other_requests_get_another_coding(server, reason, asked):
    before = asked_for(server)
    answer = ask(server, **asked)
    check.encoded(answer, "gzip", PAGE)
    varies_by(answer, AVAILABLE, *["Origin"] * (asked.get("Origin") == "https://b.example"))
    assert note(server, answer) == reason
    assert asked_for(server) == {**before, reason: before[reason] + 1}


@pytest.mark.parametrize("asked,varies", [
    ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}, ["Sec-Fetch-Mode"]),
    *(({**CORS, "Origin": "https://a.example", "path": f"/pages/{place}/page.html"},
       ["Sec-Fetch-Mode", "Origin"]) for place in ("open", "shared")),
    ({"dictionary": OTHER, "Sec_Fetch_Dest": "document"}, []),
    ({"dictionary": STYLE, "Dictionary_ID": '"v 1"'}, [])])
def test_who_may_read_the_page_gets_the_difference(server, tmp_path, asked, varies):
    before = asked_for(server)
    answer = ask(server, **asked)
    assert decoded(answer, asked.get("dictionary", DICT), tmp_path) == PAGE
    varies_by(answer, AVAILABLE, "Sec-Fetch-Site", *varies)
    assert note(server, answer) == "used"
    assert asked_for(server) == {**before, "used": before["used"] + 1}


@pytest.mark.parametrize("path,asked,coding,by_dictionary", [
    # If a rule names the path, every response varies by the dictionary.
    *(("/pages/page.html", asked, coding, True) for asked, coding in (
        ({"dictionary": None}, "gzip"), ({"ae": None}, None),
        ({"ae": "dcz", "dictionary": OTHER, "Sec_Fetch_Dest": "image"}, None))),
    ("/pages/small.html", {"dictionary": None}, None, True),
    # A page that httpd looks up elsewhere: only the browser's own URL counts.
    ("/pages/inside.cgi", {}, "dcz", True), ("/free/inside.cgi", {}, "gzip", False),
    # No rule names the path, browsers use no dictionaries (neither https nor this machine), or
    # nothing is encoded.
    *(("/free/page.html", asked, "gzip", False)
      for asked in ({}, {"dictionary": None}, {"dictionary": OTHER})),
    ("/pages/page.html", {"dictionary": None, "Host": "www.example.org"}, "gzip", False),
    ("/pages/off/page.html", {}, None, False)])
def test_vary_is_on_what_could_have_been_different(server, path, asked, coding, by_dictionary):
    answer = ask(server, path, **asked)
    assert (answer.status, answer.coding) == (200, coding), answer
    assert answer.has_token("Vary", AVAILABLE) == by_dictionary, answer
    assert answer.varies == ("off" not in path)
    if asked.get("dictionary", DICT) is None:
        assert not answer.has_token("Vary", "Sec-Fetch-Site")
    if path.startswith("/free"):
        assert note(server, answer) is None


def test_a_304_comes_before_a_difference(server):
    """A 304 needs no dictionary, because the client has the body. It must still accept the
    coding."""
    for path, weak in (("/pages/page.html", True), ("/pages/strong/page.html", False)):
        get = ask(server, path)
        tag = get.headers["ETag"]
        assert get.coding == "dcz" and tag.endswith('-dcz"') and tag.startswith("W/") == weak
        head = server.head(path, "gzip, dcz", {AVAILABLE: field(DICT)})
        check.head_of(get, head, "Content-Length")
        for dictionary in (DICT, None):
            again = ask(server, path, dictionary=dictionary, If_None_Match=tag)
            check.not_modified(again, tag)
            assert again.has_token("Vary", AVAILABLE)
        check.encoded(ask(server, path, "gzip", If_None_Match=tag), "gzip", PAGE)
    # A strong tag is accepted again, and a range is cut from the page.
    assert ask(server, path, If_Match=tag).coding == "dcz"
    check.whole(ask(server, path, Range="bytes=0-99"), None, PAGE[:100], 206)


def test_it_comes_before_a_precompressed_file(server, tmp_path):
    """The precompressed file has more bytes. It is sent if the client prefers its coding or has no
    dictionary, or if no field of the response can permit the dictionary."""
    path = "/pages/precompressed/page.html"
    assert decoded(ask(server, path), DICT, tmp_path) == PAGE
    for asked in ({"ae": "gzip, dcz;q=0.9"}, {"dictionary": None}, {"dictionary": b"other"},
                  NO_CORS):
        answer = ask(server, path, **asked)
        assert (answer.coding, answer.raw) == ("gzip", PRECOMPRESSED)
        assert answer.varies and answer.has_token("Vary", AVAILABLE)
    assert note(server, answer) == "cross-origin"
    for name, raw in (("page.bin", PRECOMPRESSED), ("empty.html", NO_BYTES)):
        answer = ask(server, f"/pages/precompressed/{name}")
        assert (answer.coding, answer.raw) == ("gzip", raw)


def test_what_no_dictionary_makes_smaller_goes_as_it_is(server, tmp_path):
    answer = ask(server, "/pages/noise.txt")
    check.plain(answer, NOISE)
    assert server.reason(answer) == "not-smaller"
    # Dictionaries teach nothing about other codings of the type.
    check.encoded(server.get("/pages/page.html", ae="gzip"), "gzip", PAGE)
    # A page unlike its dictionary is compressed with it all the same.
    assert decoded(ask(server, "/pages/other.txt"), DICT, tmp_path) == OTHER


def test_differences_are_counted(server):
    names = ("ElasticCompressed", "ElasticDifferences", "ElasticDifferenceBytesIn",
             "ElasticDifferenceBytesOut", "ElasticCacheHits", "ElasticCacheMisses",
             "ElasticCacheStored")
    before = server.status()
    sent = [ask(server, "/pages/kept/page.html") for _ in range(3)]
    server.get("/pages/page.html", ae="gzip")
    after = server.status()
    assert [int(after[name]) - int(before[name]) for name in names] == [
        4, 3, 3 * len(PAGE), sum(len(answer.raw) for answer in sent), 0, 0, 0]  # none is stored


# --- the folder


def test_a_dictionary_outlives_a_reload_and_a_restart(server, tmp_path):
    for reload in (server.graceful, server.restart):
        reload()
        assert decoded(ask(server), DICT, tmp_path) == PAGE


@pytest.mark.parametrize("harm,reason", [
    ("gone", "unknown"), ("expired", "expired"), ("damaged", "unknown")])
def test_what_is_gone_from_the_folder_is_not_used(server, tmp_path, harm, reason):
    body = bodies.text(25_000) + harm.encode()
    server.write("harmed.html", body)
    learn(server, "/d/harmed.html")
    assert decoded(ask(server, dictionary=body), body, tmp_path) == PAGE
    file = store_of(server) / name_of(body)
    [entry] = store_of(server).glob(file.name + ".*")
    if harm == "gone":
        file.unlink()
        entry.unlink()
    elif harm == "expired":
        kept, _, last = entry.read_text().rstrip("\n").rpartition("\n")
        assert last.startswith("expires ")
        entry.write_text(f"{kept}\nexpires 1700000000\n")
    else:
        file.write_bytes(b"x" + body[1:])
        server.expect_log("is damaged, and was removed")
        server.graceful()  # processes that have not prepared it
    answer = ask(server, dictionary=body)
    check.encoded(answer, "gzip", PAGE)
    assert note(server, answer) == reason
    if harm == "damaged":
        assert server.wait_log(file.name + " is damaged, and was removed") and not file.exists()


# --- other servers


def test_a_rule_that_is_gone_has_no_dictionaries(httpd, tmp_path):
    """The folder still has its dictionaries, but without the rule no response varies by them."""
    def config(name):
        return BASE + at("d", f'ElasticDictionary match="/{name}/*"', WEEK) + at("one") + at("two")

    server = start(httpd, config("one"))
    learn(server)
    assert decoded(ask(server, "/one/page.html"), DICT, tmp_path) == PAGE
    server.configure(STORE + config("two"))
    server.graceful()
    learn(server)
    for name, coding in (("one", "gzip"), ("two", "dcz")):
        answer = ask(server, f"/{name}/page.html")
        assert (answer.coding, answer.has_token("Vary", AVAILABLE)) == (coding, name == "two")


@pytest.mark.parametrize("config,learned,asked", [
    # A relative rule may match every path.
    (BASE + at("d", 'ElasticDictionary match="page*"', WEEK), DICT,
     {"/d/page.html": ("dcz", "used", True), "/page.html": ("gzip", "match", True)}),
    # A drop-in filter encodes like the stock module.
    (at("d", "Elastic On", 'ElasticDictionary match="/*"', WEEK)
     + at("pages", "SetOutputFilter DEFLATE"), DICT,
     {"/d/page.html": ("dcz", "used", True), "/pages/page.html": ("gzip", None, False)}),
    # The dictionary does not fit into the memory.
    (BASE + "ElasticPoolMemory 1M\n" + at("d", 'ElasticDictionary match="/*"', WEEK), LARGE,
     {"/page.html": ("gzip", "unprepared", True)})], ids=["relative", "drop-in", "no room"])
def test_where_a_dictionary_is_not_used(httpd, config, learned, asked):
    server = start(httpd, config, {"learned.txt": learned}, records=("elastic", "deflate"))
    learn(server, "/d/learned.txt")
    for path, expected in asked.items():
        answer = ask(server, path, dictionary=learned)
        assert (answer.coding, note(server, answer), answer.has_token("Vary", AVAILABLE)) \
            == expected, path
        assert answer.coding == "dcz" or answer.body == PAGE


def test_virtual_hosts_do_not_share(httpd, tmp_path):
    """Even if both hosts have given out the same file, each uses its own rule."""
    server = start(httpd, "Elastic On\n" + "".join(
        f"<VirtualHost 127.0.0.1:{{port}}>\nServerName {name}.localhost\n" + (
            at("d", f'ElasticDictionary match="/{name}/*"', WEEK) + at("one") + at("two")
            if name != "three" else "") + "</VirtualHost>\n" for name in ("one", "two", "three")))

    def reasons():
        answers = [ask(server, f"/{path}page.html", Host=f"{host}.localhost") for path, host in (
            ("one/", "one"), ("two/", "two"), ("one/", "two"), ("", "three"))]
        assert answers[2].coding == answers[3].coding == "gzip"
        assert not answers[3].has_token("Vary", AVAILABLE)
        return [note(server, answer) for answer in answers]

    learn(server, Host="one.localhost")
    assert reasons() == ["used", "unknown", None, None]
    learn(server, Host="two.localhost")
    assert reasons() == ["used", "used", None, None]
    assert decoded(ask(server, "/two/page.html", Host="two.localhost"), DICT, tmp_path) == PAGE


def test_a_cache_in_front_gives_a_difference_to_who_has_its_dictionary(httpd, tmp_path):
    server = start(httpd, BASE + "CacheHeader On\n" + cache.DISK
                   + at("d", 'ElasticDictionary match="/pages/*"', WEEK, "CacheDisable On")
                   + at("pages", 'Header set Cache-Control "max-age=6000"'), modules=cache.MODULES)
    cache.make_directory(server)
    learn(server)
    path, mine = "/pages/page.html", ("gzip, dcz", {AVAILABLE: field(DICT)})
    with server.connect() as client:
        assert decoded(cache.filled(client, path, *mine), DICT, tmp_path) == PAGE
        for ae, headers in (
                ("gzip, dcz", {}), ("gzip, dcz", {AVAILABLE: field(OTHER)}), ("gzip", mine[1]),
                ("gzip, dcz", {**mine[1], "Sec-Fetch-Site": "cross-site",
                               "Sec-Fetch-Mode": "no-cors"})):
            check.encoded(cache.filled(client, path, ae, headers), "gzip", PAGE)
        # The other responses' Vary had fewer fields, and mod_cache keeps one Vary for each URL.
        assert decoded(cache.filled(client, path, *mine), DICT, tmp_path) == PAGE
