"""A server with a cache of encodings, and its pages."""

import itertools

from . import bodies, check, env

SHMCB = ("socache_shmcb", "asis")

PINNED = "ElasticControl off\nElasticLevel gzip 6\nElasticLevel br 4\n"
KEEP = "Elastic On\nElasticCache On\nAddHandler send-as-is asis\n"

# At least two children.
CHILDREN = None if env.MPM == "prefork" else (
    "StartServers 2\nServerLimit 6\nThreadsPerChild 8\nMaxRequestWorkers 48\n"
    "MinSpareThreads 16\nMaxSpareThreads 48\n")

numbers = itertools.count()


def cache(server):
    return {key.removeprefix("ElasticCache").lower(): int(value)
            for key, value in server.status().items() if key.startswith("ElasticCache")}


def page(server, body=None, fields=("ETag: \"tag\"",)):
    """Makes a page with a body of its own; returns its path and the body. mod_asis sends a body
    whole, however busy the machine is."""
    name = f"page{next(numbers)}.asis"
    body = bodies.text(30000) + name.encode() if body is None else body
    server.write(name, "\n".join(["Content-Type: text/plain", *fields, "", ""]).encode() + body)
    return "/" + name, body


def is_kept(server, answer):
    return server.notes(answer).get("elastic-engine") == "cache"


def kept(server, path, body, ae="gzip", headers=None):
    """True if the response, which must have that body in the coding, came from the store."""
    answer = server.get(path, ae=ae, headers=headers)
    check.encoded(answer, ae.partition(",")[0], body)
    return is_kept(server, answer)


def twice(server, path, ae="gzip", headers=None):
    """Requests the page often enough that its encoding is stored."""
    for _ in range(2):
        answer = server.get(path, ae=ae, headers=headers)
        assert not is_kept(server, answer)
    return answer


def reload(server):
    """A graceful restart that waits until the old children are gone: only new ones answer then."""
    before = set(server.children())
    server.graceful()
    server.wait_for(lambda: not before & set(server.children()), 60, "the end of the children")
