#!/usr/bin/python3 -SE
"""A FastCGI responder, one request at a time, on the socket that is its standard input."""
import socket
import struct

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
    elif name == "none":
        head, pieces = ["Status: 204 No Content"], []
    elif name == "long":  # a length that is larger than the body
        head.append(f"Content-Length: {len(PAGE) + 100}")
    elif name == "echo":
        pieces = [body]
    yield ("\r\n".join(head) + "\r\n\r\n").encode()
    yield from pieces if method != "HEAD" else []


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


listener = socket.socket(fileno=0)
while True:
    connection, _ = listener.accept()
    with connection:
        try:
            serve(connection)
        except (EOFError, OSError):
            pass
