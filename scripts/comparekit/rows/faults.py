"""A library that fails: what the client gets."""

from kit import client

from .. import facts, sites
from ..row import FILES, Row, describe

_FAULTS = {
    "gzip-open": ("gzip", "zlib has no memory for an encoder"),
    "gzip-first": ("gzip", "zlib fails at its first call"),
    "gzip-later": ("gzip", "zlib fails at a later call"),
    "br-open": ("br", "brotli has no memory for an encoder"),
    "br-first": ("br", "brotli fails at its first call"),
    "br-later": ("br", "brotli fails at a later call"),
}

for _fault in _FAULTS:
    sites.SITES[f"faults-{_fault}"] = sites.Site("EnableMMAP Off\n", fault=_fault)


def _probe(path, ae, expect):
    def probe(server):
        mark = server.mark()
        try:
            answer = server.get(path, ae=ae)
        except (client.Incomplete, ConnectionError):
            died = "exit signal" in server.log.text()[mark:] or not server.errors_since(mark)
            return {"status": "no answer: the process died" if died else "no answer"}
        found = facts.of_response(server, answer, expect)
        if found["body"].startswith("not decodable"):
            found["body"] = "not decodable"
        return {name: found[name] for name in ("status", "coding", "body")}
    return probe


def rows():
    found = []
    for fault, (place, text) in _FAULTS.items():
        # The later ones count calls of a thread: one request only, the first.
        names = ("large.html",) if "later" in fault else ("page.html", "large.html")
        for name in names:
            path = f"/{place}/{name}"
            found.append(Row(f"faults/{fault}, {name}", describe(path, place, {}, text),
                             f"faults-{fault}", _probe(path, place, FILES[name])))
    return found
