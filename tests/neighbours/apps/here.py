"""For mod_python."""
from mod_python import apache

PAGE = b"<p>A line of the application.</p>\n" * 900


def handler(request):
    name = request.uri.rpartition("/")[2]
    request.content_type = "text/html"
    request.headers_out["X-Application"] = "yes"
    body = PAGE
    if name == "length":
        request.set_content_length(len(PAGE))
    elif name == "long":  # a length that is larger than the body
        request.headers_out["Content-Length"] = str(len(PAGE) + 100)
    elif name == "gone":
        request.status = 404
    elif name == "none":
        request.status = 204
        return apache.OK
    elif name == "echo":
        body = request.read()
    elif name == "pieces":
        for at in range(0, len(PAGE), 3400):
            request.write(PAGE[at:at + 3400])
            request.flush()
        return apache.OK
    request.write(body)
    return apache.OK
