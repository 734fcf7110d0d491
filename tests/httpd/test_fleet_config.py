"""ElasticCacheStore redis and memcache, and ElasticCacheKey, in the configuration test."""

import pytest

from kit import fleet

STORES = ("redis:127.0.0.1:1", "memcache:127.0.0.1:1")


@pytest.fixture
def tested(httpd):
    """tested(store, key, mode): what the configuration test says of it."""

    def test(store, key=fleet.KEY, mode=0o600, modules=True):
        said = []

        def ready(server):
            file = server.root / "cache.key"
            if key is None:
                file.unlink()
            else:
                file.chmod(mode)
            if not modules:
                server.modules = [name for name in server.modules if "socache" not in name]
                server.configure(fleet.CONFIG.replace("{store}", store))
            said.append(server.configtest())

        fleet.start(httpd, store, key=key or b"", ready=ready)
        return said[0]

    return test


@pytest.mark.parametrize("store", STORES)
def test_one_that_others_reach_is_taken_with_a_key(tested, store):
    taken, said = tested(store)
    assert taken, said
    assert "elastic" not in said


@pytest.mark.parametrize("store", STORES)
def test_without_a_key_it_is_refused(httpd, store):
    server = httpd(f"ElasticCacheStore {store}", start=False)
    taken, said = server.configtest()
    assert not taken
    assert "ElasticCacheKey" in said


@pytest.mark.parametrize("key,mode,fault", [
    (b"short", 0o600, "fewer than 32 bytes"), (fleet.KEY, 0o644, "chmod 600"),
    (fleet.KEY, 0o660, "chmod 600"), (None, 0, "No such file")])
def test_a_bad_key_is_refused(tested, key, mode, fault):
    taken, said = tested("redis:127.0.0.1:1", key, mode)
    assert not taken
    assert "ElasticCacheKey" in said and "cache.key" in said and fault in said


@pytest.mark.parametrize("store", STORES)
def test_without_its_module_is_a_warning(tested, store):
    taken, said = tested(store, modules=False)
    name = f"socache_{store.partition(':')[0]}"
    assert taken, said
    assert f"LoadModule {name}_module modules/mod_{name}.so" in said


def test_without_its_module_responses_are_encoded(httpd):
    """What is configured is still checked, and still no error."""
    def ready(server):
        server.modules = [name for name in server.modules if "socache" not in name]
        server.configure(fleet.CONFIG.replace("{store}", STORES[0]))
        server.start()

    server = fleet.start(httpd, STORES[0], ready=ready, allow_log=["LoadModule socache_redis"])
    fleet.page(server, "a")
    for _ in range(3):
        assert not fleet.is_hit(fleet.get(server, "a"))
