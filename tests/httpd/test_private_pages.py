"""Private pages as dictionaries of their own next versions, each for one session (RFC 9842)."""

import hashlib

import pytest

from kit import at, bodies, check, env
from kit.dictionary import decoded, field, learn, make_store, store_of

pytestmark = pytest.mark.skipif(not (env.HAS_ZSTD and env.HAS_LIBCRYPTO),
                                reason="needs libzstd and libcrypto")

FIRST = bodies.html(50_000)
NEXT = FIRST.replace(b"</p>", b", edited</p>", 1) + b"<p>the end</p>"

RULE = 'ElasticDictionary match="/*" revisit private=SID'


def place(name, control="private", *lines):
    return at(name, RULE, f'Header set Cache-Control "{control}"', *lines)


CONFIG = """
Elastic On
ElasticControl off
ElasticDictionaryStore {root}/dictionaries
SetEnvIf X-Public . PUBLIC
""" + place("p", "private", 'Header set Cache-Control "public, max-age=60" env=PUBLIC') \
    + at("silent", RULE) + place("fresh", "private, max-age=60") \
    + place("varies", "private", 'Header set Vary "Cookie"') \
    + place("any", "private", 'Header set Vary "*"') + place("nostore", "private, no-store") \
    + place("nocache", "private, no-cache") + place("public", "public") \
    + place("login", "private", 'Header always add Set-Cookie "SID=new"') \
    + at("plain", 'ElasticDictionary match="/*" revisit', 'Header set Cache-Control "private"')

KEPT = "private, max-age=0, proxy-revalidate, stale-while-revalidate=86400"
ALICE = "lang=en; SID=a11ce"


@pytest.fixture(scope="module")
def server(httpd_shared):
    made = httpd_shared(CONFIG, tls=True, h2=env.possible("h2"), start=False,
                        files={"page.html": FIRST})
    make_store(made)
    return made.start()


def ask(server, path, dictionary=FIRST, cookie=ALICE, protocol="http/1.1", **more):
    headers = {"Available-Dictionary": field(dictionary)}
    headers.update({"Cookie": cookie} if cookie else {})
    headers.update({name.replace("_", "-"): value for name, value in more.items()})
    return server.get(path, ae="gzip, dcz", protocol=protocol, headers=headers)


def note(server, answer):
    return server.notes(answer)["elastic-dictionary"]


def visit(server, name, **more):
    """A page was seen by its session, and is another one now."""
    server.write(name, FIRST)
    learn(server, f"/p/{name}", Cookie=ALICE, **more)
    server.write(name, NEXT)
    return f"/p/{name}"


def kept_in_folder(server, body):
    name = hashlib.sha256(body).hexdigest()
    return [file.name for file in store_of(server).iterdir() if file.name.startswith(name)]


@pytest.mark.smoke
@pytest.mark.protocols("http/1.1", "tls", "h2")
def test_a_session_gets_what_has_changed(server, tmp_path, protocol):
    name = f"seen-{protocol.replace('/', '')}.html"
    path = visit(server, name, protocol=protocol)
    answer = ask(server, path, protocol=protocol)
    assert decoded(answer, FIRST, tmp_path) == NEXT
    assert len(answer.raw) < 200 and note(server, answer) == "used"
    assert answer.headers["Cache-Control"] == KEPT
    assert answer.headers["Use-As-Dictionary"] == f'match="{path}"'
    # And so again, from what it has now.
    server.write(name, FIRST)
    assert decoded(ask(server, path, dictionary=NEXT, protocol=protocol), NEXT, tmp_path) == FIRST
    assert not kept_in_folder(server, FIRST) and not kept_in_folder(server, NEXT)


@pytest.mark.smoke
def test_all_children_have_it(server):
    path = visit(server, "children.html")
    for _ in range(20):
        assert ask(server, path, Connection="close").coding == "dcz"


def same_to_all(answer):
    return [field for field in answer.headers.fields if field[0] != "Date"]


@pytest.mark.parametrize("cookie", [
    None, "SID=b0b", "SID=a11ce1", "SID=a11c", "SID=A11CE", "sid=a11ce", "XSID=a11ce", "SID=",
    "SID=a11ce; SID=b0b", "SID=a11ce; SID=a11ce", "lang=SID=a11ce"])
def test_to_others_it_is_not_there(server, cookie):
    """Whoever has its hash is told no more than whoever makes one up."""
    path = visit(server, "others.html")
    if cookie == "SID=b0b":
        # Who has a page of his own there, too.
        learn(server, path, Cookie=cookie)
    known, unknown = (ask(server, path, dictionary=body, cookie=cookie)
                      for body in (FIRST, b"none"))
    check.encoded(known, "gzip", NEXT)
    assert known.raw == unknown.raw and same_to_all(known) == same_to_all(unknown)
    assert note(server, known) == note(server, unknown) == "unknown"
    assert ask(server, path).coding == "dcz"


@pytest.mark.parametrize("more,coding", [
    ({}, "dcz"), ({"Sec_Fetch_Site": "same-origin", "Sec_Fetch_Mode": "cors"}, "dcz"),
    ({"Sec_Fetch_Site": "none", "Sec_Fetch_Mode": "navigate"}, "dcz"),
    ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}, "gzip"),
    ({"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "navigate"}, "gzip"),
    ({"Host": "other.localhost"}, "gzip"),
    # What a cache may give to others is no difference from what they do not have.
    ({"X_Public": "1"}, "gzip"),
])
def test_other_sites_and_caches_get_no_difference(server, more, coding):
    answer = ask(server, visit(server, "sites.html"), **more)
    assert answer.coding == coding
    assert note(server, answer) == ("used" if coding == "dcz" else "unknown")
    for name in ("Available-Dictionary", "Sec-Fetch-Site"):
        assert answer.has_token("Vary", name)


@pytest.mark.parametrize("place,control", [
    ("silent", KEPT), ("varies", KEPT),
    ("fresh", "private, max-age=60, proxy-revalidate, stale-while-revalidate=86400")])
def test_pages_of_a_session_are_private(server, tmp_path, place, control):
    path = f"/{place}/page.html"
    learn(server, path, Cookie=ALICE)
    answer = ask(server, path)
    assert decoded(answer, FIRST, tmp_path) == FIRST
    assert answer.headers["Cache-Control"] == control


@pytest.mark.parametrize("place,headers", [
    ("any", {}), ("nostore", {}), ("nocache", {}), ("login", {}), ("plain", {}),
    (None, {"Cookie": "lang=en"}), (None, {"Authorization": "Basic YTpi"}),
    (None, {"Cookie": "SID="}), (None, {"Range": "bytes=0-9"}),
    (None, {"Sec-Fetch-Mode": "same-origin"})])
def test_other_pages_are_no_dictionaries(server, place, headers):
    path = f"/{place}/page.html" if place else "/p/page.html"
    answer = server.get(path, headers={"Cookie": ALICE, **headers})
    assert "Use-As-Dictionary" not in answer.headers
    assert "stale-while" not in answer.headers.get("Cache-Control", "")


def test_a_page_for_everyone_is_kept_in_the_folder(server, tmp_path):
    page = bodies.html(20_000)
    server.write("everyone.html", page)
    learn(server, "/public/everyone.html", Cookie=ALICE)
    assert len(kept_in_folder(server, page)) == 2
    answer = ask(server, "/public/everyone.html", dictionary=page, cookie=None)
    assert decoded(answer, page, tmp_path) == page


def test_it_outlives_reloads_and_ends_with_httpd(server, tmp_path):
    path = visit(server, "reload.html")
    for reload in (server.graceful, server.restart):
        reload()
        assert decoded(ask(server, path), FIRST, tmp_path) == NEXT
    server.stop()
    server.start()
    answer = ask(server, path)
    check.encoded(answer, "gzip", NEXT)
    assert note(server, answer) == "unknown"


def test_what_is_new_makes_room(httpd, tmp_path):
    """In 1 MB: 128 KB at most for each page."""
    server = httpd("ElasticDictionaryMemory 1M\n" + CONFIG, start=False,
                   files={"large.html": bodies.html(140_000), "page.html": FIRST}
                   | {f"{i}.html": bodies.html(100_000 + i) for i in range(12)})
    make_store(server)
    server.start()
    path = visit(server, "page.html")
    assert decoded(ask(server, path), FIRST, tmp_path) == NEXT
    answer = server.get("/p/large.html", headers={"Cookie": ALICE})
    assert "Use-As-Dictionary" not in answer.headers
    assert answer.headers["Cache-Control"] == "private"
    for i in range(12):
        learn(server, f"/p/{i}.html", Cookie="SID=b0b")
    assert note(server, ask(server, path)) == "unknown"
    assert note(server, ask(server, path, dictionary=NEXT)) == "used"
    # Another amount is other memory, without what was in the first.
    assert visit(server, "page.html") == path and note(server, ask(server, path)) == "used"
    server.configure("ElasticDictionaryMemory 2M\n" + CONFIG)
    server.graceful()
    server.wait_for(lambda: note(server, ask(server, path, Connection="close")) == "unknown",
                    60, "a server with other memory")
