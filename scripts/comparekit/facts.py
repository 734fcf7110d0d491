"""What is compared of a response: never encoded bytes or their number, which change with the
library, but whether they are what they should be."""

import re

from kit import client, decode

# Fields that are shown as they are, where they are there.
_SHOWN = ("Content-MD5", "Digest", "Content-Range", "Content-Language", "Warning",
          "Accept-Encoding")

# A file's own tag: its size and sites.MTIME in microseconds.
_FILE_TAG = re.compile(r"[0-9a-f]+-60a24181e4000")

ABSENT = "–"


def of_response(server, answer, expect):
    """The facts that every row of an ordinary response looks at."""
    facts = {
        "status": str(answer.status),
        "coding": answer.coding or "identity",
        "body": of_body(answer, expect),
        "vary": answer.headers.get("Vary", ABSENT),
        "etag": of_etag(answer),
        "length": of_length(answer),
    }
    for name in _SHOWN:
        if name in answer.headers:
            facts[name.lower()] = answer.headers[name]
    return facts


def without(*names, of=of_response):
    """Like `of`, without these facts."""
    def look(server, answer, expect):
        return {name: fact for name, fact in of(server, answer, expect).items()
                if name not in names}
    return look


# A script's answer: whether its length is known is a matter of when its bytes come.
of_script = without("length")


def of_etag(answer):
    return _FILE_TAG.sub("file", answer.headers.get("ETag", ABSENT))


def of_body(answer, expect):
    if answer.status in (204, 304) and not answer.raw:
        return "none"
    if not answer.complete:
        return "broken off"
    try:
        body = answer.body
    except (client.Incomplete, decode.DecodeError) as error:
        return f"not decodable ({error})" if answer.raw else "no bytes"
    if not body:
        return "empty"
    if body == expect:
        return "whole"
    if answer.status >= 400:
        return "an error page"
    return f"{len(body)} bytes" if expect is None else f"{len(body)} other bytes"


def of_length(answer):
    length = answer.headers.get("Content-Length")
    if length is None:
        return ABSENT
    return "right" if int(length) == len(answer.raw) else "false"


def of_notes(server, answer, expect):
    """The notes of DeflateFilterNote and BrotliFilterNote, each said by what it should be."""
    facts = {"coding": answer.coding or "identity", "body": of_body(answer, expect)}
    notes = server.filter_notes(answer)
    size = len(answer.raw)
    for coding, framing in (("gzip", 18), ("br", 0)):
        taken, put = notes[f"{coding}-in"], notes[f"{coding}-out"]
        facts[f"{coding} Input"] = _named(taken, len(expect), "the body's bytes")
        facts[f"{coding} Output"] = _named(
            put, size - framing, f"the bytes sent less {framing}" if framing else "the bytes sent")
        ratio = None
        if taken.isdigit() and put.isdigit() and int(taken):
            ratio = int(put) * 100 // int(taken)
        for name, note in (("Ratio", "ratio"), ("one argument", "plain")):
            facts[f"{coding} {name}"] = _named(notes[f"{coding}-{note}"], ratio,
                                               "Output·100/Input")
    return facts


def _named(text, number, name):
    """`name` where the text is that number, else the text."""
    return name if text == str(number) else text
