"""mod_cache in the same httpd.

mod_cache_disk may still be writing when the client has all of a response. It renames the header
before the body; between the two, a request on another connection is served without the cache, and
httpd logs MISSED. A test that needs a hit therefore makes its requests on one connection.
"""

# Connections stay open as long as a test needs them.
CONNECTIONS = "KeepAliveTimeout 600\nMaxKeepAliveRequests 0\n"

# A cache on disk (`make_directory` makes its directory), and a cache for everything.
ROOT = "CacheRoot {root}/cache\nCacheDirLevels 1\nCacheDirLength 1\n" + CONNECTIONS
DISK = "CacheEnable disk /\n" + ROOT
MODULES = ("cache", "cache_disk")

MISSED = "AH00708"


def make_directory(server):
    server.folder("cache")


def state(answer):
    """mod_cache's action, with CacheHeader on: HIT, MISS, REVALIDATE; none: it did not run."""
    return (answer.headers.get("X-Cache") or "none").split()[0]


def hit(client, path, ae, headers=None):
    """Returns the cached response to one request on the connection `client`."""
    answer = client.request(path, ae=ae, headers=headers)
    assert state(answer) == "HIT", answer
    return answer


def filled(client, path, ae, headers=None):
    """Returns the cached response, after a request that fills the cache if needed."""
    client.request(path, ae=ae, headers=headers)
    return hit(client, path, ae, headers)
