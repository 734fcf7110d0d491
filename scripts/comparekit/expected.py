"""The differences that are meant: which rows, which facts of them, and why ours is better."""

import fnmatch
from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    verdict: str  # "better", or "other" where either answer is as good
    why: str
    facts: frozenset  # every one of them differs in every row that is named
    rows: tuple  # patterns of row names (fnmatch)

    def names(self, name):
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.rows)


def _spread(pattern):
    """Patterns without braces: {a|b} is either."""
    head, brace, rest = pattern.partition("{")
    if not brace:
        return [pattern]
    choices, _, tail = rest.partition("}")
    return [one for choice in choices.split("|") for one in _spread(head + choice + tail)]


def _difference(verdict, why, facts, rows):
    return Difference(verdict, why, frozenset(facts.split(", ")),
                      tuple(one for pattern in rows for one in _spread(pattern)))


def _better(why, facts, *rows):
    return _difference("better", why, facts, rows)


def _other(why, facts, *rows):
    return _difference("other", why, facts, rows)


_DIRECTIVES = (
    _better("a value with something behind the number is a mistake, and refused", "configtest",
            "configtest/Deflate{[WMBC]|InflateRatio}*={1.5|6x}",
            "configtest/BrotliCompressionQuality={1.5|6x|x}"),
    _better("zlib has no such window: raised to 9 with a warning, where stock compresses nothing "
            "and logs an error for each response", "coding, etag, window",
            "levels/DeflateWindowSize [1-8]"),
    _better("merged one by one: a host keeps the rest of the server's directives",
            "the server's notes, the server's AlterETag", "merges/host with *"),
    _better("merged one by one: a host keeps the rest of the server's directives",
            "the server's notes", "merges/*, host both"),
    _better("merged one by one: a place keeps the limits of the one around it", "status, read",
            "merges/a place's limits, within it another ratio"),
)

_NEGOTIATION = (
    _better("`*` counts (RFC 9110, section 12.5.3)", "coding, etag",
            "negotiation/gzip: [*]{|;q=0.5}", "negotiation/br: [*]",
            "negotiation/{br-gzip|gzip-br}: {|br;q=0, |gzip;q=0, }[*]"),
    _better("the client's order of preference counts", "coding, etag",
            "negotiation/*: identity*q=*.5", "negotiation/br-gzip: gzip;q=1, br;q=0.5",
            "negotiation/gzip-br: br;q=1, gzip;q=0.5", "negotiation/two fields"),
    _better("x-gzip is gzip (RFC 9110, section 8.4.1.3)", "coding, etag",
            "negotiation/gzip: x-gzip{|;q=0, gzip}"),
    _better("a refusal is seen in any spelling", "coding, etag",
            "negotiation/gzip: gzip;{ q = 0|q =0|level=9;q=0}", "negotiation/br: br;Q=0"),
    _better("empty members of a list are skipped (RFC 9110, section 5.6.1)", "coding, etag",
            "negotiation/gzip: {,gzip|,,gzip,}"),
    _other("a member with a blank in it names no coding", "coding, etag",
            "negotiation/gzip: gzip br"),
)

_FIELDS = (
    _better("identity, 7bit, 8bit and binary are not repeated beside the coding", "coding, body",
            "decision/*, Content-Encoding: {identity|identity, identity|[78]bit|binary|}"),
    _better("names of codings have no case", "coding, body, vary",
            "decision/*, Content-Encoding: Identity"),
    _better("`*` says all that Vary can say", "vary", "decision/*, Vary: [*]*"),
    _better("a checksum of other bytes is taken out, whoever set it", "content-md5",
            "{decision/*, |output/}Content-MD5: *"),
    _better("a checksum of other bytes is taken out, whoever set it", "digest",
            "decision/*, Digest: *"),
    _better("no-transform is respected, and then nothing varies", "coding, vary",
            "decision/*, Cache-Control: *", "decision/gzip, origin's Cache-*, gzip",
            "decision/br, origin's Cache-*, br"),
    _better("no-transform is respected, and then nothing varies", "vary",
            "decision/*, origin's Cache-*, nothing accepted"),
)

_TAGS = (
    _better("an empty tag is a tag too", "etag", 'etags/{gzip|br|INFLATE}, {unset|AddSuffix}: ""'),
    _better("what is no tag gets no suffix, and half a tag is taken out", "etag",
            'etags/{gzip|br}, {unset|AddSuffix}: {"x|w/"x"}'),
    _better("what is no tag gets no suffix", "etag", 'etags/INFLATE, {unset|AddSuffix}: w/"x"'),
)

_CONDITIONS = (
    _better("a tag that this server gave out yields 304", "status, coding, body",
            'conditional/*, gzip, If-None-Match: {|"other", }"v1-gzip", gzip',
            'conditional/*, br, If-None-Match: {|"other", }"v1-br", br'),
    _better("a tag that this server gave out yields 304, which names it as the client did",
            "status, coding, body, etag", 'conditional/*, gzip, If-None-Match: W/"v1-gzip", gzip',
            'conditional/*, br, If-None-Match: W/"v1-br", br'),
    _better("the same for HEAD", "status, coding",
            "conditional/{file, *|script, *|origin, br, *}, HEAD"),
    _better("the same for HEAD, which says what a GET's answer varies by",
            "status, vary, etag", "conditional/origin, gzip, *, HEAD"),
    _better("If-Match takes a strong tag that this server gave out",
            "status, coding, body, vary, etag",
            'conditional/file, gzip, If-Match: "v1-gzip", gzip'),
    _better("If-Match takes a strong tag that this server gave out", "status, body",
            'conditional/file, br, If-Match: "v1-br", br'),
    _better("a 304 says what its response varies by (RFC 9110, section 15.4.5)", "vary",
            'conditional/*, gzip, If-None-Match: {"v1"|W/"v1"|[*]}, *',
            "conditional/*, gzip, {AlterETag NoChange, *|a 304 of its own}",
            "conditional/file, gzip, If-Modified-*"),
    _better("a 304 has no body to name a coding of", "coding",
            'conditional/*, br, If-None-Match: {"v1"|W/"v1"|[*]}, br',
            "conditional/*, br, {AlterETag NoChange, *|a 304 of its own}",
            "conditional/file, br, If-Modified-*"),
    _better("a 304 names the tag that the client named", "etag",
            'conditional/*, br, If-None-Match: {"v1"|W/"v1"}, br'),
    _better("a 304 to a request that named no tag has that of a 200, as mod_brotli's has", "etag",
            "conditional/*, gzip, {If-None-Match: [*], gzip|a 304 of its own}",
            "conditional/file, gzip, If-Modified-*"),
)

_RANGES = (
    _better("ranges of an encoded body are not advertised, because no range of it is ever sent",
            "accept-ranges", "ranges/{file|origin}, gzip, no Range, gzip",
            "ranges/{file|origin}, br, no Range, br",
            'ranges/*, If-Range: {W/*|"other", *|Tue*:19 GMT, *}', "ranges/file, *, Range: lines*"),
    _better("a range is cut from the page, whose parts fit whatever level the next one meets",
            "coding, body, etag, content-range", "ranges/file, gzip, Range: bytes=0-99, gzip",
            "ranges/file, br, Range: bytes=0-99, br",
            "ranges/file, *, Range: bytes={100-|-100|0-}, *"),
    _better("a range is cut from the page, whose parts fit whatever level the next one meets",
            "coding, body, etag", "ranges/file, *, Range: bytes=0-9,20-29, *"),
    _better("a request with Range gets identity", "status, coding, body, content-range",
            "ranges/script, gzip, *, gzip", "ranges/script, br, *, br"),
    _better("the page's own tag is that of the ranges", "status, coding, body, etag, content-range",
            'ranges/*, If-Range: "v1", *'),
    _better("the tag of an encoded body is that of no range", "status, body, content-range, "
            "accept-ranges", 'ranges/*, If-Range: "v1-*'),
    _better("a date cannot tell the page from its encoded forms",
            "status, body, content-range, accept-ranges", "ranges/*, If-Range: Tue*:20 GMT, *"),
)

_STREAMS = (
    _better("the length is known however many calls the encoder took", "length",
            "levels/BrotliCompressionQuality [01]", "streams/*, flush*",
            "streams/br, small flushes"),
    _better("what a script has written is passed on, not held for more", "first part, length",
            "streams/*, a script that pauses"),
    _other("HEAD of a handler that does not say how long its answer is says no length", "length",
           "streams/HEAD, br, an empty answer, br"),
    _better("HEAD says what a GET would, and no length of the page as it is",
            "coding, vary, etag, length", "streams/HEAD, gzip, proxied, length known, gzip"),
    _better("HEAD says no length of the page as it is", "length",
            "streams/HEAD, br, proxied, length known, br"),
    _better("HEAD says what a GET would", "vary",
            "streams/HEAD, gzip, proxied, *, nothing accepted"),
    _better("HEAD says what a GET would", "coding, vary",
            "streams/HEAD, gzip, proxied, length unknown, gzip"),
    _other("HEAD of a handler that does not say how long its answer is says what most GETs would",
           "vary", "streams/HEAD, gzip, an empty answer, nothing accepted"),
    _other("HEAD of a handler that does not say how long its answer is says what most GETs would",
           "coding, vary", "streams/HEAD, gzip, an empty answer, gzip"),
)

_FAULTS = (
    _better("an encoder that fails before anything was sent leaves the page as it is",
            "status, body", "faults/{gzip|br}-first, *"),
    _better("an encoder that is not there leaves the page as it is; stock's process dies",
            "status, coding, body", "faults/br-open, *"),
)

_OUTPUT = (
    _better("the length is known where all of the body was there", "length", "etags/INFLATE, *",
            "output/Content-Encoding: {gzip|x-gzip|GZIP|gzip, identity|identity, gzip}",
            "output/Content-Encoding: {br, gzip|gzip, gzip}",
            "output/{Content-MD5|Content-Length|Accept-Ranges|Vary|Cache-Control}: *",
            "output/{a header with *|a stored member|several members|Range|no-gzip}",
            "output/the client takes gzip",
            "output/INFLATE;DEFLATE, {nothing accepted|br}"),
    _better("br is decoded too", "coding", "output/Content-Encoding: br"),
    _better("br is decoded too", "coding, body", "output/Content-Encoding: gzip, br"),
    _better("every member of a gzip body is decoded, not the first alone", "body",
            "output/several members"),
    _better("HEAD is answered; stock closes the connection", "status, coding", "output/HEAD"),
    _better("a range of the decoded page", "status, content-range", "output/Range"),
    _better("what is refused before anything was sent is an error page", "status, body",
            "output/{100000|2000000} zeros at /{inflate|ratio|size}",
            "output/a wrong {CRC|length}", "output/damaged data",
            "output/cut {within the data|within the trailer|before the trailer}"),
    _better("what is no gzip is an error; stock passes some of it on, without the bytes that came "
            "first", "status, body", "output/{a wrong method|no gzip at all}"),
    _better("no bytes are an empty page, not an error", "status, body", "output/no bytes"),
)

_INPUT = (
    _better("br is decoded too", "read", "input/Content-Encoding: br"),
    _better("every member of a gzip body is decoded", "status, read", "input/several members"),
    _better("every coding of the list is taken off", "read",
            "input/Content-Encoding: {gzip, gzip|br, gzip|gzip, br}"),
    _better("a script is not told the length and the coding of other bytes",
            "CONTENT_LENGTH, HTTP_CONTENT_ENCODING", "input/what a script is told of gzip",
            "input/Content-MD5"),
    _better("a script is not told the length and the coding of other bytes",
            "HTTP_CONTENT_ENCODING", "input/what a script is told of chunks"),
    _better("a checksum of other bytes is taken out", "HTTP_CONTENT_MD5", "input/Content-MD5"),
    _better("an origin is not told a coding that was taken off", "origin's Content-Encoding",
            "input/30000 bytes to an origin"),
    _better("a method that is none is an error", "status, read", "input/a wrong method"),
    _better("too much of a body is 413, whichever limit says so", "status",
            "input/{200000|2000000} zeros at /in",
            "input/{20000|200000|2000000} zeros at /in-ratio"),
)

EXPECTED = (*_DIRECTIVES, *_NEGOTIATION, *_FIELDS, *_TAGS, *_CONDITIONS, *_RANGES, *_STREAMS,
            *_OUTPUT, *_INPUT, *_FAULTS)
