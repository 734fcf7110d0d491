"""Pieces of configuration."""


def at(name, *lines):
    """The site once more below /`name`, with `lines` in force there."""
    return f"Alias /{name} {{docs}}\n<Location /{name}>\n" + "\n".join(lines) + "\n</Location>\n"


# A cache on disk for everything; its directory is made by `make_cache`.
CACHE = "CacheEnable disk /\nCacheRoot {root}/cache\nCacheDirLevels 1\nCacheDirLength 1\n"


def make_cache(server):
    cache = server.root / "cache"
    cache.mkdir()
    cache.chmod(0o777)
