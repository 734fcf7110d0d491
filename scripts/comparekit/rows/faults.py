"""A library that fails: what the client gets."""

import re

from kit import client

from .. import facts, sites
from ..row import FILES, Row, describe

_LIBRARIES = {"gzip": "zlib", "br": "brotli"}
_FAULTS = {"open": "has no memory for an encoder", "first": "fails at its first call",
           "later": "fails at a later call"}

for _place in _LIBRARIES:
    for _fault in _FAULTS:
        sites.SITES[f"faults-{_place}-{_fault}"] = sites.Site("EnableMMAP Off\n",
                                                              fault=f"{_place}-{_fault}")


def _row(place, fault, name):
    path = f"/{place}/{name}"

    def probe(server):
        before = len(server.log.text())
        try:
            answer = server.get(path, ae=place)
        except (client.Incomplete, ConnectionError):
            log = server.log.text()[before:]
            died = "exit signal" in log or not re.search(r":(error|crit|alert|emerg)\]", log)
            return {"status": "no answer: the process died" if died else "no answer"}
        found = facts.of_response(server, answer, FILES[name])
        if found["body"].startswith("not decodable"):
            found["body"] = "not decodable"
        return {fact: found[fact] for fact in ("status", "coding", "body")}

    return Row(f"{place}-{fault}, {name}",
               describe(path, place, {}, f"{_LIBRARIES[place]} {_FAULTS[fault]}"), probe,
               f"faults-{place}-{fault}")


def rows():
    for place in _LIBRARIES:
        for fault in _FAULTS:
            # The later ones count calls of a thread: one request only, the first.
            for name in ("large.html",) if fault == "later" else ("page.html", "large.html"):
                yield _row(place, fault, name)
