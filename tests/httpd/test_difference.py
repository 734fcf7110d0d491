"""Responses that are differences from a dictionary that the client has (RFC 9842)."""

import gzip
import hashlib

import pytest

from kit import at, bodies, cache, check, env
from kit.dictionary import decoded, field, learn, make_store, store_of

pytestmark = pytest.mark.skipif(not env.HAS_ZSTD, reason="needs libzstd")

DICT = bodies.html(60_000)
OTHER = bodies.text(30_000)
PAGE = DICT[:40_000] + b"<p>what is new here</p>" + DICT[40_000:]
SMALL = b"<p>short</p>"
SIBLING = gzip.compress(PAGE, 9, mtime=0)

STORE = "ElasticDictionaryStore {root}/dictionaries\n"
WEEK = 'Header set Cache-Control "public, max-age=604800"'
CONFIG = """
Elastic On
ElasticControl off
""" + STORE + at("d", 'ElasticDictionary match="/pages/*"', WEEK) \
    + at("dest", 'ElasticDictionary match="/pages/*" match-dest="document"', WEEK) \
    + at("named", 'ElasticDictionary match="/pages/*" id="v 1"', WEEK) \
    + at("elsewhere", 'ElasticDictionary match="/other/*"', WEEK) + at("other") \
    + at("pages/siblings", "ElasticPrecompressed On") + at("free") \
    + at("pages/shared", "ElasticPrecompressed On",
         'Header set Access-Control-Allow-Origin "https://a.example"') \
    + at("pages/open", 'Header set Access-Control-Allow-Origin "*"') \
    + at("pages/off", "Elastic Off") \
    + at("pages", 'Header set Cache-Control "private, no-store"')


def ask(server, path="/pages/page.html", ae="gzip, dcz", dictionary=DICT, protocol="http/1.1",
        **more):
    headers = fields(dictionary, **more)
    return server.get(path, ae=ae, protocol=protocol, headers=headers)


def fields(dictionary=DICT, **more):
    headers = {"Available-Dictionary": field(dictionary)} if dictionary else {}
    headers.update({name.replace("_", "-"): value for name, value in more.items()})
    return headers


@pytest.fixture(scope="module")
def server(httpd_shared):
    made = httpd_shared(CONFIG, records=("elastic", "deflate"), tls=True, h2=env.possible("h2"),
                        start=False,
                        files={"dict.html": DICT, "page.html": PAGE, "other.txt": OTHER,
                               "small.html": SMALL, "page.html.gz": SIBLING},
                        cgi={"inside.cgi": "head('Location: /free/page.html')\n"})
    make_store(made)
    made.start()
    for path in ("/d/dict.html", "/dest/other.txt"):
        learn(made, path)
    return made


def note(server, answer):
    return server.notes(answer).get("elastic-dictionary")


@pytest.mark.smoke
@pytest.mark.protocols("http/1.1", "tls", "h2")
def test_a_page_is_a_difference(server, tmp_path, protocol):
    learn(server, protocol=protocol)
    answer = ask(server, protocol=protocol)
    assert decoded(answer, DICT, tmp_path) == PAGE
    assert len(answer.raw) < 1000
    assert answer.varies and answer.has_token("Vary", "Available-Dictionary")
    assert answer.has_token("Vary", "Sec-Fetch-Site")
    assert answer.headers["Cache-Control"] == "private, no-store"
    notes = server.notes(answer)
    assert (notes["elastic-coding"], notes["elastic-dictionary"]) == ("dcz", "used")
    assert int(notes["elastic-out"]) == len(answer.raw)


@pytest.mark.parametrize("ae", ["gzip", "gzip, br;q=0, zstd;q=0, *", "gzip, dcz;q=0",
                                "gzip;q=1, dcz;q=0.5"])
def test_who_does_not_ask_for_it_gets_another_coding(server, ae):
    answer = ask(server, ae=ae)
    check.encoded(answer, "gzip", PAGE)
    assert answer.has_token("Vary", "Available-Dictionary")


def test_who_takes_nothing_else_gets_the_page_as_it_is(server, tmp_path):
    answer = ask(server, ae="dcz", dictionary=OTHER, Sec_Fetch_Dest="image")
    check.plain(answer, PAGE)
    assert answer.has_token("Vary", "Available-Dictionary")
    assert decoded(ask(server, ae="dcz"), DICT, tmp_path) == PAGE


@pytest.mark.parametrize("value", [
    "", ":", "::", "abc", ":abc:", field(DICT)[1:], field(DICT) + ", " + field(DICT),
    field(DICT) + ";q=1", field(DICT).replace(":", '"'), ":" + "A" * 8000 + ":",
    field(DICT)[:-2] + ":", ":" + "é" * 43 + "=:"])
def test_a_field_that_is_none_is_no_error(server, value):
    answer = server.get("/pages/page.html", ae="gzip, dcz", headers={"Available-Dictionary": value})
    check.encoded(answer, "gzip", PAGE)
    assert note(server, answer) == "malformed"


def test_a_field_that_comes_twice_is_none(server):
    fields = [("Available-Dictionary", field(DICT)), ("Available-Dictionary", field(OTHER))]
    answer = server.get("/pages/page.html", ae="gzip, dcz", headers=fields)
    check.encoded(answer, "gzip", PAGE)
    assert note(server, answer) == "malformed"


# What is asked, and why no dictionary is used.
OTHERS = [
    ("unknown", {"dictionary": b"never seen"}),
    ("unknown", {"Host": "localhost:1"}),
    ("match", {"path": "/other/page.html"}),
    ("dest", {"dictionary": OTHER, "Sec_Fetch_Dest": "script"}),
    ("id", {"Dictionary_ID": '"v 1"'}),
    ("malformed", {"Dictionary_ID": "v1"}),
    ("malformed", {"Dictionary_ID": '"' + "a" * 1025 + '"'}),
    ("cross-origin", {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"}),
    ("cross-origin", {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "cors",
                      "Origin": "https://a.example"}),
    ("cross-origin", {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "cors",
                      "path": "/pages/open/page.html"}),
]


@pytest.mark.parametrize("reason,asked", OTHERS)
def test_other_requests_get_another_coding(server, reason, asked):
    before = server.status()[f"ElasticDictionaryAsked-{reason}"]
    answer = ask(server, **asked)
    check.encoded(answer, "gzip", PAGE)
    assert answer.has_token("Vary", "Available-Dictionary")
    assert note(server, answer) == reason
    after = server.status()[f"ElasticDictionaryAsked-{reason}"]
    assert int(after) == int(before) + 1


@pytest.mark.parametrize("asked,varies", [
    ({"Sec_Fetch_Site": "same-origin", "Sec_Fetch_Mode": "no-cors"}, ["Sec-Fetch-Site"]),
    ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"},
     ["Sec-Fetch-Site", "Sec-Fetch-Mode"]),
    ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "cors", "Origin": "https://a.example",
      "path": "/pages/open/page.html"}, ["Sec-Fetch-Site", "Sec-Fetch-Mode", "Origin"]),
    ({"dictionary": OTHER, "Sec_Fetch_Dest": "document"}, ["Sec-Fetch-Site"])])
def test_who_may_read_the_page_gets_the_difference(server, tmp_path, asked, varies):
    answer = ask(server, **asked)
    assert decoded(answer, asked.get("dictionary", DICT), tmp_path) == PAGE
    for name in varies:
        assert answer.has_token("Vary", name), answer


def test_with_an_id_the_client_repeats_it(server, tmp_path):
    body = bodies.text(20_000)
    server.write("id.html", body)
    learn(server, "/named/id.html")
    assert note(server, ask(server, dictionary=body)) == "id"
    answer = ask(server, dictionary=body, Dictionary_ID='"v 1"')
    assert decoded(answer, body, tmp_path) == PAGE


def test_it_comes_before_a_precompressed_file(server, tmp_path):
    """Which has more bytes; but not where the client likes that better, or has no dictionary."""
    answer = ask(server, "/pages/siblings/page.html")
    assert decoded(answer, DICT, tmp_path) == PAGE
    for asked in ({"ae": "gzip, dcz;q=0.9"}, {"dictionary": None}, {"dictionary": b"other"}):
        answer = ask(server, "/pages/siblings/page.html", **asked)
        assert (answer.coding, answer.raw) == ("gzip", SIBLING)
        assert answer.varies and answer.has_token("Vary", "Available-Dictionary")


CORS = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "cors"}


def test_so_it_does_for_another_sites_script_that_may_read_it(server, tmp_path):
    """By a field that mod_headers sets, when the precompressed file was looked at already."""
    path = "/pages/shared/page.html"
    answer = ask(server, path, **CORS, Origin="https://a.example")
    assert decoded(answer, DICT, tmp_path) == PAGE and note(server, answer) == "used"
    for name in ("Available-Dictionary", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Origin"):
        assert answer.has_token("Vary", name), answer
    # Who may not read it has no use for the file, either.
    answer = ask(server, path, **CORS, Origin="https://b.example")
    check.encoded(answer, "gzip", PAGE)
    assert note(server, answer) == "cross-origin" and answer.has_token("Vary", "Origin")
    # What no field of the response can permit is sent from the file.
    asked = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"}
    answer = ask(server, path, **asked)
    assert (answer.coding, answer.raw) == ("gzip", SIBLING)
    assert note(server, answer) == "cross-origin"


def test_each_is_counted_once(server):
    keys = [f"ElasticDictionaryAsked-{reason}" for reason in ("used", "cross-origin")]
    for origin, grown in (("https://a.example", [1, 0]), ("https://b.example", [0, 1])):
        before = server.status()
        ask(server, "/pages/shared/page.html", **CORS, Origin=origin)
        after = server.status()
        assert [int(after[key]) - int(before[key]) for key in keys] == grown, origin


def test_a_page_that_httpd_looks_up_elsewhere_is_a_difference(server, tmp_path):
    """An internal redirect: the browser, which compares with the rule, knows nothing of it."""
    answer = ask(server, "/pages/inside.cgi")
    assert decoded(answer, DICT, tmp_path) == PAGE
    assert answer.has_token("Vary", "Available-Dictionary")
    answer = ask(server, "/free/inside.cgi")
    check.encoded(answer, "gzip", PAGE)
    assert not answer.has_token("Vary", "Available-Dictionary")


def test_vary_is_not_on_a_dictionary_where_no_rule_names_the_path(server):
    for asked in ({}, {"dictionary": None}, {"dictionary": OTHER}):
        answer = ask(server, "/free/page.html", **asked)
        check.encoded(answer, "gzip", PAGE)
        assert not answer.has_token("Vary", "Available-Dictionary"), answer
        assert note(server, answer) is None
    # Where one does, whatever is asked.
    seen = set()
    first = ask(server)
    for asked in ({}, {"dictionary": None}, {"dictionary": OTHER}, {"ae": None}, {"ae": "gzip"},
                  {"If_None_Match": first.headers["ETag"]}, {"path": "/pages/siblings/page.html"},
                  {"path": "/pages/siblings/page.html", "dictionary": None}):
        answer = ask(server, **asked)
        seen.add((answer.status, answer.coding))
        assert answer.varies and answer.has_token("Vary", "Available-Dictionary"), asked
    assert len(seen) == 4, seen


def test_a_rule_that_is_gone_has_no_dictionaries(httpd, tmp_path):
    """Its dictionaries are in the folder still; without it, no response there varies by them."""
    def config(name):
        return ("Elastic On\nElasticControl off\n" + STORE
                + at("d", f'ElasticDictionary match="/{name}/*"', WEEK) + at("one") + at("two"))

    server = httpd(config("one"), start=False, files={"dict.html": DICT, "page.html": PAGE})
    make_store(server)
    server.start()
    learn(server)
    assert decoded(ask(server, "/one/page.html"), DICT, tmp_path) == PAGE
    server.configure(config("two"))
    server.graceful()
    learn(server)
    for name, coding in (("one", "gzip"), ("two", "dcz")):
        answer = ask(server, f"/{name}/page.html")
        assert answer.coding == coding
        assert answer.has_token("Vary", "Available-Dictionary") == (name == "two")


def test_a_relative_rule_may_be_for_any_path(httpd, tmp_path):
    server = httpd("Elastic On\nElasticControl off\n" + STORE
                   + at("d", 'ElasticDictionary match="page*"', WEEK), start=False,
                   files={"dict.html": DICT, "page.html": PAGE})
    make_store(server)
    server.start()
    learn(server)
    assert decoded(ask(server, "/d/page.html"), DICT, tmp_path) == PAGE
    answer = ask(server, "/page.html")
    check.encoded(answer, "gzip", PAGE)
    assert note(server, answer) == "match" and answer.has_token("Vary", "Available-Dictionary")


def test_vary_is_on_what_could_have_been_different(server):
    for path, ae in (("/pages/page.html", None), ("/pages/small.html", "gzip"),
                     ("/pages/page.html", "br;q=0, gzip;q=0")):
        answer = server.get(path, ae=ae)
        assert answer.coding is None and answer.varies
        assert answer.has_token("Vary", "Available-Dictionary"), (path, ae)
        assert not answer.has_token("Vary", "Sec-Fetch-Site")
    # Not where browsers use none, neither https nor this machine; and not where nothing is encoded.
    answer = server.get("/pages/page.html", ae="gzip", headers={"Host": "www.example.org"})
    assert answer.varies and not answer.has_token("Vary", "Available-Dictionary")
    answer = ask(server, "/pages/off/page.html")
    check.plain(answer, PAGE, varies=False)
    assert not answer.has_token("Vary", "Available-Dictionary")


def test_a_drop_in_encodes_as_the_stock_module_does(httpd):
    server = httpd(STORE + at("d", "Elastic On", 'ElasticDictionary match="/*"', WEEK)
                   + at("pages", "SetOutputFilter DEFLATE"), records=("elastic", "deflate"),
                   start=False, files={"dict.html": DICT, "page.html": PAGE})
    make_store(server)
    server.start()
    learn(server, "/d/dict.html")
    assert ask(server, "/d/page.html").coding == "dcz"
    answer = ask(server)
    check.encoded(answer, "gzip", PAGE)
    assert not answer.has_token("Vary", "Available-Dictionary")


def test_a_304_comes_before_a_difference(server):
    first = ask(server)
    assert first.coding == "dcz"
    again = ask(server, If_None_Match=first.headers["ETag"])
    assert again.status == 304 and again.headers["ETag"] == first.headers["ETag"]
    assert again.has_token("Vary", "Available-Dictionary")
    assert again.has_token("Vary", "Accept-Encoding")


def test_head_has_gets_header(server):
    get, head = ask(server), None
    head = server.head("/pages/page.html", ae="gzip, dcz",
                       headers={"Available-Dictionary": field(DICT)})
    assert head.coding == "dcz" and head.raw == b""
    assert head.headers["Content-Length"] == get.headers["Content-Length"]


def test_a_dictionary_outlives_a_reload_and_a_restart(server, tmp_path):
    for reload in (server.graceful, server.restart):
        reload()
        assert decoded(ask(server), DICT, tmp_path) == PAGE


def test_what_is_gone_from_the_folder_is_not_used(server, tmp_path):
    body = bodies.text(25_000)
    server.write("gone.html", body)
    learn(server, "/d/gone.html")
    assert decoded(ask(server, dictionary=body), body, tmp_path) == PAGE
    for file in store_of(server).glob(hashlib.sha256(body).hexdigest() + "*"):
        file.unlink()
    answer = ask(server, dictionary=body)
    check.encoded(answer, "gzip", PAGE)
    assert note(server, answer) == "unknown"


def test_each_rule_that_gave_it_out_counts(server, tmp_path):
    """The same bytes at two URLs, by two rules: what the second says does not end the first."""
    body = bodies.text(24_000)
    server.write("twice.html", body)
    learn(server, "/d/twice.html")
    for path in ("/dest/twice.html", "/elsewhere/twice.html", "/d/twice.html?utm_source=x"):
        learn(server, path)
    answer = ask(server, dictionary=body, Sec_Fetch_Dest="script")
    assert decoded(answer, body, tmp_path) == PAGE
    answer = ask(server, "/other/page.html", dictionary=body)
    assert decoded(answer, body, tmp_path) == PAGE
    assert note(server, ask(server, "/other/page.html")) == "match"


def test_an_expired_one_is_not_used(server):
    body = bodies.text(26_000)
    server.write("old.html", body)
    learn(server, "/d/old.html")
    [entry] = store_of(server).glob(hashlib.sha256(body).hexdigest() + ".*")
    lines = entry.read_text().splitlines()
    assert lines[-1].startswith("expires ")
    entry.write_text("\n".join([*lines[:-1], "expires 1700000000"]) + "\n")
    answer = ask(server, dictionary=body)
    check.encoded(answer, "gzip", PAGE)
    assert note(server, answer) == "expired"


def test_a_damaged_one_is_removed(server):
    body = bodies.text(27_000)
    server.write("damaged.html", body)
    learn(server, "/d/damaged.html")
    file = store_of(server) / hashlib.sha256(body).hexdigest()
    file.write_bytes(b"x" + body[1:])
    server.expect_log("is damaged, and was removed")
    answer = ask(server, dictionary=body)
    check.encoded(answer, "gzip", PAGE)
    assert note(server, answer) == "unknown"
    assert server.wait_log(file.name + " is damaged, and was removed")
    assert not file.exists()


def test_virtual_hosts_do_not_share(httpd, tmp_path):
    """Not even where both have given out the same file: each by its own rule."""
    hosts = "".join(
        f"<VirtualHost 127.0.0.1:{{port}}>\nServerName {name}.localhost\n"
        + at("d", f'ElasticDictionary match="/{name}/*"', WEEK) + at("one") + at("two")
        + "</VirtualHost>\n" for name in ("one", "two"))
    server = httpd("Elastic On\n" + STORE + hosts + "<VirtualHost 127.0.0.1:{port}>\n"
                   "ServerName three.localhost\n</VirtualHost>\n", start=False,
                   files={"dict.html": DICT, "page.html": PAGE})
    make_store(server)
    server.start()
    learn(server, Host="one.localhost")
    reasons = {host: note(server, ask(server, f"/{host}/page.html", Host=host + ".localhost"))
               for host in ("one", "two", "three")}
    assert reasons == {"one": "used", "two": "unknown", "three": None}
    learn(server, Host="two.localhost")
    assert ask(server, "/one/page.html", Host="two.localhost").coding == "gzip"
    answer = ask(server, "/two/page.html", Host="two.localhost")
    assert decoded(answer, DICT, tmp_path) == PAGE
    assert note(server, ask(server, "/one/page.html", Host="one.localhost")) == "used"
    alone = ask(server, "/page.html", Host="three.localhost")
    assert alone.coding == "gzip" and not alone.has_token("Vary", "Available-Dictionary")


def test_a_cache_in_front_gives_a_difference_to_who_has_its_dictionary(httpd, tmp_path):
    server = httpd(
        "Elastic On\nElasticControl off\nCacheHeader On\n" + cache.DISK + STORE
        + at("d", 'ElasticDictionary match="/pages/*"', WEEK, "CacheDisable On")
        + at("pages", 'Header set Cache-Control "max-age=6000"'), modules=cache.MODULES,
        files={"dict.html": DICT, "page.html": PAGE}, start=False)
    make_store(server)
    cache.make_directory(server)
    server.start()
    learn(server)

    path, mine = "/pages/page.html", ("gzip, dcz", fields())
    with server.connect() as client:
        assert decoded(cache.filled(client, path, *mine), DICT, tmp_path) == PAGE
        for ae, headers in (
                ("gzip, dcz", fields(None)), ("gzip, dcz", fields(OTHER)), ("gzip", fields()),
                ("gzip, dcz", fields(Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors"))):
            check.encoded(cache.filled(client, path, ae, headers), "gzip", PAGE)
        # The others' Vary had fewer fields, and mod_cache keeps one Vary for all of a URL.
        assert decoded(cache.filled(client, path, *mine), DICT, tmp_path) == PAGE
