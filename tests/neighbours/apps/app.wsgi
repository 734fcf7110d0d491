PAGE = b"<p>A line of the application.</p>\n" * 900


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
    elif name == "none":
        status, body = "204 No Content", []
    elif name == "long":  # a length that is larger than the body
        fields.append(("Content-Length", str(len(PAGE) + 100)))
    elif name == "echo":
        body = [environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))]
    start(status, fields)
    return body
