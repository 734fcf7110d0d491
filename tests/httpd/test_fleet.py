"""ElasticCacheStore redis and memcache, and ElasticCacheKey: encodings from other servers, and all
faults of a store, with which a server encodes for itself."""

import contextlib
import itertools
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from kit import CGID_RELOADED, bodies, check, env, faults
from kit.load import Load
from kit.stores import OWN, PROVIDERS, Between, Memcached, Redis

pytestmark = pytest.mark.slow

KEY = b"thirty-two bytes that few know.." * 2
STORES = ("redis:127.0.0.1:1", "memcache:127.0.0.1:1")

CONFIG = """
Elastic On
ElasticLevel gzip 1
ElasticCache On
ElasticCacheStore STORE
ElasticCacheKey {root}/cache.key
ElasticWholeBody 4M
Alias /seen {docs}
<Location /seen>
    Options +Includes
    SetOutputFilter INCLUDES
</Location>
"""

# A busy machine may be late for many seconds; each time the pause doubles, up to a minute.
PATIENCE = 240


class Server:
    """A server of the fleet: the fixture `httpd`, its pages, and `store`, the argument of
    ElasticCacheStore. keeper: (the server that stores pages for this one, the store's count())"""

    def __init__(self, httpd, store, config="", key=KEY, start=True, keeper=None, **options):
        provider = store.partition(":")[0]
        self.config = CONFIG.replace("STORE", store)
        self.httpd = httpd(self.config + config, start=False,
                           modules=("include", f"socache_{provider}"),
                           allow_log=[f"{PROVIDERS}|{OWN}|{CGID_RELOADED}|LoadModule socache"],
                           **options)
        self.key = self.httpd.root / "cache.key"
        self.key.write_bytes(key)
        self.key.chmod(0o600)
        self.keeper = keeper
        if start:
            self.httpd.start()

    def page(self, name, size=40_000, body=None):
        self.httpd.write(f"{name}.html", body or bodies.html(size) + name.encode())

    def get(self, name, coding="gzip"):
        """Returns the notes of a response, which is correct whatever the store does."""
        answer = self.httpd.get(f"/seen/{name}.html", ae=coding)
        check.encoded(answer, coding, (self.httpd.docs / f"{name}.html").read_bytes())
        return self.httpd.notes(answer)

    def until(self, condition, what):
        """Calls `condition(number)` with 1, 2, ... until it is true."""
        numbers = itertools.count(1)
        self.httpd.wait_for(lambda: condition(next(numbers)), PATIENCE, what)

    def until_hit(self, name):
        self.until(lambda number: is_hit(self.get(name)), "a hit")

    def until_kept(self, name, count):
        before = count()
        self.until(lambda number: self.get(name) and count() > before, "something in the store")

    def keep(self, name, size=40_000):
        """Makes a page; the keeper, if there is one, stores it."""
        self.page(name, size)
        if self.keeper:
            server, count = self.keeper
            server.page(name, size)
            server.until_kept(name, count)

    def counted(self, name):
        return int(self.httpd.status()[f"ElasticCache{name}"])

    def until_fault(self, name, make=None):
        """Requests new pages of make(), by default keep(), until the server has met a fault: known
        pages may be in its own memory, and in a pause it does not ask the store. Returns the
        seconds of the last request."""
        before, took = self.counted("Faults"), []

        def ask(number):
            (make or self.keep)(f"{name}-{number}")
            begun = time.monotonic()
            self.get(f"{name}-{number}")
            took.append(time.monotonic() - begun)
            return self.counted("Faults") > before

        self.until(ask, "a fault")
        return took[-1]

    def until_well(self, name):
        """Waits until pages of the other server are hits again."""
        def ask(number):
            self.keep(f"{name}-well-{number}")
            stored = self.counted("Stored")
            self.until_hit(f"{name}-well-{number}")
            return self.counted("Stored") == stored

        self.until(ask, "a hit of what the other stored")


def is_hit(notes):
    return notes["elastic-engine"] == "cache"


@pytest.fixture(scope="module")
def redis():
    store = Redis()
    yield store
    store.stop()


@pytest.fixture(scope="module")
def first(httpd_shared, redis):
    return Server(httpd_shared, f"redis:127.0.0.1:{redis.port}")


@pytest.fixture(scope="module")
def between(redis):
    proxy = Between(redis.port)
    yield proxy
    proxy.stop()


@pytest.fixture(scope="module")
def second(httpd_shared, first, between, redis):
    return Server(httpd_shared, f"redis:127.0.0.1:{between.port}", keeper=(first, redis.count))


# --- the configuration


@pytest.mark.parametrize("store", STORES)
def test_without_a_key_it_is_refused(httpd, store):
    """Or with a bad one."""
    server = Server(httpd, store, start=False)
    taken, said = server.httpd.configtest()
    assert taken and "elastic" not in said
    for key, mode, fault in (
            (b"short", 0o600, "fewer than 32 bytes"), (KEY, 0o644, "chmod 600"),
            (KEY, 0o660, "chmod 600"), (KEY * 200, 0o600, "more than 4096 bytes"),
            (None, 0, "No such file"), ("folder", 0, "not a regular file")):
        server.key.unlink(missing_ok=True)
        if key == "folder":
            server.key.mkdir()
        elif key:
            server.key.write_bytes(key)
            server.key.chmod(mode)
        taken, said = server.httpd.configtest()
        assert not taken and "ElasticCacheKey" in said and "cache.key" in said and fault in said
    server.httpd.configure(f"ElasticCacheStore {store}")
    taken, said = server.httpd.configtest()
    assert not taken and "ElasticCacheKey" in said


# --- the configuration


@pytest.mark.parametrize("store", [*STORES, "shmcb"])
def test_without_its_module_responses_are_encoded(httpd, store):
    """The configuration is still checked, and is no error: a line names what is missing."""
    server = Server(httpd, store, start=False)
    name = f"socache_{store.partition(':')[0]}"
    server.httpd.modules.remove(name)
    server.httpd.configure(server.config)
    taken, said = server.httpd.configtest()
    line = f"LoadModule {name}_module modules/mod_{name}.so"
    assert taken and said.count(line) == 1
    server.httpd.log.expect("LoadModule")
    server.httpd.start()
    assert len(server.httpd.log.lines(line)) == 1
    server.page("a")
    assert not any(is_hit(server.get("a")) for _ in range(3))


# --- hits


@pytest.mark.smoke
def test_what_one_has_encoded_is_a_hit_of_the_other(second):
    second.until_well("shared")
    second.keep("long", 200_000)  # of many pieces
    second.until_hit("long")
    second.keep("reloaded")
    second.httpd.graceful()
    second.until_hit("reloaded")
    notes = second.get("reloaded")
    assert notes["elastic-coding"] == "gzip"
    assert int(notes["elastic-in"]) == (second.httpd.docs / "reloaded.html").stat().st_size


@pytest.mark.smoke
def test_memcached(httpd):
    store = Memcached()
    one, other = (Server(httpd, f"memcache:127.0.0.1:{store.port}",
                         "ElasticCacheMaxSize 2M\nElasticPoolMemory 1G") for _ in range(2))
    # Its encoding does not fit into one value of memcached, 1 MB with the header. Prefork's many
    # processes share the pool's memory, and stream bodies larger than half of their share.
    large = bodies.noise(1_000_000).hex().encode()
    try:
        for server in (one, other):
            server.page("small")
            server.page("large", body=large)
        for name in ("small", "large"):
            one.until_kept(name, store.count)
            other.until_hit(name)
        assert not one.httpd.log.lines("AH00790")
    finally:
        store.stop()


def test_with_another_key_it_is_another_store(httpd, redis, second):
    second.keep("locked")
    other = Server(httpd, f"redis:127.0.0.1:{redis.port}", key=bytes(range(32)))
    other.page("locked")
    other.until_kept("locked", redis.count)
    assert not other.httpd.log.lines("a compressed copy is damaged")
    second.until_hit("locked")


def test_files_are_not_stored_on_other_machines(httpd, tmp_path):
    """There, a file's numbers mean another file."""
    clock = faults.Clock(tmp_path, "disk")
    clock.skip(calendar=400)  # the files are old
    redis = Redis()
    try:
        server = Server(httpd, f"redis:127.0.0.1:{redis.port}", **clock.options)
        server.page("page")
        for _ in range(5):
            answer = server.httpd.get("/page.html", ae="gzip")
            check.encoded(answer, "gzip", (server.httpd.docs / "page.html").read_bytes())
        assert server.counted("Misses") == 5
        server.until_kept("page", redis.count)
        assert redis.count() == 1
    finally:
        redis.stop()


def new_keys(server, redis, name, size=40_000):
    """The names of a stored page's pieces, in order."""
    before = set(redis.keys())
    server.keep(name, size)
    return sorted(set(redis.keys()) - before, key=lambda key: key[-4:])


def test_names_and_values_tell_nothing(first, second, redis):
    keys = new_keys(second, redis, "secret")
    assert keys
    for key in keys:
        assert key.startswith(b"mod_elastic:")
        name = bytes.fromhex(key.removeprefix(b"mod_elastic:").decode())
        value, sent = redis.ask("GET", key), first.httpd.get("/seen/secret.html", ae="gzip").raw
        assert b"localhost" not in name
        assert not any(sent[at:at + 16] in value for at in range(0, len(sent) - 16, 16))
        assert b"gzip" not in value and b"zlib" not in value and b"elastic" not in value


def test_values_that_were_exchanged_are_found_out(second, redis):
    """An attacker who can write to the store but has no key could do that."""
    [one], [two] = new_keys(second, redis, "one"), new_keys(second, redis, "two")
    values = [redis.ask("GET", key) for key in (one, two)]
    second.until_well("exchanged")
    redis.ask("SET", one, values[1])
    redis.ask("SET", two, values[0])
    for name in ("one", "two"):
        assert not is_hit(second.get(name))
        second.until_hit(name)  # its own


@pytest.mark.parametrize("case", ["exchanged", "empty", "gone"])
def test_pieces_of_two_values_are_found_out(second, redis, case):
    """This happens if a value is replaced while it is read. A value with missing pieces is a
    miss."""
    name = f"pieces-{case}"
    whole = new_keys(second, redis, name, 200_000)
    assert len(whole) > 2
    second.until_well(name)
    before = second.counted("Faults")
    if case == "gone":
        redis.ask("DEL", whole[2])
    else:
        redis.ask("SET", whole[1], redis.ask("GET", whole[2]) if case == "exchanged" else b"")
    assert not is_hit(second.get(name))
    assert case != "empty" or second.counted("Faults") > before
    second.until_hit(name)


@pytest.mark.parametrize("case,change", [
    ("huge", lambda value: b"\xff" * 4 + value[4:]),
    ("larger", lambda value: (1 << 24).to_bytes(4, "big") + value[4:]),
    ("longer", lambda value: (int.from_bytes(value[:4], "big") + 1).to_bytes(4, "big") + value[4:]),
    ("shorter", lambda value: (int.from_bytes(value[:4], "big") - 1).to_bytes(4, "big") + value[4:]),
    ("none", lambda value: bytes(4) + value[4:]),
    ("below", lambda value: (27).to_bytes(4, "big") + value[4:31]),
    ("cut", lambda value: value[:31]),
    ("begun", lambda value: value[:32]),
    ("empty", lambda value: b"")])
def test_a_length_that_no_value_has_is_a_fault(second, redis, case, change):
    """Its first four bytes are not sealed: whoever can write to the store can write any."""
    name = f"length-{case}"
    [key] = new_keys(second, redis, name)
    second.until_well(name)
    before = second.counted("Faults")
    redis.ask("SET", key, change(redis.ask("GET", key)))
    assert not is_hit(second.get(name))
    assert (second.counted("Faults") > before) == (case not in ("longer", "begun")), case
    second.until_hit(name)


def test_what_may_not_be_held_is_not_found(httpd, first, redis):
    """That is no fault of the store."""
    server = Server(httpd, f"redis:127.0.0.1:{redis.port}", keeper=(first, redis.count))
    server.keep("refused", 200_000)
    server.until_hit("refused")
    encoded = len(server.httpd.get("/seen/refused.html", ae="gzip").raw)
    hits, misses = server.counted("Hits"), server.counted("Misses")
    # With much less memory the body itself does not fit, and the store is not asked.
    for most in range(encoded, 8 * encoded, encoded // 2):
        server.httpd.configure(server.config + f"ElasticMaxMemory {most}\n")
        server.httpd.graceful()
        check.plain(server.httpd.get("/seen/refused.html", ae="gzip"),
                    (server.httpd.docs / "refused.html").read_bytes())
        if server.counted("Misses") > misses:
            break
    assert server.counted("Misses") > misses and server.counted("Hits") == hits
    assert not server.httpd.log.lines("a compressed copy is damaged")


# --- faults of the store


def test_one_that_hangs_is_not_waited_for(second, between):
    """A request waits 5 ms. A busy machine adds time, but hardly twice that."""
    took = []
    while len(took) < 3 and min(took, default=1) > 0.5:
        second.keep("slow")
        between.hold()
        try:
            asked = between.asked
            took.append(second.until_fault(f"slow-{len(took)}"))
            for _ in range(60):
                second.get("slow")
            # At most one call for each thread goes out, and none while they hang.
            assert between.asked - asked < 40
        finally:
            between.release()
        second.until_well("slow")
    assert min(took) < 0.5, took


@pytest.mark.parametrize("forged,tries", [
    (b"$-1\r\n", 1), (b"$0\r\n\r\n", 4), (b"$36\r\n" + bytes(36) + b"\r\n", 4)],
    ids=["missing", "empty", "other"])
def test_it_is_asked_again_only_if_it_returns_what_it_was_given(second, between, forged, tries):
    """A pause ends with a trial, a random value of 36 bytes."""
    name, trials = f"forged-{len(forged)}", []

    def change(answer):
        if not answer.startswith(b"$36\r\n"):
            return answer
        trials.append(answer)
        return forged

    def is_tried_again(number):
        assert not is_hit(second.get(name))
        return len(trials) > tries  # those of the first

    second.keep(name)
    between.hold()
    try:
        second.until_fault(name)
        between.change = change
    finally:
        between.release()
    try:
        second.until(is_tried_again, "a second trial")
    finally:
        between.change = None
    second.until_well(name)


# --- faults of the store


def test_those_who_wait_for_an_encoding_do_not_depend_on_the_store(httpd):
    """They get it from the encoding thread. If the machine is so busy that no two requests overlap,
    the test tries again. A process of prefork has one client, so none waits."""
    redis = Redis()
    redis.stop()
    server = Server(httpd, f"redis:127.0.0.1:{redis.port}",
                    "ElasticControl off\nElasticLevel br 11\n")

    def ask(number):
        server.page(f"waiting-{number}", body=b"%d again and again, " % number * 40000)
        notes = pool.map(lambda _: server.get(f"waiting-{number}", "br"), range(12))
        return any(map(is_hit, list(notes))) or env.MPM == "prefork"

    with ThreadPoolExecutor(12) as pool:
        server.until(ask, "one who waited")


@contextlib.contextmanager
def busy(server):
    """Clients that keep requesting a page, and get it whatever the store does."""
    server.page("busy")
    body = (server.httpd.docs / "busy.html").read_bytes()
    with Load(server.httpd, "/seen/busy.html", body, clients=4) as load:
        yield
    assert load.count and not load.failed, load.failed[:3]


def late(answer):
    time.sleep(2)
    return answer


# Replacements of an answer. Each has its line end, because the clients wait forever for one
# (docs/internals/cache.md).
CHANGES = {
    "slow": late,
    "values": lambda answer: answer[:200] + bytes(byte ^ 1 for byte in answer[200:]),
    "lines": lambda answer: b"HELLO\r\n",
    "nothing": lambda answer: b"$0\r\n\r\n",
    "another": lambda answer: b"$40\r\n\0\0\0\x24" + bytes(36) + b"\r\n",
    "longer": lambda answer: b"$9\r\n\xff\xff\xff\xff12345\r\n",
    "full": None,
}


@pytest.mark.parametrize("fault,said", [
    ("silent", "it does not answer in time"), ("full", "it refused a compressed copy"),
    ("gone", "a request to it failed")])
def test_the_log_says_what_is_wrong(httpd, fault, said):
    """The log has the first fault of each minute. If the machine is so busy that another came
    first, the test tries again with another server."""
    redis = Redis()
    between = Between(redis.port)
    {"silent": between.hold, "gone": redis.stop,
     "full": lambda: redis.ask("CONFIG", "SET", "maxmemory", 1)}[fault]()

    def is_said(number):
        server = Server(httpd, f"redis:127.0.0.1:{(between if fault == 'silent' else redis).port}")
        server.page("a")
        server.until(lambda number: server.get("a") and server.counted("Faults"), "a fault")
        server.httpd.wait_log(OWN)
        server.httpd.stop()
        return server.httpd.log.lines(OWN + said)

    try:
        assert any(map(is_said, range(10)))
    finally:
        between.stop()
        redis.stop()


def test_one_that_is_slow_garbled_and_full_in_mid_run(second, between, redis):
    """Clients get correct answers, and the log has one line a minute about the store."""
    begun, lines = time.monotonic(), len(second.httpd.log.lines(OWN))
    with busy(second):
        for name, change in CHANGES.items():
            between.change = change
            redis.ask("CONFIG", "SET", "maxmemory", 1 if name == "full" else 0)
            try:
                second.until_fault(f"mid-run-{name}", second.page)
            finally:
                between.change = None
                redis.ask("CONFIG", "SET", "maxmemory", 0)
            second.until_well(f"mid-run-{name}")
    minutes = (time.monotonic() - begun) / 60
    assert len(second.httpd.log.lines(OWN)) - lines <= 1 + minutes


def test_one_that_dies_in_mid_run(httpd):
    """Clients get correct answers with and without the store; at the start it is missing."""
    redis = Redis()
    redis.stop()
    server = Server(httpd, f"redis:127.0.0.1:{redis.port}")
    try:
        with busy(server):
            for turn in ("first", "second"):
                server.until_fault(f"{turn}-gone")
                server.httpd.wait_log(OWN)
                redis = Redis(redis.port)
                server.page(turn)
                server.until_kept(turn, redis.count)
                redis.kill()
    finally:
        redis.stop()
