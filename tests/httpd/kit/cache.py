"""mod_cache in the same httpd.

mod_cache_disk may still be writing when the client has all of a response. It renames the header
before the body; between the two, a request on another connection is served without the cache, and
httpd logs MISSED. A test that needs a hit therefore makes its requests on one connection.
"""

# Connections that stay open for as long as a test needs them.
CONNECTIONS = "KeepAliveTimeout 600\nMaxKeepAliveRequests 0\n"

# A cache on disk, whose directory `make_directory` makes, and one for everything.
ROOT = "CacheRoot {root}/cache\nCacheDirLevels 1\nCacheDirLength 1\n" + CONNECTIONS
DISK = "CacheEnable disk /\n" + ROOT
MODULES = ("cache", "cache_disk")

MISSED = "AH00708"


def make_directory(server):
    directory = server.root / "cache"
    directory.mkdir()
    directory.chmod(0o777)


def state(answer):
    """What mod_cache did, where CacheHeader is on: HIT, MISS, REVALIDATE; none: it did not run."""
    return (answer.headers.get("X-Cache") or "none").split()[0]


def hit(client, path, ae, headers=None):
    """The response to one request on `client`, a connection: the cache has it."""
    answer = client.request(path, ae=ae, headers=headers)
    assert state(answer) == "HIT", answer
    return answer


def filled(client, path, ae, headers=None):
    """The cache's response, after one request that fills the cache where it is not there yet."""
    client.request(path, ae=ae, headers=headers)
    return hit(client, path, ae, headers)
