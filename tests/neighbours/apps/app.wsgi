import gzip
import time

PAGE = b"<p>A line of the application.</p>\n" * 900


def events():
    for number in range(3):
        yield b"data: event %d\n\n" % number
        time.sleep(0.4)


def stops():
    yield PAGE
    raise RuntimeError("on purpose")


def application(environ, start):
    name = environ["PATH_INFO"].rpartition("/")[2]
    fields = [("Content-Type", "text/html"), ("X-Application", "yes")]
    status, body = "200 OK", [PAGE]
    if name == "length":
        fields.append(("Content-Length", str(len(PAGE))))
    elif name == "pieces":
        body = [PAGE[at:at + 3400] for at in range(0, len(PAGE), 3400)]
    elif name == "gone":
        status = "404 Not Found"
    elif name in ("none", "reset", "kept"):
        status, body = {"none": "204 No Content", "reset": "205 Reset Content",
                        "kept": "304 Not Modified"}[name], []
        fields += [("ETag", '"kept"'), ("Cache-Control", "max-age=9")]
    elif name == "small":
        body = [b"Hello, world"]
    elif name == "long":  # a length that is larger than the body
        fields.append(("Content-Length", str(len(PAGE) + 100)))
    elif name == "short":  # or smaller
        fields.append(("Content-Length", str(len(PAGE) - 100)))
    elif name == "coded":
        body = [gzip.compress(PAGE)]
        fields += [("Content-Encoding", "gzip"), ("Content-Length", str(len(body[0])))]
    elif name == "events":
        fields[0] = ("Content-Type", "text/event-stream")
        body = events()
    elif name == "stops":
        body = stops()
    elif name == "echo":
        body = [environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))]
    start(status, fields)
    return body
