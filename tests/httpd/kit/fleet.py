"""Servers that keep their encodings where others find them.

    server = fleet.start(httpd, f"redis:127.0.0.1:{redis.port}")
    fleet.page(server, "a")                 # a page, the same of all servers, at /seen/a.html
    fleet.until_kept(server, "a", redis.count)
    fleet.until_hit(other, "a")

Below, keep(name) makes a page that the server has and another one has stored.
"""

import time

from . import bodies, check

KEY = b"thirty-two bytes that few know.." * 2

# What the providers write when the store fails, and what this module does, once a minute.
PROVIDERS = "AH03478|AH03479|AH03480|AH00790|AH00791|AH00792"
OWN = "elastic: the store of ElasticCache"
TROUBLE = f"{PROVIDERS}|{OWN}"

CONFIG = """
Elastic On
ElasticLevel gzip 1
ElasticCache On
ElasticCacheStore {store}
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


def start(httpd, store, config="", key=KEY, ready=lambda server: server.start(), **kw):
    """`store` is what ElasticCacheStore says."""
    provider = store.partition(":")[0]
    server = httpd(CONFIG.replace("{store}", store) + config, start=False,
                   modules=("include", f"socache_{provider}"), **kw)
    file = server.root / "cache.key"
    file.write_bytes(key)
    file.chmod(0o600)
    ready(server)
    return server


def page(server, name, size=40_000, body=None):
    """A page of the server, which get() expects."""
    server.write(f"{name}.html", body or bodies.html(size) + name.encode())


def get(server, name, coding="gzip"):
    """The notes of a response, which is right whatever the store does."""
    answer = server.get(f"/seen/{name}.html", ae=coding)
    check.encoded(answer, coding, (server.docs / f"{name}.html").read_bytes())
    return server.notes(answer)


def is_hit(notes):
    return notes["elastic-engine"] == "cache"


def asked_until(server, name, condition, what):
    """Asks for the page until `condition(notes)`; the notes."""
    end = time.monotonic() + PATIENCE
    while not condition(notes := get(server, name)):
        assert time.monotonic() < end, f"{what} did not come: {notes}\n{server.log.text()}"
        time.sleep(0.02)
    return notes


def until_hit(server, name):
    return asked_until(server, name, is_hit, "a hit")


def until_kept(server, name, count):
    """Asks for the page until `count()`, how much the store has, has grown."""
    before = count()
    asked_until(server, name, lambda notes: count() > before, "something in the store")


def counted(server):
    """The counters of the store."""
    return {key.removeprefix("ElasticCache"): int(value)
            for key, value in server.status().items() if key.startswith("ElasticCache")}


def until_fault(server, keep, name):
    """New pages are asked for until the server has met a fault: what it has seen before it may have
    in its own memory, and while it makes a pause it asks for none. The longest time, in µs, that a
    response says it took."""
    end = time.monotonic() + PATIENCE
    faults = counted(server)["Faults"]
    number = longest = 0
    while counted(server)["Faults"] == faults:
        assert time.monotonic() < end, server.log.text()
        number += 1
        keep(f"{name}-{number}")
        for _ in range(2):
            notes = get(server, f"{name}-{number}")
            longest = max(longest, int(notes["elastic-usec"].lstrip("~")))
    return longest


def until_well(server, keep, name):
    """Until what the other has stored is a hit again."""
    end = time.monotonic() + PATIENCE
    number, well = 0, False
    while not well:
        assert time.monotonic() < end, server.log.text()
        number += 1
        keep(f"{name}-well-{number}")
        stored = counted(server)["Stored"]
        until_hit(server, f"{name}-well-{number}")
        well = counted(server)["Stored"] == stored


def meet_fault(server, name):
    """The same of a server that is alone."""
    page(server, name)
    until_fault(server, lambda another: page(server, another), name)
