"""A server that keeps encodings, and its pages."""

import itertools

from . import bodies, check, env

SHMCB = ("socache_shmcb", "asis")

PINNED = "ElasticControl off\nElasticLevel gzip 6\nElasticLevel br 4\n"
KEEP = "Elastic On\nElasticCache On\nAddHandler send-as-is asis\n"

# Two children at least.
CHILDREN = None if env.MPM == "prefork" else (
    "StartServers 2\nServerLimit 6\nThreadsPerChild 8\nMaxRequestWorkers 48\n"
    "MinSpareThreads 16\nMaxSpareThreads 48\n")

numbers = itertools.count()


def cache(server):
    """The counters of the store."""
    return {key.removeprefix("ElasticCache").lower(): int(value)
            for key, value in server.status().items() if key.startswith("ElasticCache")}


def page(server, body=None, fields=("ETag: \"tag\"",)):
    """A page that a handler makes, with a body of its own; its path and the body. mod_asis sends a
    body whole, whatever else the machine does."""
    name = f"page{next(numbers)}.asis"
    body = bodies.text(30000) + name.encode() if body is None else body
    server.write(name, "\n".join(["Content-Type: text/plain", *fields, "", ""]).encode() + body)
    return "/" + name, body


def is_kept(server, answer):
    return server.notes(answer).get("elastic-engine") == "cache"


def kept(server, path, body, ae="gzip", headers=None):
    """Whether the response, which has that body in the coding, was in the store."""
    answer = server.get(path, ae=ae, headers=headers)
    check.encoded(answer, ae.partition(",")[0], body)
    return is_kept(server, answer)


def twice(server, path, ae="gzip", headers=None):
    """Asks often enough that the encoding is kept."""
    for _ in range(2):
        answer = server.get(path, ae=ae, headers=headers)
        assert not is_kept(server, answer)
    return answer


def reload(server):
    """A graceful restart, until the children of before are gone: nobody else answers then."""
    before = set(server.children())
    server.graceful()
    server.wait_for(lambda: not before & set(server.children()), 60, "the end of the children")
