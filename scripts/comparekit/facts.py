"""The facts of an answer that are compared: never encoded bytes or their number, which depend on
the library's version, but whether they are correct."""

import re
import threading
from dataclasses import replace

from kit import client, decode
from kit.origin import framed

from .contents import contents
from .sites import NOTES, TAG

NONE = "none"
_SHOWN = ("Content-MD5", "Digest", "Content-Language", "Content-Range")
_HELD = 4  # seconds after which a first half counts as held; generous, for busy machines


def of(site, row):
    """{name: text} of the answer to that row."""
    try:
        return _LOOKS[row.look](site, row)
    except (client.Incomplete, ConnectionError, TimeoutError):
        if row.fault:
            site.server.wait_log("exit signal")
        return {"status": "no answer: the process died" if row.fault else "no answer"}


def _ask(site, row):
    path, *fields = site.target(row)
    method = "POST" if row.posts else row.method
    body, _ = contents(row.posts)
    chunks = framed([body]) if "chunked" in row.asks else b""
    with site.server.connect() as connection:
        id = connection.send_request(path, method, *fields, b"" if chunks else body)
        connection.send(chunks)
        return connection.read_response(id, method)


def _of_answer(site, row):
    answer = _ask(site, row)
    sent, meant = contents(row.posts if row.body.endswith("echo.cgi") else row.body)
    tag = answer.headers.get("ETag", NONE)
    found = {"status": str(answer.status), "coding": answer.coding or "identity",
             "vary": answer.headers.get("Vary", NONE), "length": _length(site, row, answer),
             # mod_negotiation adds a part that depends on the time.
             "etag": re.sub(f"[0-9a-f]+{TAG}(;[0-9a-f]+)?", "v1", tag)}
    if row.method != "HEAD":
        found["body"] = _body(answer, sent, meant)
    found.update((name.lower(), answer.headers[name])
                 for name in (*_SHOWN, *row.shows.split()) if name in answer.headers)
    if "FilterNote" in row.server + row.host:
        found["notes"] = _notes(site, answer, len(meant))
    if row.against:
        other = _ask(site, replace(row, host=row.against))
        found["bytes"] = "fewer" if len(answer.raw) < len(other.raw) else "not fewer"
    return found


def _body(answer, sent, meant):
    body = answer.raw
    if not answer.complete or not body:
        return "none" if answer.complete else "broken off"
    if answer.status == 206:
        is_part = body in meant or meant[20:30] in body
        return "a part of the page" if is_part else "a part of other bytes"
    try:
        for coding in reversed((answer.coding or "").lower().split(",")):
            if coding.strip() not in ("", "identity", "7bit", "8bit", "binary"):
                body = decode.decode(coding.strip(), body)
    except decode.DecodeError:
        return "as sent" if body == sent else "not decodable"
    if body in (meant, sent):
        return "whole" if body == meant else "as sent"
    return "an error page" if answer.status >= 400 else "other bytes"


def _length(site, row, answer):
    """HEAD has GET's length. For a body in pieces, it depends on timing whether the length is
    known."""
    length = answer.headers.get("Content-Length")
    is_in_pieces = row.posts or row.by == "script" or "{itself}" in row.at and row.method == "GET"
    if length is None or is_in_pieces or answer.status >= 400:
        return NONE
    whole = _ask(site, replace(row, method="GET")) if row.method == "HEAD" else answer
    return "right" if int(length) == len(whole.raw) else "false"


def _notes(site, answer, size):
    """The filters' notes, each as a word that says if it is the expected number."""
    log = site.server.root / "notes.log"
    line = re.compile(rf"^{re.escape(answer.id)} (.*)\n", re.M)
    site.server.wait_for(lambda: line.search(log.read_text()), 10, "the line of the notes")
    put = len(answer.raw) - (18 if answer.coding == "gzip" else 0)
    right = [str(number) for number in (size, put, put * 100 // max(size, 1))] * 2
    noted = line.search(log.read_text())[1].split()
    return ", ".join(f"{name} {'right' if text == number else text if answer.raw else 'set'}"
                     for name, text, number in zip(NOTES, noted, right) if text != "-") or NONE


def _of_halves(site, row):
    """For a sender that waits between its halves: when the first half arrives."""
    path, accepts, fields = site.target(row)
    _, meant = contents(row.body)
    gate = site.server.docs / "gate"
    gate.unlink(missing_ok=True)
    late = threading.Timer(_HELD, gate.touch)
    late.start()
    try:
        with site.server.stream(path, accepts, [*fields, ("X-Gate", gate)]) as stream:
            stream.wait_for(meant[:len(meant) // 2][-16:], timeout=10)
            found = {"coding": stream.coding or "identity",
                     "length": "sent" if "Content-Length" in stream.headers else NONE,
                     "first-half": "held until the second" if gate.exists() else "at once"}
            gate.touch()
            return {**found, "body": "whole" if stream.read_all() == meant else "other bytes"}
    finally:
        late.cancel()
        gate.touch()


def _of_configtest(site, row):
    site.server.configure(row.at)
    code = site.server.command("-t").returncode
    return {"configtest": {0: "accepted", 1: "refused"}.get(code, "crashes")}


_LOOKS = {"answer": _of_answer, "halves": _of_halves, "configtest": _of_configtest}
