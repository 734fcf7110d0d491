"""The notes that FilterNote asks for."""

from .. import facts, sites
from ..row import PAGE, PLACES, answer, get, page
from .output import GZIPPED

SITE = "notes"
sites.SITES[SITE] = sites.Site(
    sites.vhost("three", sites.FILTER_NOTES)
    + sites.vhost("plain", "DeflateFilterNote gzip-plain", "BrotliFilterNote br-plain"))

_THREE = {"host": "three", "look": facts.of_notes}


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
    for place in PLACES:
        for size in (69, 1000, 30000):
            yield answer(f"{place}, {size} bytes", place, (), place, body=PAGE[:size], **_THREE)
        for size in (0, 1, 3000):
            yield get(f"{place}, {size} bytes of a script", f"/{place}/say.cgi?size={size}", place,
                      expect=sites.say_body(size), **_THREE)
        yield page(f"{place}, identity", place, None, **_THREE)
        yield get(f"{place}, included file", f"/{place}/include.shtml", place, **_THREE)
        yield page(f"{place}, one argument", place, place, host="plain", look=_note)
        yield page(f"{place}, HEAD", place, place, method="HEAD", host="three", look=_head)
    yield answer("INFLATE", "inflate", ("Content-Encoding: gzip",), None, body=GZIPPED,
                 expect=PAGE, **_THREE)
