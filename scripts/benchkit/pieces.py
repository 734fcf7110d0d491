"""A response in pieces as it arrived, and a decoder's output after each of them."""

import itertools
import socket
import time

from benchkit import codecs, tools
from benchkit.http1 import Responses
from benchkit.server import PATIENCE
from codeckit import decoders
from codeckit.dictionaries import head


def fetch(one, path, fields):
    """[(seconds since the request, bytes)] of a response, as they arrive."""
    lines = {"Host": f"{one.address}:{one.port}", **fields}
    request = "".join([f"GET {path} HTTP/1.1\r\n",
                       *(f"{name}: {value}\r\n" for name, value in lines.items()), "\r\n"])
    parser, pieces = Responses(), []
    with socket.create_connection((one.address, one.port), PATIENCE) as connection:
        began = time.monotonic()
        connection.sendall(request.encode())
        while not any(complete for _, complete in parser.feed(pieces[-1][1] if pieces else b"")):
            data = connection.recv(1 << 16)
            if not data:
                raise tools.BenchError(f"{one.name} closed the connection")
            pieces.append((time.monotonic() - began, data))
    return pieces


def decoded(raw, coding, body, dictionary=b""):
    """(bytes of text after each piece of a response, bytes of its body); None if it came in another
    coding."""
    parser, left = Responses(), len(head("dcz", dictionary)) if coding == "dcz" else 0
    parts = [b"".join(part for part, _ in parser.feed(piece)) for piece in raw]
    if parser.status != 200:
        raise tools.BenchError(f"a page gave {parser.status}")
    if parser.fields.get(b"content-encoding", b"").decode() != coding:
        return None
    sent = sum(map(len, parts))
    for place, part in enumerate(parts):  # the dictionary's hash
        parts[place], left = part[left:], max(0, left - len(part))
    texts = list(decoders.in_pieces(coding, parts, dictionary))
    if b"".join(texts) != body:
        raise codecs.WrongBody("a page does not decode to what is served")
    return list(itertools.accumulate(map(len, texts))), sent


def reached(lengths, least):
    """The index of the first piece after which there is this much text."""
    return next(place for place, length in enumerate(lengths) if length >= least)
