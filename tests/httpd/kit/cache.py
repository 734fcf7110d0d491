"""mod_cache before ours.

mod_cache_disk still writes when the client has got all of a response, and puts the header in place
before the body: a request on another connection is answered without the cache meanwhile, which
MISSED logs. A test that needs a hit therefore makes its requests on one connection.
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
    """The cache's response on `client`, a connection; it is asked for again where it was not kept
    yet."""
    answer = client.request(path, ae=ae, headers=headers)
    if state(answer) == "MISS":
        answer = client.request(path, ae=ae, headers=headers)
    assert state(answer) == "HIT", answer
    return answer
