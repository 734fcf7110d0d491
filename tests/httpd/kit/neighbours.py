"""Each way that brings our filter into a response's chain, and a server for tests of other modules'
filters beside it.

    @pytest.fixture(scope="module")
    def server(httpd_shared, way):                  # `way` is a fixture of kit.fixtures
        return way.start(httpd_shared, way.at("ssi", filters=["INCLUDES"]), modules=["include"])

    def test(server, way):
        way.encodes(server, "/ssi/a.html", BODY)
"""

from typing import NamedTuple

import pytest

from . import check, config, env


class Way(NamedTuple):
    name: str
    records: tuple  # the records loaded from our shared object
    lines: str  # directives that add our filter
    tag: str  # what becomes of the tag x, for str.format
    codings: tuple = ("gzip", "br")
    last: bool = False  # runs after mod_headers, and has the last word on Vary and ETag
    errors: bool = True  # handles statuses other than 200: mod_filter skips its filters then
    seen: bool = True  # visible in the chain; a filter of FilterDeclare is unknown
    typed: bool = True  # for some media types only; a named stock filter is for all

    @property
    def stock(self):
        """It replaces stock filters, whose defaults hold."""
        return "elastic" not in self.records

    def chain(self, *filters):
        """Directives that add `filters` to a place's chain, and ours after them."""
        others = f"SetOutputFilter {';'.join(filters)}" if filters else ""
        if others and self.lines.startswith("SetOutputFilter "):
            return self.lines.replace("SetOutputFilter ", f"{others};")
        return f"{others}\n{self.lines}"

    def at(self, name, *lines, filters=()):
        """The site once more below /`name`, with `filters`, ours and `lines` in force there."""
        return config.at(name, self.chain(*filters), *lines)

    def path(self, rest):
        """A path on a server of kit.proxied where the way is in force."""
        return f"/{self.name}/{rest}"

    def tagged(self, text, coding):
        """The tag of the body in `coding`, if the identity's tag is "text"."""
        return self.tag.format(text, coding)

    def check(self, answer, coding, body, status):
        """Any response is encoded if the filter handles its status."""
        if self.errors or status == 200:
            check.encoded(answer, coding, body, status)
        else:
            check.whole(answer, None, body, status)

    def each(self, server, path, expected=None, status=200, **kw):
        """Yields (coding, response) for each coding. The body must be `expected`, or else the
        identity's."""
        if expected is None:
            expected = server.get(path, **kw).body
        for coding in self.codings:
            answer = server.get(path, ae=coding, **kw)
            check.encoded(answer, coding, expected, status)
            yield coding, answer

    def encodes(self, *args, **kw):
        for _ in self.each(*args, **kw):
            pass

    def start(self, httpd, text="", modules=(), **kw):
        """A server from the fixture `httpd`, with nothing of ours in force outside of at()."""
        records = [record for record in self.records if record != "elastic"]
        load = "".join(f"LoadModule {record}_module {env.MODULE}\n" for record in records)
        modules = [name for name in dict.fromkeys(["filter", *modules]) if name not in records]
        return httpd(load + text, modules=modules, elastic=not self.stock, **kw)


_TYPES = "text/html text/plain text/css text/xml text/event-stream application/javascript"
_BY_TYPE = f"AddOutputFilterByType %s {_TYPES}"
_PROVIDER = 'FilterDeclare squeeze CONTENT_SET\nFilterChain squeeze\n' \
            'FilterProvider squeeze %s "%%{CONTENT_TYPE} =~ m#^text/#"'
_WEAK, _STRONG = 'W/"{}-{}"', '"{}-{}"'
_OURS, _DROPIN = ("elastic",), ("deflate", "brotli")
_NAMES = "BROTLI_COMPRESS;DEFLATE"

WAYS = (
    Way("on", _OURS, "Elastic On", _WEAK, last=True),
    Way("named", _OURS, "SetOutputFilter ELASTIC", _WEAK),
    Way("by-type", _OURS, _BY_TYPE % "ELASTIC", _WEAK, errors=False),
    Way("provider", _OURS, _PROVIDER % "ELASTIC", _WEAK, errors=False, seen=False),
    Way("deflate", ("deflate",), "SetOutputFilter DEFLATE", _STRONG, ("gzip",), typed=False),
    Way("dropin", _DROPIN, f"SetOutputFilter {_NAMES}", _STRONG, typed=False),
    Way("dropin-by-type", _DROPIN, _BY_TYPE % _NAMES, _STRONG, errors=False),
    Way("dropin-provider", _DROPIN, _PROVIDER % "BROTLI_COMPRESS", _STRONG, ("br",), errors=False,
        seen=False),
)


def of(*names):
    return tuple(way for way in WAYS if way.name in names)


def name_of(value):
    return getattr(value, "name", value)


EACH_WAY = {"scope": "module", "params": WAYS, "ids": name_of}

# For slow tests: the two ways that differ most.
FEW_WAYS = pytest.mark.parametrize("way", of("on", "dropin-by-type"), indirect=True, ids=name_of)
