#!/usr/bin/python3 -SE
"""A FastCGI responder, one request at a time, on the socket that is its standard input; or a CGI
script."""
import gzip
import os
import socket
import struct
import sys
import time

PAGE = b"<p>A line of the application.</p>\n" * 900


def record(kind, id, data):
    return struct.pack("!BBHHBx", 1, kind, id, len(data), 0) + data


def answer(name, method, body):
    head, pieces = ["Content-Type: text/html", "X-Application: yes"], [PAGE]
    if name == "length":
        head.append(f"Content-Length: {len(PAGE)}")
    elif name == "pieces":
        pieces = [PAGE[at:at + 3400] for at in range(0, len(PAGE), 3400)]
    elif name == "gone":
        head.append("Status: 404 Not Found")
    elif name in ("none", "reset", "kept"):
        status = {"none": "204 No Content", "reset": "205 Reset Content", "kept": "304 Not Modified"}
        head += [f"Status: {status[name]}", 'ETag: "kept"', "Cache-Control: max-age=9"]
        pieces = []
    elif name == "long":  # a length that is larger than the body
        head.append(f"Content-Length: {len(PAGE) + 100}")
    elif name == "short":  # or smaller
        head.append(f"Content-Length: {len(PAGE) - 100}")
    elif name == "coded":
        pieces = [gzip.compress(PAGE)]
        head += ["Content-Encoding: gzip", f"Content-Length: {len(pieces[0])}"]
    elif name == "events":
        head[0] = "Content-Type: text/event-stream"
        pieces = events()
    elif name == "stops":
        pieces = stops()
    elif name == "echo":
        pieces = [body]
    yield ("\r\n".join(head) + "\r\n\r\n").encode()
    yield from pieces if method != "HEAD" else []


def events():
    for number in range(3):
        yield b"data: event %d\n\n" % number
        time.sleep(0.4)


def stops():
    yield PAGE
    raise EOFError


def read(file, size):
    data = file.read(size)
    if len(data) < size:
        raise EOFError
    return data


def pairs(data):
    at, found = 0, {}
    while at < len(data):
        sizes = []
        for _ in range(2):
            size = data[at]
            if size > 127:
                size = struct.unpack("!I", data[at:at + 4])[0] & 0x7FFFFFFF
                at += 3
            at += 1
            sizes.append(size)
        name, value = data[at:at + sizes[0]], data[at + sizes[0]:at + sum(sizes)]
        found[name.decode()] = value.decode("latin-1")
        at += sum(sizes)
    return found


def serve(connection):
    file = connection.makefile("rb")
    parameters = body = b""
    while True:
        _, kind, id, size, padding = struct.unpack("!BBHHBx", read(file, 8))
        data = read(file, size)
        read(file, padding)
        if kind == 4:
            parameters += data
        elif kind == 5 and size:
            body += data
        elif kind == 5:
            break
    environ = pairs(parameters)
    name = environ.get("PATH_INFO", environ.get("SCRIPT_NAME", "")).rpartition("/")[2]
    for piece in answer(name, environ.get("REQUEST_METHOD"), body):
        for at in range(0, len(piece), 60000):
            connection.sendall(record(6, id, piece[at:at + 60000]))
    connection.sendall(record(6, id, b"") + record(3, id, bytes(8)))


def as_cgi():
    environ = os.environ
    body = sys.stdin.buffer.read(int(environ.get("CONTENT_LENGTH") or 0))
    name = environ.get("PATH_INFO", "").rpartition("/")[2]
    for piece in answer(name, environ["REQUEST_METHOD"], body):
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()


if "REQUEST_METHOD" in os.environ:
    try:
        as_cgi()
    except EOFError:
        os.kill(os.getpid(), 9)
    sys.exit()
listener = socket.socket(fileno=0)
while True:
    connection, _ = listener.accept()
    with connection:
        try:
            serve(connection)
        except (EOFError, OSError):
            pass
