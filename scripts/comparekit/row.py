"""A row: one question that is put to both sides."""

from dataclasses import dataclass
from typing import Callable

from kit import bodies

from . import facts

PAGE = bodies.html(30000)

# Files that rows have asked for, by path; every site has all of them.
FILES = {}

# What the origin behind either side answers: {path: handler}, see kit.Origin.
ROUTES = {}

# Places with one encoding filter, named for its coding.
PLACES = ("gzip", "br")


@dataclass(frozen=True)
class Row:
    name: str  # what is asked; rows/__init__.py puts the chapter in front: "chapter/what"
    text: str  # configuration and request, in short
    probe: Callable  # (server) -> {fact: text}
    site: str = ""  # a key of sites.SITES; empty: the chapter's

    @property
    def chapter(self):
        return self.name.partition("/")[0]


def get(name, path, ae="gzip", *, expect=PAGE, text=None, site="", look=facts.of_response,
        host=None, **request):
    """A row of one request. `expect` is the body that is meant; `text` says what the request line
    does not."""
    if host:
        request["headers"] = {"Host": host, **request.get("headers", {})}

    def probe(server):
        return look(server, server.get(path, ae=ae, **request), expect)

    return Row(name, describe(path, ae, request, text), probe, site)


def page(name, place, ae="gzip", **request):
    """A row that asks for the page at a place."""
    return get(name, f"/{place}/page.html", ae, **request)


def accepts(ae):
    """How a row's name says its Accept-Encoding."""
    return "nothing accepted" if ae is None else ae


def describe(path, ae, request, text=None):
    headers = dict(request.get("headers", {}))
    line = f"{request.get('method', 'GET')} {path.partition('?')[0]}"
    if "Host" in headers:
        line += f" at {headers.pop('Host')}"
    if ae is not None:
        line += f", Accept-Encoding: {ae}"
    line += "".join(f", {name}: {value}" for name, value in headers.items())
    return f"{text}; {line}" if text else line


def sends(*fields, body=PAGE, type="text/html"):
    """The path of a file that a handler sends with exactly these fields (mod_asis)."""
    head = "".join(f"{field}\n" for field in (f"Content-Type: {type}", *fields))
    data = head.encode() + b"\n" + body
    for path, known in FILES.items():
        if known == data:
            return path
    path = f"sends-{len(FILES)}.asis"
    FILES[path] = data
    return path


def answer(name, at, fields, ae="gzip", *, body=PAGE, expect=None, type="text/html", **request):
    """A row whose handler sends `body` with `fields`; `at` is the place that filters it."""
    path = f"/{at}/{sends(*fields, body=body, type=type)}"
    said = ", ".join(fields) or "no further fields"
    row = get(name, path, ae, expect=body if expect is None else expect,
              text=f"handler sends {said}", **request)
    return Row(row.name, row.text.replace(path, f"/{at}/…"), row.probe, row.site)


def tagged(server, path, fields, ae, **request):
    """(answer, tag) of a request whose `fields` have the page's own tag where they say TAG."""
    fields = dict(fields)
    host = {"Host": fields["Host"]} if "Host" in fields else {}
    tag = server.get(path, ae=None, headers=host).headers.get("ETag", '"none"')[1:-1]
    fields = {name: value.replace("TAG", tag) for name, value in fields.items()}
    return server.get(path, ae=ae, headers=fields, **request), tag
