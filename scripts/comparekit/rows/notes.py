"""The notes that FilterNote asks for."""

from .. import facts, sites
from ..row import PAGE, answer, get
from .output import GZIPPED

_PLAIN = "DeflateFilterNote gzip-plain\nBrotliFilterNote br-plain\n"

sites.SITES["notes"] = sites.Site(
    sites.vhost("three", sites.FILTER_NOTES) + sites.vhost("plain", _PLAIN))


def _note(server, answer, expect):
    """One argument, when the body's size and the bytes sent say what it is."""
    coding = answer.coding or "gzip"
    text = server.filter_notes(answer)[f"{coding}-plain"]
    put = len(answer.raw) - (18 if coding == "gzip" else 0)
    right = put * 100 // len(expect) if expect else None
    return {"coding": answer.coding or "identity", "body": facts.of_body(answer, expect),
            "note": "Output·100/Input" if text == str(right) else text}


def _head(server, answer, expect):
    notes = server.filter_notes(answer)
    return {"coding": answer.coding or "identity",
            "notes": "set" if notes[f"{answer.coding or 'gzip'}-in"] != "-" else facts.ABSENT}


def rows():
    found = []
    for place in ("gzip", "br"):
        for size in (69, 1000, 30000):
            found.append(answer(f"notes/{place}, {size} bytes", place, (), place,
                                body=PAGE[:size], site="notes", host="three", look=facts.of_notes))
        for size in (0, 1, 3000):
            found.append(get(f"notes/{place}, {size} bytes of a script",
                             f"/{place}/say.cgi?size={size}", place, site="notes", host="three",
                             expect=sites.say_body(size), look=facts.of_notes))
        found.append(get(f"notes/{place}, identity", f"/{place}/page.html", None, site="notes",
                         host="three", look=facts.of_notes))
        found.append(get(f"notes/{place}, one argument", f"/{place}/page.html", place, site="notes",
                         host="plain", look=_note))
        found.append(get(f"notes/{place}, HEAD", f"/{place}/page.html", place, method="HEAD",
                         site="notes", host="three", look=_head))
        found.append(get(f"notes/{place}, included file", f"/{place}/include.shtml", place,
                         site="notes", host="three", look=facts.of_notes))
    found.append(answer("notes/INFLATE", "inflate", ("Content-Encoding: gzip",), None, body=GZIPPED,
                        expect=PAGE, site="notes", host="three", look=facts.of_notes))
    return found
