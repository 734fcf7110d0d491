"""ElasticCache: a body that was seen before is not encoded again."""

import random
import re
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from kit import aborts, at, bodies, check, env, faults
from kit.config import vhost
from kit.counters import counted
from kit.keep import CHILDREN, KEEP, PINNED, SHMCB, cache, is_kept, kept, page, reload, twice
from kit.position import FOLLOW, start_following
from kit.server import CGID_RELOADED

# A user may be known by other means than a field of the request.
LUA = """
function user(r)
    if r.headers_in["X-User"] then
        r.user = r.headers_in["X-User"]
    end
    return apache2.DECLINED
end
"""
CONFIG = KEEP + PINNED + """
LuaHookFixups {docs}/user.lua user
SSLVerifyClient optional_no_ca
<Directory {docs}/by>
    RewriteEngine On
    RewriteRule ^(.*) /$1
</Directory>
""" + at("off", "ElasticCache Off") + at("suffix", "ElasticETag suffix") \
    + at("five", "ElasticLevel gzip 5") \
    + at("unset", "RequestHeader unset Cookie", "RequestHeader unset Authorization") \
    + at("best", "ElasticLevel br 11", "ElasticWholeBody 2M") + vhost("localhost") + vhost("b") \
    + vhost("c", "ElasticCacheScope all") + vhost("d", "ElasticCacheScope all") \
    + vhost("early", "RequestHeader unset Cookie early") \
    + vhost("late", "RequestHeader unset Cookie", "RequestHeader unset Authorization")


@pytest.fixture(scope="module")
def server(httpd_shared):
    made = httpd_shared(CONFIG, modules=(*SHMCB, "lua", "rewrite"), tls=True,
                        files={"user.lua": LUA}, allow_log=("AH02039", "AH02040"))
    (made.docs / "by").mkdir()
    return made


@pytest.mark.smoke
@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_the_third_time_it_is_not_encoded(server, coding):
    """It counts as a compressed response."""
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
    assert grown == {"hits": 1, "misses": 2, "stored": 1, "faults": 0, "busy": 0, "broken": 0}
    answer, grown = counted(server, lambda: server.get(path, ae=coding))
    assert is_kept(server, answer) and grown == {"compressed": 1}


def test_a_pinned_level_is_used_exactly(server):
    """Each coding and each body has its own entry, whatever the path and header."""
    path, body = page(server)
    other, _ = page(server, body, fields=())
    twice(server, path)
    for place, ae, stored in (("", "br", False), ("", "br", True), ("", "gzip", True),
                              ("", "br, gzip", True), (other, "gzip", True),
                              ("/five", "gzip", False), ("/five", "gzip", True),
                              ("/suffix", "gzip", True), ("/off", "gzip", False)):
        before = cache(server)
        answer = server.get(other if place == other else place + path, ae=ae)
        check.encoded(answer, ae.partition(",")[0], body)
        assert is_kept(server, answer) == stored, (place, ae)
        assert cache(server)["hits"] == before["hits"] + stored
        assert place != "/off" or cache(server) == before
        level = {"/five": "5"}.get(place, "4" if "br" in ae else "6")
        assert server.notes(answer)["elastic-level"] == level
        tag = {other: None, "/suffix": '"tag-gzip"'}.get(place, f'W/"tag-{answer.coding}"')
        assert answer.headers.get("ETag") == tag


FIELDS = ("Cookie", "Authorization")
LATE = {"Host": "late"}


@pytest.mark.parametrize("place,who", [
    *(("", [{}, {field: "one"}, {field: "two"}, {"Cookie": "one", "Authorization": "one"}])
      for field in FIELDS),
    # Credentials that other modules remove, such as SessionCookieRemove, mod_auth_openidc or a
    # proxy's rules; also with internal redirects.
    *((place, [{**host, **who} for who in ({}, {field: "one"}, {field: "two"})])
      for place, host in (("/unset", {}), ("", LATE), ("/by", LATE)) for field in FIELDS),
    ("", [{"X-User": "one"}, {"X-User": "two"}, {}]),
    ("", [{"Host": host} for host in ("localhost", "b", "c")])])
def test_visitors_share_with_nobody(server, place, who):
    path, body = page(server)
    for headers in who:
        assert [kept(server, place + path, body, headers=headers) for _ in range(3)] \
            == [False, False, True], headers
    assert all(kept(server, place + path, body, headers=headers) for headers in who)


def test_hosts_of_one_name_at_two_addresses_share_with_nobody(httpd):
    there = "127.0.0.2"
    server = httpd(KEEP + PINNED + f"Listen {there}:{{port}}\n" + "".join(
        f"<VirtualHost {address}:{{port}}>\nServerName one\n</VirtualHost>\n"
        for address in ("127.0.0.1", there)), modules=SHMCB)
    path, body = page(server)
    twice(server, path)
    for stored in (False, False, True):
        with server.connect(host=there) as connection:
            answer = connection.request(path, ae="gzip")
        check.encoded(answer, "gzip", body)
        assert is_kept(server, answer) == stored


@pytest.mark.parametrize("one,other", [
    ({"Host": "c"}, {"Host": "d"}),
    ({"Host": "early", "Cookie": "one"}, {"Host": "early", "Cookie": "two"})])
def test_who_may_share_does(server, one, other):
    path, body = page(server)
    twice(server, path, headers=one)
    assert kept(server, path, body, headers=other)


def test_clients_with_certificates_share_with_nobody(server, tmp_path):
    """The subject and serial number do not tell them apart, because clients choose them
    themselves."""
    path, body = page(server)
    for who in (None, "one", "another"):
        certificate = who and tmp_path / who
        if who:
            made = subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                 "-nodes", "-subj", "/CN=one", "-set_serial", "1", "-keyout", "-", "-out", "-"],
                check=True, capture_output=True)
            certificate.write_bytes(made.stdout)
        for stored in (False, False, True):
            with server.connect("tls", certificate=certificate) as connection:
                answer = connection.request(path, ae="gzip")
            check.encoded(answer, "gzip", body)
            assert is_kept(server, answer) == stored, who


def test_a_page_that_is_never_the_same_is_not_cached(server):
    """After a while only a sample of such pages is looked up."""
    path, _ = page(server)
    before = cache(server)
    for number in range(64):
        body = bodies.text(3000) + b"%d of never the same" % number
        server.write(path, b"Content-Type: text/plain\n\n" + body)
        assert not kept(server, path, body)
    grown = {key: value - before[key] for key, value in cache(server).items()}
    assert grown["hits"] == grown["stored"] == 0
    assert 16 <= grown["misses"] < 40, grown


@pytest.mark.smoke
def test_many_who_want_a_new_page_wait_for_one_encoding(server):
    """The page repeats itself, so that its encoding takes much less than expected, and nobody stops
    waiting on a busy machine. Each process encodes it for its first client, and for the first one
    after it is known to repeat."""
    path, body = page(server, b"the same again and again, " * 40000)
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda _: server.get("/best" + path, ae="br"), range(12)))
    for answer in answers:
        check.encoded(answer, "br", body)
    made = [answer for answer in answers if not is_kept(server, answer)]
    assert len(made) <= 2 * len(server.children()) + 1


NOISE = random.Random(1).randbytes(12000)


@pytest.mark.parametrize("body, most", [(NOISE, "1M"), (bodies.text(12000), "1000"),
                                        (NOISE[:6000] + bytes(6000), "5900")],
                         ids=["no-smaller", "too-large", "larger-than-expected"])
def test_nobody_waits_for_others_to_encode_what_cannot_be_handed_over(httpd, tmp_path, body, most):
    turns = faults.Folder(tmp_path, "gzip-turns")
    server = httpd(KEEP + PINNED + f"ElasticCacheMaxSize {most}\n", modules=SHMCB, **turns.options)
    path, body = page(server, body)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(server.get, path, "gzip")
        server.wait_for(lambda: turns["1"], 60, "the first")
        others = [pool.submit(server.get, path, "gzip") for _ in range(3)]
        turns["1"] = False
        first.result(60)
        # Both at the same time, not in turn.
        server.wait_for(lambda: any(all(turns[name] for name in names) for names in ("123", "234")),
                        30, "all others")
        server.wait_for(lambda: turns.clear() or all(other.done() for other in others), 60,
                        "all answers")


def test_waiting_for_another_threads_encoding_is_no_encoding_time(httpd, tmp_path):
    """The second waits 10 ms at least for the first, and then encodes for itself. Processes of
    prefork do not wait for each other."""
    turns = faults.Folder(tmp_path, "gzip-turns")
    server = httpd(KEEP + PINNED + "<Location /elastic-metrics>\nSetHandler elastic-metrics\n"
                   "</Location>\n", modules=SHMCB, **turns.options)
    path, _ = page(server)

    def timed():
        began = time.monotonic()
        server.get(path, "gzip")
        return time.monotonic() - began

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(timed)
        server.wait_for(lambda: turns["1"], 60, "the first")
        second = pool.submit(timed)
        server.wait_for(lambda: turns.clear(but="1") or second.done(), 60, "the second")
        text = server.get("/elastic-metrics").body.decode()
        server.wait_for(lambda: turns.clear() or first.done(), 60, "the first")
    [spent] = re.findall(r'(?m)^elastic_encoding_seconds_sum\{coding="gzip"\} (\S+)$', text)
    assert 0 < float(spent) <= second.result() - (0.01 if env.MPM != "prefork" else 0)


def test_a_weak_one_is_used_while_a_better_one_is_made(httpd, tmp_path):
    """Only one request pays for it. Processes of prefork encode for themselves."""
    turns = faults.Folder(tmp_path, "gzip-turns")
    server = httpd(KEEP + FOLLOW, start=False, modules=SHMCB, allow_log=["ElasticInterval"],
                   mpm_config=aborts.ONE_CHILD["mpm_config"], **turns.options)
    follow = start_following(server)
    path, body = page(server)

    def ended(asked):
        server.wait_for(lambda: turns.clear() or asked.done(), 60, "an answer")
        check.encoded(asked.result(), "gzip", body)
        return is_kept(server, asked.result()), server.notes(asked.result())["elastic-level"]

    with ThreadPoolExecutor(2) as pool:
        for stored in (False, False, True):
            assert ended(pool.submit(server.get, path, "gzip")) == (stored, "6")
        follow(8)
        better = pool.submit(server.get, path, "gzip")
        server.wait_for(lambda: turns["1"], 60, "a better one")
        if env.MPM != "prefork":
            weak = pool.submit(server.get, path, "gzip")
            server.wait_for(lambda: weak.done() or turns["2"], 60, "a weak one")
        assert ended(better) == (False, "9")
        assert env.MPM == "prefork" or ended(weak) == (True, "6")


# --- the store's life


@pytest.fixture
def fresh(httpd):
    return lambda text="": httpd(KEEP + PINNED + text, modules=SHMCB, allow_log=(CGID_RELOADED,))


@pytest.mark.smoke
def test_a_graceful_restart_keeps_them_and_a_restart_does_not(fresh):
    """A change of the store's size, or of the configuration without it, empties the store, too."""
    server = fresh()
    path, body = page(server)
    twice(server, path)
    for config, ends, found in (
            (KEEP, server.graceful, [True]), (KEEP, server.restart, [False, False, True]),
            (KEEP + "ElasticCacheStore shmcb:(16777216)\n", lambda: reload(server), [False, True]),
            (KEEP.replace("ElasticCache On", ""), lambda: reload(server), [False, False])):
        server.configure(config + PINNED)
        ends()
        assert [kept(server, path, body) for _ in found] == found, config


def test_modules_come_and_go(httpd):
    """A reload unloads mod_socache_shmcb and this module, and loads them elsewhere or not at all.
    No code may be called at its old address, and httpd must end normally."""
    server = httpd(KEEP + PINNED, modules=SHMCB,
                   allow_log=("ElasticCache is off", CGID_RELOADED))
    path, body = page(server)
    twice(server, path)
    states = [  # (modules, with this one, whether a graceful restart keeps the entries)
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
            elif "socache_shmcb" not in modules:
                assert not kept(server, path, body)
            else:
                assert not (stays and ends is reload) or kept(server, path, body)
                path, body = page(server)
                assert [kept(server, path, body) for _ in range(3)] == [False, False, True]


def test_another_build_of_the_provider_has_a_store_of_its_own(httpd):
    """As after an upgrade of httpd and a reload."""
    def configure(name):
        path = shutil.copy(env.module_path(SHMCB[0]), server.root / name)
        server.configure(f"LoadModule {SHMCB[0]}_module {path}\n" + KEEP + PINNED)

    server = httpd(start=False, modules=SHMCB[1:], allow_log=(CGID_RELOADED,))
    configure("one.so")
    server.start()
    path, body = page(server)
    twice(server, path)
    assert kept(server, path, body)
    configure("another.so")
    reload(server)
    assert [kept(server, path, body) for _ in range(2)] == [False, True]


def test_the_provider_may_be_a_part_of_httpds_program(httpd, tmp_path):
    server = httpd(KEEP + PINNED, modules=SHMCB,
                   wrapper=faults.wrapper(faults.library(tmp_path, "one-program")))
    path, body = page(server)
    twice(server, path)
    assert kept(server, path, body)


def test_what_is_too_large_for_a_process_is_found_in_the_store(httpd):
    """A process of one thread has copies of up to 64 KB."""
    one = "" if env.MPM == "prefork" else "ThreadsPerChild 1\nThreadLimit 1\nServerLimit 4\n" \
        "StartServers 2\nMaxRequestWorkers 4\nMinSpareThreads 1\nMaxSpareThreads 4\n"
    server = httpd(KEEP + PINNED, modules=SHMCB, mpm_config=one)
    path, body = page(server, bodies.noise(100_000) + bodies.text(100_000))
    twice(server, path)
    assert all(kept(server, path, body) for _ in range(3))


def test_large_encodings_are_not_cached(fresh):
    """Encodings that are not smaller are not cached either."""
    server = fresh("ElasticCacheMaxSize 4K")
    for size, last in ((9000, True), (60000, False)):
        path, body = page(server, bodies.text(size))
        assert [kept(server, path, body) for _ in range(3)] == [False, False, last]
    path, body = page(server, bodies.noise(3000))
    for _ in range(3):
        check.plain(server.get(path, ae="gzip"), body)
    assert cache(server)["stored"] == 1


def small_page(server, number):
    """A page and its body; different numbers give different bodies."""
    return page(server, bodies.text(1500) + bodies.noise(900 + number))


def test_a_full_store_makes_room(fresh):
    """256 KB have room for 120 entries of any small size. Popular entries stay, because they are
    stored again when they are old."""
    server = fresh("ElasticCacheStore shmcb:(262144)")
    popular = small_page(server, 0)
    twice(server, popular[0])
    pages = []
    for number in range(1, 201):
        pages.append(small_page(server, number))
        twice(server, pages[-1][0])
        assert number % 2 or kept(server, *popular), number
    assert cache(server)["faults"] == 0
    reload(server)  # the new children have no local copies
    assert kept(server, *popular)
    # From the last one on: missing pages are stored, and evict the first ones.
    assert sum(kept(server, *small) for small in pages[:-86:-1]) > 70


def test_what_repeats_too_late_is_not_cached(fresh):
    """A store of 32 KB has room for 56 entries: a page that repeats after three times as many
    others is new."""
    server = fresh("ElasticCacheStore shmcb:(32768)")
    first = small_page(server, 0)
    assert not kept(server, *first)
    for number in range(1, 171):
        twice(server, small_page(server, number)[0])
    assert [kept(server, *first) for _ in range(3)] == [False, False, True]


# --- levels and loads


@pytest.fixture(scope="module")
def following(httpd_shared):
    """A server that follows a position file, and a function that moves the position."""
    server = httpd_shared(KEEP + FOLLOW + at("slow", "ElasticMaxTime 1ms"), start=False,
                          modules=SHMCB, allow_log=["ElasticInterval"], mpm_config=CHILDREN)
    return server, start_following(server)


@pytest.fixture
def follower(following):
    following[1](5)
    return following


def test_a_better_one_is_taken_and_a_worse_one_replaced(follower):
    server, follow = follower
    path, body = page(server)
    twice(server, path)
    for position, stored, level in ((5, True, "6"), (1, True, "6"), (8, False, "9"),
                                    (8, True, "9")):
        follow(position)
        answer = server.get(path, ae="gzip")
        check.encoded(answer, "gzip", body)
        assert is_kept(server, answer) == stored
        assert server.notes(answer)["elastic-level"] == level
    assert server.notes(answer)["elastic-setup"].endswith(" 9")


def test_no_process_goes_on_with_a_copy_that_was_replaced(follower):
    server, follow = follower
    server.wait_for(lambda: len(server.children()) > 1, 60, "two children")
    path, body = page(server)
    twice(server, path)
    # Each process that answers then has a local copy.
    for level in ("6", "9"):
        for _ in range(40):
            answer = server.get(path, ae="gzip")
            assert (is_kept(server, answer), server.notes(answer)["elastic-level"]) == (True, level)
        follow(8)
        assert kept(server, path, body) == (level == "9")


def test_no_load_forbids_what_is_cached(follower):
    """ElasticMaxTime does not either: a body of a megabyte takes more than the allowed millisecond
    at its lowest level."""
    server, follow = follower
    path, body = page(server)
    twice(server, path)
    slow, large = page(server, bodies.text(900000))
    twice(server, slow)
    answer = server.get("/slow" + slow, ae="gzip")
    check.encoded(answer, "gzip", large)
    assert is_kept(server, answer) and server.notes(answer)["elastic-level"] == "6"
    new, text = page(server)
    assert not kept(server, new, text)
    follow(0, bypass=True)
    before = cache(server)
    for _ in range(2):
        assert kept(server, path, body)
        answer = server.get(new, ae="gzip")
        check.plain(answer, text)
        assert server.reason(answer) == "bypass"
    assert cache(server)["hits"] == before["hits"] + 2
