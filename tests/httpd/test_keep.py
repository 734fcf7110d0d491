"""ElasticCache: a body that was seen before is not encoded again."""

import subprocess
import threading
import zlib

import pytest

from kit import at, bodies, check
from kit.keep import CHILDREN, KEEP, PINNED, SHMCB, cache, is_kept, page, reload, twice
from kit.origin import raw
from kit.position import PositionFile
from kit.server import CGID_RELOADED

@pytest.fixture(scope="module")
def server(httpd_shared):
    return httpd_shared(KEEP + PINNED + at("off", "ElasticCache Off")
                        + at("suffix", "ElasticETag suffix") + at("five", "ElasticLevel gzip 5"),
                        modules=SHMCB)


@pytest.mark.smoke
@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_the_third_time_it_is_not_encoded(server, coding):
    path, body = page(server)
    before = cache(server)
    answers = [server.get(path, ae=coding) for _ in range(3)]
    for answer in answers:
        check.encoded(answer, coding, body)
        assert int(answer.headers["Content-Length"]) == len(answer.raw)
        assert answer.headers["ETag"] == f'W/"tag-{coding}"'
    assert answers[0].raw == answers[1].raw == answers[2].raw
    notes = [server.notes(answer) for answer in answers]
    assert [note["elastic-engine"] == "cache" for note in notes] == [False, False, True]
    for name in ("elastic-coding", "elastic-level", "elastic-in", "elastic-out", "elastic-ratio"):
        assert len({note[name] for note in notes}) == 1, name
    grown = {key: value - before[key] for key, value in cache(server).items()}
    assert grown == {"hits": 1, "misses": 2, "stored": 1, "faults": 0}


def test_a_hit_counts_as_a_compressed_response(server):
    path, body = page(server)
    twice(server, path)
    before = server.status()
    answer = server.get(path, ae="gzip")
    assert is_kept(server, answer)
    after = server.status()
    grown = {key: int(after[key]) - int(before[key])
             for key in ("ElasticCompressed", "ElasticBytesIn", "ElasticBytesOut")}
    assert grown["ElasticCompressed"] >= 1
    assert grown["ElasticBytesIn"] >= len(body) and grown["ElasticBytesOut"] >= len(answer.raw)


def test_each_coding_has_its_own(server):
    path, body = page(server)
    twice(server, path, "gzip")
    for coding, kept in (("br", False), ("br", True), ("gzip", True), ("br, gzip", True)):
        answer = server.get(path, ae=coding)
        check.encoded(answer, coding.split(",")[0], body)
        assert is_kept(server, answer) == kept, coding


def test_the_same_body_of_another_path(server):
    path, body = page(server)
    other, _ = page(server, body, fields=())
    twice(server, path)
    answer = server.get(other, ae="gzip")
    check.encoded(answer, "gzip", body)
    assert is_kept(server, answer) and "ETag" not in answer.headers


def test_a_body_that_changes_is_encoded_anew(server):
    path, body = page(server)
    twice(server, path)
    changed = body[:-1] + b"!"
    server.write(path, b"Content-Type: text/plain\n\n" + changed)
    answer = server.get(path, ae="gzip")
    check.encoded(answer, "gzip", changed)
    assert not is_kept(server, answer)


@pytest.mark.smoke
def test_head_has_the_length_of_what_is_kept(server):
    """Of a file, because mod_asis sends nothing to HEAD."""
    server.write("head.txt", bodies.text(30001))
    for _ in range(3):
        get = server.get("/head.txt", ae="gzip")
    assert is_kept(server, get)
    before = cache(server)["hits"]
    head = server.head("/head.txt", ae="gzip")
    check.head_of(get, head, "Content-Length")
    assert head.headers["Content-Length"] == str(len(get.raw))
    assert cache(server)["hits"] == before + 1


def test_tags_are_those_of_the_request(server):
    path, body = page(server)
    twice(server, path)
    answer = server.get("/suffix" + path, ae="gzip")
    assert is_kept(server, answer) and answer.headers["ETag"] == '"tag-gzip"'


def test_where_it_is_off(server):
    path, body = page(server)
    twice(server, path)
    before = cache(server)
    answer = server.get("/off" + path, ae="gzip")
    check.encoded(answer, "gzip", body)
    assert not is_kept(server, answer) and cache(server) == before


def test_a_pinned_level_is_used_exactly(server):
    path, body = page(server)
    twice(server, path)
    for kept in (False, True):
        answer = server.get("/five" + path, ae="gzip")
        check.encoded(answer, "gzip", body)
        assert is_kept(server, answer) == kept
        assert server.notes(answer)["elastic-level"] == "5"
    assert is_kept(server, server.get(path, ae="gzip"))


@pytest.mark.parametrize("field", ["Cookie", "Authorization"])
def test_visitors_share_with_nobody(server, field):
    path, body = page(server)
    twice(server, path)
    for value in ("one", "two"):
        twice(server, path, headers={field: value})
        answer = server.get(path, ae="gzip", headers={field: value})
        check.encoded(answer, "gzip", body)
        assert is_kept(server, answer)
    for headers in ({field: "three"}, {"Cookie": "one", "Authorization": "one"}):
        assert not is_kept(server, server.get(path, ae="gzip", headers=headers))
    assert is_kept(server, server.get(path, ae="gzip"))


def nobody_elses(server, path, body, who):
    """Each of `who`, by its fields, has the encodings of its own requests, and of no other's."""
    for headers in who:
        twice(server, path, headers=headers)
        answer = server.get(path, ae="gzip", headers=headers)
        check.encoded(answer, "gzip", body)
        assert is_kept(server, answer), headers


@pytest.mark.parametrize("field", ["Cookie", "Authorization"])
@pytest.mark.parametrize("redirected", [False, True])
def test_visitors_whose_credentials_were_taken_away_share_with_nobody(httpd, field, redirected):
    """As by SessionCookieRemove, mod_auth_openidc, or before a backend that shall not see them."""
    server = httpd(KEEP + PINNED + f"RequestHeader unset {field}\nRewriteEngine On\n"
                   "RewriteRule ^/to(/.*) $1 [PT]\n<Directory {docs}>\nRewriteEngine On\n"
                   "RewriteRule ^by/(.*) /$1\n</Directory>", modules=(*SHMCB, "rewrite"))
    path, body = page(server)
    (server.docs / "by").mkdir()
    nobody_elses(server, "/by" + path if redirected else path, body,
                 [{}, {field: "one"}, {field: "two"}])


def test_what_nobody_is_to_see_does_not_count(httpd):
    server = httpd(KEEP + PINNED + "RequestHeader unset Cookie early\n", modules=SHMCB)
    path, body = page(server)
    twice(server, path, headers={"Cookie": "one"})
    answer = server.get(path, ae="gzip", headers={"Cookie": "two"})
    check.encoded(answer, "gzip", body)
    assert is_kept(server, answer)


def test_users_share_with_nobody(httpd):
    """Who a user is may be known by other means than a field of the request."""
    server = httpd(KEEP + PINNED + "LuaHookFixups {docs}/user.lua user\n",
                   modules=(*SHMCB, "lua"), files={"user.lua": """
        function user(r)
            r.user = r.headers_in["X-User"] or ""
            return apache2.DECLINED
        end"""})
    path, body = page(server)
    nobody_elses(server, path, body, [{"X-User": "one"}, {"X-User": "two"}])


def certificate(folder, name):
    """One of that name which the client made itself; the file has its key, too."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=one", "-set_serial", "1",
                    "-keyout", folder / "key", "-out", folder / "cert"], check=True,
                   capture_output=True)
    whole = folder / name
    whole.write_text((folder / "key").read_text() + (folder / "cert").read_text())
    return whole


def test_clients_with_certificates_share_with_nobody(httpd, tmp_path):
    """Neither the subject nor the serial number tells them apart."""
    server = httpd(KEEP + PINNED + "SSLVerifyClient optional_no_ca\n", modules=SHMCB, tls=True,
                   allow_log=("AH02039", "AH02040"))
    path, body = page(server)
    for who in ([], ["--cert", certificate(tmp_path, "a")], ["--cert", certificate(tmp_path, "b")]):
        for hits in (0, 0, 1):
            before = cache(server)["hits"]
            sent = subprocess.run(
                ["curl", "-sk", "-H", "Accept-Encoding: gzip", *who,
                 f"https://127.0.0.1:{server.tls_port}{path}"], check=True, capture_output=True)
            assert zlib.decompress(sent.stdout, 31) == body
            assert cache(server)["hits"] == before + hits, who


def test_what_does_not_become_smaller_is_not_kept(server):
    path, body = page(server, bodies.noise(20000))
    before = cache(server)
    for _ in range(3):
        check.plain(server.get(path, ae="gzip"), body)
    assert cache(server)["stored"] == before["stored"]


def test_a_page_that_is_never_the_same_is_not_kept(server):
    """And after a while only a sample of it is looked for."""
    path, _ = page(server)
    before = cache(server)
    for number in range(64):
        body = bodies.text(3000) + b"%d of never the same" % number
        server.write(path, b"Content-Type: text/plain\n\n" + body)
        check.encoded(server.get(path, ae="gzip"), "gzip", body)
    grown = {key: value - before[key] for key, value in cache(server).items()}
    assert grown["hits"] == grown["stored"] == 0
    assert 16 <= grown["misses"] < 40, grown


@pytest.fixture
def fresh(httpd):
    """A server of the test's own."""
    def make(text="", more=(), **kw):
        return httpd(KEEP + text, modules=(*SHMCB, *more), **kw)

    return make


@pytest.mark.smoke
def test_a_graceful_restart_keeps_them_and_a_restart_does_not(fresh):
    server = fresh(PINNED)
    path, body = page(server)
    twice(server, path)
    server.graceful()
    assert is_kept(server, server.get(path, ae="gzip"))
    server.restart()
    twice(server, path)
    assert is_kept(server, server.get(path, ae="gzip"))


def test_a_store_of_another_size_is_empty(fresh):
    server = fresh(PINNED)
    path, body = page(server)
    twice(server, path)
    server.configure(KEEP + PINNED + "ElasticCacheStore shmcb:(16777216)")
    reload(server)
    answer = server.get(path, ae="gzip")
    assert not is_kept(server, answer)
    assert is_kept(server, server.get(path, ae="gzip"))
    server.configure(KEEP.replace("ElasticCache On", "") + PINNED)
    reload(server)
    answer = server.get(path, ae="gzip")
    check.encoded(answer, "gzip", body)
    assert not is_kept(server, answer)


def test_both_generations_use_it(fresh, origin):
    """Children of before a graceful restart, which still answer, and those of after it."""
    server = fresh(PINNED + f"ProxyPass /p/ {origin.url}/\n", more=("proxy", "proxy_http"))
    go = threading.Event()
    texts = {name: bodies.text(20000) + name.encode() for name in ("old", "new")}

    def answer(name):
        """Header and body in one write, so that the body is there at once."""
        def respond(exchange):
            go.wait(60)
            raw({"Content-Type": "text/plain", "Content-Length": 20003}, texts[name])(exchange)
        return respond

    for name in texts:
        origin.route("/" + name, answer(name))
    paths = {name: page(server, text)[0] for name, text in texts.items()}
    assert not is_kept(server, server.get(paths["old"], ae="gzip"))
    with server.connect() as one, server.connect() as other:
        for connection, name in ((one, "old"), (other, "new")):
            connection.send(b"GET /p/%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                            b"Accept-Encoding: gzip\r\n\r\n" % name.encode())
        server.wait_for(lambda: {"/old", "/new"} <= {seen.path for seen in origin.seen}, 30,
                        "both requests")
        server.graceful()
        twice(server, paths["new"])
        before = cache(server)
        go.set()
        for connection, name in ((one, "old"), (other, "new")):
            got = connection.read_head()
            check_gzip = b"".join(connection.body_pieces(got))
            assert zlib.decompress(check_gzip, 31) == texts[name]
    grown = {key: value - before[key] for key, value in cache(server).items()}
    assert grown == {"hits": 1, "misses": 1, "stored": 1, "faults": 0}
    assert is_kept(server, server.get(paths["old"], ae="gzip"))


def test_the_provider_is_not_loaded(httpd):
    """configtest says which line is missing, and the server runs without a store."""
    server = httpd(KEEP + PINNED, modules=("asis",), allow_log=("ElasticCache is off",))
    ok, said = server.configtest()
    assert ok and said.count("LoadModule socache_shmcb_module modules/mod_socache_shmcb.so") == 1
    assert len(server.log.lines("LoadModule socache_shmcb_module")) == 1
    path, body = page(server)
    for _ in range(3):
        answer = server.get(path, ae="gzip")
        check.encoded(answer, "gzip", body)
        assert not is_kept(server, answer)
    server.configure("Elastic On")
    ok, said = server.configtest()
    assert ok and "ElasticCache" not in said


def test_modules_come_and_go(httpd):
    """A reload unloads mod_socache_shmcb and this module, and loads them elsewhere, or does not:
    nothing of them is called where it was, and httpd ends well."""
    server = httpd(KEEP + PINNED, modules=SHMCB,
                   allow_log=("ElasticCache is off", CGID_RELOADED))
    path, body = page(server)
    twice(server, path)
    states = [  # modules; with this one; whether a graceful restart keeps what was kept
        (("proxy", "proxy_http", "include", *SHMCB), True, True), (SHMCB, True, True),
        (("asis",), True, False), (SHMCB, True, False), (("asis",), False, False),
        (("rewrite", *SHMCB), True, True), (("asis",), False, False)]
    for ends in (reload, lambda server: server.restart()):
        for modules, server.elastic, stays in states:
            server.modules = list(modules)
            server.configure(KEEP + PINNED if server.elastic else "AddHandler send-as-is asis")
            ends(server)
            if not server.elastic:
                check.plain(server.get(path, ae="gzip"), body, varies=False)
                continue
            if "socache_shmcb" not in modules:
                assert not is_kept(server, server.get(path, ae="gzip"))
                continue
            if stays and ends is reload:
                assert is_kept(server, server.get(path, ae="gzip"))
            path, body = page(server)
            twice(server, path)
            assert is_kept(server, server.get(path, ae="gzip"))


@pytest.fixture
def follower(httpd):
    """A server whose position is a file's; a function that writes it, and waits."""
    server = httpd(KEEP + "ElasticInterval 100ms\nElasticControl external\n"
                   "ElasticPosition {root}/position\n" + at("slow", "ElasticMaxTime 1ms"),
                   start=False, modules=SHMCB, allow_log=["ElasticInterval"], mpm_config=CHILDREN)
    file = PositionFile(server.root / "position")
    file.write(5)
    server.start()

    def follow(position, bypass=False):
        file.write(position, bypass=bypass)
        wanted = {"ElasticFollows": "1", "ElasticPosition": f"{position / 8:.3f}",
                  "ElasticBypass": str(int(bypass))}
        server.wait_for(lambda: wanted.items() <= server.status().items(), 60, str(wanted))
    follow(5)
    return server, follow


def test_a_better_one_is_taken_and_a_worse_one_replaced(follower):
    server, follow = follower
    path, body = page(server)
    twice(server, path)

    def ask():
        answer = server.get(path, ae="gzip")
        check.encoded(answer, "gzip", body)
        return is_kept(server, answer), server.notes(answer)["elastic-level"]

    assert ask() == (True, "6")
    follow(1)
    assert ask() == (True, "6")
    follow(8)
    assert ask() == (False, "9")
    assert ask() == (True, "9")
    assert server.notes(server.get(path, ae="gzip"))["elastic-setup"].endswith(" 9")


def test_no_process_goes_on_with_a_copy_that_was_replaced(follower):
    server, follow = follower
    server.wait_for(lambda: len(server.children()) > 1, 60, "two children")
    path, body = page(server)
    twice(server, path)
    # Each process that answers has a copy of its own afterwards.
    for level in ("6", "9"):
        for _ in range(40):
            answer = server.get(path, ae="gzip")
            assert (is_kept(server, answer), server.notes(answer)["elastic-level"]) == (True, level)
        follow(8)
        answer = server.get(path, ae="gzip")
        check.encoded(answer, "gzip", body)
        assert is_kept(server, answer) == (level == "9")


def test_no_load_forbids_what_is_kept(follower):
    server, follow = follower
    path, body = page(server)
    twice(server, path)
    new, text = page(server)
    server.get(new, ae="gzip")
    follow(0, bypass=True)
    before = cache(server)
    for _ in range(2):
        answer = server.get(path, ae="gzip")
        check.encoded(answer, "gzip", body)
        assert is_kept(server, answer)
        answer = server.get(new, ae="gzip")
        check.plain(answer, text)
        assert server.reason(answer) == "bypass"
    assert cache(server)["hits"] == before["hits"] + 2


def test_no_time_forbids_what_is_kept(follower):
    """A body of a megabyte takes more than the millisecond that is allowed, at its lowest level."""
    server, follow = follower
    path, body = page(server, bodies.text(900000))
    twice(server, path)
    answer = server.get("/slow" + path, ae="gzip")
    check.encoded(answer, "gzip", body)
    assert is_kept(server, answer) and server.notes(answer)["elastic-level"] == "6"


def test_virtual_hosts_share_only_where_they_may(httpd):
    hosts = "".join(f"<VirtualHost 127.0.0.1:{{port}}>\nServerName {name}\n{scope}\n"
                    "</VirtualHost>\n"
                    for name, scope in (("a", ""), ("b", ""), ("c", "ElasticCacheScope all"),
                                        ("d", "ElasticCacheScope all")))
    server = httpd(KEEP + PINNED + hosts, modules=SHMCB)
    path, body = page(server)

    def kept(host):
        answer = server.get(path, ae="gzip", headers={"Host": host})
        check.encoded(answer, "gzip", body)
        return is_kept(server, answer)

    assert [kept("a") for _ in range(3)] == [False, False, True]
    assert [kept("b") for _ in range(3)] == [False, False, True]
    assert [kept("c") for _ in range(3)] == [False, False, True]
    assert kept("d")


def test_large_encodings_are_not_kept(fresh):
    server = fresh(PINNED + "ElasticCacheMaxSize 4K")
    small, body = page(server, bodies.text(9000))
    twice(server, small)
    assert is_kept(server, server.get(small, ae="gzip"))
    large, body = page(server, bodies.text(60000))
    for _ in range(3):
        answer = server.get(large, ae="gzip")
        check.encoded(answer, "gzip", body)
        assert len(answer.raw) > 4096 and not is_kept(server, answer)


def small_page(server, number):
    """And its body; those of different numbers are different."""
    return page(server, bodies.text(1500) + bodies.noise(900 + number))


def test_a_full_store_makes_room(fresh):
    """Of 256 KB: for 120 pages, though these are small; and what is asked for again and again
    stays, as it is stored again when it is old."""
    server = fresh(PINNED + "ElasticCacheStore shmcb:(262144)")
    hot, _ = small_page(server, 0)
    twice(server, hot)
    pages = []
    for number in range(1, 201):
        pages.append(small_page(server, number))
        twice(server, pages[-1][0])
        if number % 2 == 0:
            assert is_kept(server, server.get(hot, ae="gzip")), number
    assert cache(server)["faults"] == 0
    reload(server)  # children that have no copies
    assert is_kept(server, server.get(hot, ae="gzip"))
    # From the last one: what is missing is stored, and drives out the first ones.
    kept = 0
    for path, body in pages[:-86:-1]:
        answer = server.get(path, ae="gzip")
        check.encoded(answer, "gzip", body)
        kept += is_kept(server, answer)
    assert kept > 70


def test_what_comes_again_too_late_is_not_kept(fresh):
    """A store of 32 KB has room for 56: after three times as many others a page is a new one."""
    server = fresh(PINNED + "ElasticCacheStore shmcb:(32768)")
    first, _ = small_page(server, 0)
    server.get(first, ae="gzip")
    for number in range(1, 171):
        twice(server, small_page(server, number)[0])
    twice(server, first)
    assert is_kept(server, server.get(first, ae="gzip"))


@pytest.mark.smoke
def test_many_who_want_a_new_page_wait_for_one_encoding(fresh):
    """It is expected to take much longer than it does, because it repeats itself: so nobody stops
    waiting, however busy the machine is. A process encodes it for its first client, and for the
    first of those who know that it comes again."""
    server = fresh("ElasticControl off\nElasticLevel br 11\nElasticWholeBody 2M\n")
    path, body = page(server, b"the same again and again, " * 40000)
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(server.get(path, ae="br")))
               for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert len(answers) == 12
    for answer in answers:
        check.encoded(answer, "br", body)
    made = [answer for answer in answers if not is_kept(server, answer)]
    assert len(made) <= 2 * len(server.children()) + 1
