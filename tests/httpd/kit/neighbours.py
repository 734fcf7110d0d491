"""A server for tests of other modules' filters beside ours, in each way that brings ours in.

    @pytest.fixture(scope="module")
    def server(httpd_shared, way):                  # `way` is a fixture of conftest.py
        return way.start(httpd_shared, way.at("ssi", filters=["INCLUDES"]), modules=["include"])

    def test(server, way):
        for coding in way.codings:
            check.encoded(server.get("/ssi/a.html", ae=coding), coding, BODY)
"""

from typing import NamedTuple

import pytest

from . import check, config, env


class Way(NamedTuple):
    name: str
    records: tuple  # the modules that are loaded from our file
    line: str  # brings our filter in; `{before}` stands for other filters' names
    tag: str  # what the tag "text" becomes
    codings: tuple = ("gzip", "br")
    last: bool = False  # it stands behind mod_headers, and has the last word on Vary and ETag
    errors: bool = True  # it sees pages of errors: mod_filter takes its filters out there
    seen: bool = True  # it can be seen in the chain; what FilterDeclare made may be anything
    typed: bool = True  # it is for some media types; a stock filter that is named, for all

    def lines(self, *filters):
        """Directives that bring `filters` into a place's chain, and ours behind them."""
        if "{before}" in self.line:
            return self.line.replace("{before}", "".join(f"{name};" for name in filters))
        others = f"SetOutputFilter {';'.join(filters)}\n" if filters else ""
        return others + self.line

    def at(self, name, *lines, filters=()):
        """The site once more below /`name`, with `filters`, ours and `lines` in force there."""
        return config.at(name, self.lines(*filters), *lines)

    def tagged(self, text, coding):
        """The tag of the body in `coding` whose identity has the tag "text"."""
        return self.tag.format(text=text, coding=coding)

    def each(self, server, path, expected=None, status=200, **kw):
        """The response in each coding, as (coding, response): of `expected`, or of the identity's
        body."""
        if expected is None:
            expected = server.get(path, **kw).body
        for coding in self.codings:
            answer = server.get(path, ae=coding, **kw)
            check.encoded(answer, coding, expected, status)
            yield coding, answer

    def encodes(self, server, path, expected=None, status=200, **kw):
        """each(), where nothing more is asked of the responses."""
        for _ in self.each(server, path, expected, status, **kw):
            pass

    def start(self, httpd, text="", modules=(), **kw):
        """A server from the fixture `httpd`, with nothing of ours in force outside of at()."""
        records = [record for record in self.records if record != "elastic"]
        load = "".join(f"LoadModule {record}_module {env.MODULE}\n" for record in records)
        modules = [name for name in dict.fromkeys(["filter", *modules]) if name not in records]
        return httpd(load + text, modules=modules, elastic="elastic" in self.records, **kw)


def _by_type(filters):
    types = "text/html text/plain text/css text/xml application/javascript application/json"
    return f"AddOutputFilterByType {filters} {types}"


def _provider(name):
    return ("FilterDeclare squeeze CONTENT_SET\n"
            f'FilterProvider squeeze {name} "%{{CONTENT_TYPE}} =~ m#^text/#"\n'
            "FilterChain squeeze")


_WEAK, _STRONG = 'W/"{text}-{coding}"', '"{text}-{coding}"'
_DROPIN = ("deflate", "brotli")
_NAMES = "BROTLI_COMPRESS;DEFLATE"

WAYS = (
    Way("on", ("elastic",), "Elastic On", _WEAK, last=True),
    Way("named", ("elastic",), "SetOutputFilter {before}ELASTIC", _WEAK),
    Way("by-type", ("elastic",), _by_type("ELASTIC"), _WEAK, errors=False),
    Way("provider", ("elastic",), _provider("ELASTIC"), _WEAK, errors=False, seen=False),
    Way("deflate", ("deflate",), "SetOutputFilter {before}DEFLATE", _STRONG, ("gzip",),
        typed=False),
    Way("dropin", _DROPIN, f"SetOutputFilter {{before}}{_NAMES}", _STRONG, typed=False),
    Way("dropin-by-type", _DROPIN, _by_type(_NAMES), _STRONG, errors=False),
    Way("dropin-provider", _DROPIN, _provider("BROTLI_COMPRESS"), _STRONG, ("br",), errors=False,
        seen=False),
)

EACH_WAY = {"scope": "module", "params": WAYS, "ids": lambda way: way.name}

# For a test that takes its time: the two that differ most.
FEW_WAYS = pytest.mark.parametrize(
    "way", [way for way in WAYS if way.name in ("on", "dropin-by-type")], indirect=True,
    ids=lambda way: way.name)
