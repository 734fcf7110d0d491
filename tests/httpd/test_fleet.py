"""ElasticCacheStore redis and memcache: encodings that other servers made, and all that a store can
do wrong. What a server does then is to encode."""

import contextlib
import gzip
import socket
import threading
import time

import pytest

from kit import aborts, bodies, check, env, fleet
from kit.stores import Between, Memcached, Redis

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def redis():
    store = Redis()
    yield store
    store.stop()


@pytest.fixture(scope="module")
def first(httpd_shared, redis):
    """One that stores."""
    return fleet.start(httpd_shared, f"redis:127.0.0.1:{redis.port}",
                       allow_log=[fleet.TROUBLE])


@pytest.fixture(scope="module")
def between(redis):
    proxy = Between(redis.port)
    yield proxy
    proxy.stop()


@pytest.fixture(scope="module")
def second(httpd_shared, between):
    """One that finds, by a way that the tests may close."""
    return fleet.start(httpd_shared, f"redis:127.0.0.1:{between.port}",
                       allow_log=[fleet.TROUBLE])


@pytest.fixture
def keep(first, redis, second):
    """keep(name, size): a page of both servers that the first has stored."""

    def make(name, size=40_000):
        for server in (first, second):
            fleet.page(server, name, size)
        fleet.until_kept(first, name, redis.count)

    return make


@pytest.mark.smoke
def test_what_one_has_encoded_is_a_hit_of_the_other(keep, first, second):
    fleet.until_well(second, keep, "shared")
    notes = fleet.until_hit(second, "shared-well-1")
    assert notes["elastic-coding"] == "gzip"
    assert int(notes["elastic-in"]) == (second.docs / "shared-well-1.html").stat().st_size


def test_one_of_many_pieces(keep, second):
    keep("long", 200_000)
    fleet.until_hit(second, "long")


def test_names_and_values_tell_nothing(keep, first, redis):
    before = set(redis.keys())
    keep("secret")
    sent = first.get("/seen/secret.html", ae="gzip").raw
    for key in set(redis.keys()) - before:
        assert key.startswith(b"mod_elastic:")
        name = bytes.fromhex(key.removeprefix(b"mod_elastic:").decode())
        value = redis.ask("GET", key)
        assert b"localhost" not in name
        for at in range(0, len(sent) - 16, 16):
            assert sent[at:at + 16] not in value
        assert b"gzip" not in value and b"zlib" not in value and b"elastic" not in value


def test_with_another_key_it_is_another_store(httpd, keep, redis, second):
    keep("locked")
    other = fleet.start(httpd, f"redis:127.0.0.1:{redis.port}", key=bytes(range(32)),
                        allow_log=[fleet.PROVIDERS])
    other.expect_log(fleet.OWN)  # where it was late
    fleet.page(other, "locked")
    fleet.until_kept(other, "locked", redis.count)
    assert not other.log.lines("not what was stored")
    fleet.until_hit(second, "locked")


def test_after_a_reload_it_goes_on(keep, second):
    keep("reloaded")
    second.graceful()
    fleet.until_hit(second, "reloaded")
    fleet.until_well(second, keep, "reloaded")


def test_one_that_hangs_is_not_waited_for(keep, second, between):
    keep("slow")
    between.hold()
    try:
        begun = time.monotonic()
        asked = between.asked
        fleet.until_fault(second, keep, "slow")
        for _ in range(60):
            fleet.get(second, "slow")
        # What is asked while it hangs is never answered: who waited would wait to this day.
        assert time.monotonic() - begun < fleet.PATIENCE
        # Few calls go out: as many as there are threads, and no more where these hang.
        assert between.asked - asked < 40
    finally:
        between.release()
    fleet.until_well(second, keep, "slow")


def test_the_time_of_looking_is_the_response_s(keep, second, between):
    """Of one response in sixteen CPU time is taken instead, in which nobody waits."""
    end = time.monotonic() + fleet.PATIENCE
    longest = number = 0
    try:
        while longest < 5000:
            assert time.monotonic() < end, second.log.text()
            between.release()
            fleet.until_well(second, keep, f"looked-{number}")
            between.hold()
            longest = fleet.until_fault(second, keep, f"looked-{number}")
            number += 1
    finally:
        between.release()
    fleet.until_well(second, keep, "looked")


def crowd(server, name):
    """What each of many clients who want a new page at the same time gets."""
    notes = []
    clients = [threading.Thread(target=lambda: notes.append(fleet.get(server, name, "br")))
               for _ in range(12)]
    for client in clients:
        client.start()
    for client in clients:
        client.join(300)
    assert len(notes) == len(clients)
    return notes


def test_those_who_wait_for_an_encoding_do_not_depend_on_the_store(httpd):
    """They have it from who made it. Where a machine is so busy that no two ask at the same time,
    they do once more. A process of prefork has one client, and nobody who waits."""
    redis = Redis()
    redis.stop()
    server = fleet.start(httpd, f"redis:127.0.0.1:{redis.port}",
                         "ElasticControl off\nElasticLevel br 11\n",
                         allow_log=[fleet.PROVIDERS, fleet.OWN])
    end = time.monotonic() + fleet.PATIENCE
    waited = number = 0
    while not waited and (env.MPM != "prefork" or not number):
        assert time.monotonic() < end
        fleet.page(server, f"crowd-{number}", body=b"%d again and again, " % number * 40000)
        waited = sum(map(fleet.is_hit, crowd(server, f"crowd-{number}")))
        number += 1


def test_what_it_says_comes_in_one_line_a_minute(keep, second, between):
    begun = time.monotonic()
    lines = len(second.log.lines(fleet.OWN))
    between.hold()
    try:
        for name in ("one", "another", "a-third"):
            fleet.until_fault(second, keep, f"said-{name}")
            between.release()
            fleet.until_well(second, keep, f"said-{name}")
            between.hold()
    finally:
        between.release()
    minutes = (time.monotonic() - begun) / 60
    assert len(second.log.lines(fleet.OWN)) - lines <= 1 + minutes


@pytest.mark.parametrize("name,change", [
    ("values", lambda answer: answer[:200] + bytes(byte ^ 1 for byte in answer[200:])),
    ("lines", lambda answer: b"HELLO\r\n"),
    ("nothing", lambda answer: b"$0\r\n\r\n"),
    ("another", lambda answer: b"$40\r\n\0\0\0\x24" + bytes(36) + b"\r\n"),
    ("longer", lambda answer: b"$9\r\n\xff\xff\xff\xff12345\r\n"),
])
def test_one_that_is_garbled(keep, second, between, name, change):
    between.change = change
    try:
        fleet.until_fault(second, keep, f"garbled-{name}")
    finally:
        between.change = None
    fleet.until_well(second, keep, f"garbled-{name}")


BOUNDED = "SendBufferSize 8192\nElasticMaxMemory {most}\n"


@pytest.fixture
def remembering(httpd, redis):
    """A server that finds what the first has stored, and counts what bodies hold."""
    return fleet.start(httpd, f"redis:127.0.0.1:{redis.port}", BOUNDED.replace("{most}", "64M"),
                       allow_log=[fleet.TROUBLE])


def memory(server):
    return int(server.status()["ElasticMemory"])


def test_what_it_returns_is_held_until_it_is_sent(keep, remembering):
    """And counts in ElasticMaxMemory, as what is encoded here does."""
    keep("held", 200_000)
    fleet.page(remembering, "held", 200_000)
    end = time.monotonic() + fleet.PATIENCE
    notes, number = {}, 0
    while not notes or not fleet.is_hit(notes):
        assert time.monotonic() < end, notes
        remembering.wait_for(lambda: memory(remembering) == 0, 30, "memory that nobody holds")
        number += 1
        with remembering.connect(timeout=60) as connection:
            connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.send(b"GET /seen/held.html HTTP/1.1\r\nHost: localhost\r\n"
                            b"X-Request: held-%d\r\nAccept-Encoding: gzip\r\n\r\n" % number)
            remembering.wait_for(lambda: aborts.is_readable(connection), 60, "the answer")
            holding = memory(remembering)
            answer = connection.read_head(f"held-{number}")
            encoded = b"".join(connection.body_pieces(answer))
            assert gzip.decompress(encoded) == (remembering.docs / "held.html").read_bytes()
        notes = remembering.notes(answer)
    assert len(encoded) < holding <= 2 * (len(encoded) + 1000)


def test_what_may_not_be_held_is_not_found(keep, redis, remembering):
    """Which is no fault of the store's."""
    keep("refused", 200_000)
    fleet.page(remembering, "refused", 200_000)
    fleet.until_hit(remembering, "refused")
    encoded = len(remembering.get("/seen/refused.html", ae="gzip").raw)
    store = f"redis:127.0.0.1:{redis.port}"
    remembering.configure(fleet.CONFIG.replace("{store}", store)
                          + BOUNDED.replace("{most}", str(encoded // 2)))
    remembering.graceful()
    before = fleet.counted(remembering)
    for _ in range(5):
        check.plain(remembering.get("/seen/refused.html", ae="gzip"),
                    (remembering.docs / "refused.html").read_bytes())
    after = fleet.counted(remembering)
    assert after["Hits"] == before["Hits"]
    assert not remembering.log.lines("not what was stored")


def new_keys(keep, redis, name, size=40_000):
    """The names of the pieces of a page that is kept, in their order."""
    before = set(redis.keys())
    keep(name, size)
    return sorted(set(redis.keys()) - before, key=lambda key: key[-4:])


def test_values_that_were_exchanged_are_found_out(keep, second, redis):
    """As by who can write to the store, and knows no key."""
    one, = new_keys(keep, redis, "one")
    two, = new_keys(keep, redis, "two")
    values = [redis.ask("GET", key) for key in (one, two)]
    fleet.until_well(second, keep, "exchanged")
    redis.ask("SET", one, values[1])
    redis.ask("SET", two, values[0])
    for name in ("one", "two"):
        assert not fleet.is_hit(fleet.get(second, name))
        fleet.until_hit(second, name)  # its own


def test_pieces_of_two_values_are_found_out(keep, second, redis):
    """As when one is replaced while it is read."""
    whole = new_keys(keep, redis, "whole", 200_000)
    assert len(whole) > 2
    fleet.until_well(second, keep, "pieces")
    redis.ask("SET", whole[1], redis.ask("GET", whole[2]))
    assert not fleet.is_hit(fleet.get(second, "whole"))
    fleet.until_hit(second, "whole")


def test_one_of_whose_pieces_some_are_gone_is_a_miss(keep, second, redis):
    whole = new_keys(keep, redis, "parts", 200_000)
    fleet.until_well(second, keep, "some")
    redis.ask("DEL", whole[2])
    assert not fleet.is_hit(fleet.get(second, "parts"))
    fleet.until_hit(second, "parts")


def test_one_that_is_full(keep, second, redis):
    keep("found")
    redis.ask("CONFIG", "SET", "maxmemory", 1)
    try:
        fleet.page(second, "full")
        faults = fleet.counted(second)["Faults"]
        end = time.monotonic() + fleet.PATIENCE
        while fleet.counted(second)["Faults"] == faults:
            assert time.monotonic() < end, second.log.text()
            for name in ("found", "full"):
                fleet.get(second, name)
    finally:
        redis.ask("CONFIG", "SET", "maxmemory", 0)
    fleet.until_well(second, keep, "full")


@contextlib.contextmanager
def busy(server):
    """Clients who go on asking for some pages, and get them whatever the store does."""
    names = [f"busy-{number}" for number in range(8)]
    for name in names:
        fleet.page(server, name)
    ending = threading.Event()
    wrong = []

    def ask(at):
        try:
            while not ending.is_set():
                fleet.get(server, names[at % len(names)])
                at += 1
        except Exception as error:  # any: it is reported
            wrong.append(error)

    clients = [threading.Thread(target=ask, args=(at,)) for at in range(4)]
    for client in clients:
        client.start()
    try:
        yield
    finally:
        ending.set()
        for client in clients:
            client.join()
    assert not wrong, wrong


def test_one_that_dies_in_mid_run(httpd):
    """Clients who go on asking get what they ask for, while it is there and while it is not."""
    redis = Redis()
    server = fleet.start(httpd, f"redis:127.0.0.1:{redis.port}", allow_log=[fleet.PROVIDERS])
    server.expect_log(fleet.OWN)
    try:
        with busy(server):
            for turn in ("first", "second"):
                server.wait_for(redis.keys, fleet.PATIENCE, "a value in the store")
                redis.kill()
                fleet.meet_fault(server, f"{turn}-gone")
                redis = Redis(redis.port)
                fleet.page(server, turn)
                fleet.until_kept(server, turn, redis.count)
    finally:
        redis.stop()


def later(answer):
    time.sleep(2)
    return answer


def test_one_that_is_slow_garbled_and_full_in_mid_run(keep, second, between, redis):
    def garble(answer):
        # A line: without its end the clients wait for ever (docs/internals/cache.md).
        return b"HELLO\r\n"

    def change(function):
        between.change = function

    def bound(nbytes):
        redis.ask("CONFIG", "SET", "maxmemory", nbytes)

    with busy(second):
        for name, begin, end in (("slow", lambda: change(later), lambda: change(None)),
                                 ("garbled", lambda: change(garble), lambda: change(None)),
                                 ("full", lambda: bound(1), lambda: bound(0))):
            begin()
            try:
                fleet.meet_fault(second, f"mid-run-{name}")
            finally:
                end()
            fleet.until_well(second, keep, f"mid-run-{name}")


def test_one_that_is_not_there_at_the_start(httpd):
    redis = Redis()
    redis.stop()
    server = fleet.start(httpd, f"redis:127.0.0.1:{redis.port}", allow_log=[fleet.PROVIDERS])
    server.expect_log(fleet.OWN)
    fleet.meet_fault(server, "early")
    server.wait_log(fleet.OWN)
    redis = Redis(redis.port)
    try:
        fleet.page(server, "late")
        fleet.until_kept(server, "late", redis.count)
    finally:
        redis.stop()


@pytest.mark.smoke
def test_memcached(httpd):
    store = Memcached()
    first, second = (fleet.start(httpd, f"memcache:127.0.0.1:{store.port}",
                                 "ElasticCacheMaxSize 2M\nElasticPoolMemory 1G",
                                 allow_log=[fleet.PROVIDERS]) for _ in range(2))
    # Its encoding does not fit into one value of memcached, of 1 MB with its header. Prefork's many
    # processes share the pool's memory, and stream what is larger than half of a share.
    large = bodies.noise(1_000_000).hex().encode()
    try:
        for server in (first, second):
            server.expect_log(fleet.OWN)
            fleet.page(server, "small")
            fleet.page(server, "large", body=large)
        for name in ("small", "large"):
            fleet.until_kept(first, name, store.count)
            fleet.until_hit(second, name)
        assert not first.log.lines("AH00790")
    finally:
        store.stop()
