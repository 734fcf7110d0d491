"""The checks. Each gives a sentence on what is wrong, or nothing; NotAsked where it means nothing.

Levels: `must` and `should` are the RFC's words, `better` is what clients gain by.
"""

import dataclasses
import gzip
import hashlib
import re
import urllib.parse
from base64 import b64encode
from typing import Callable

from kit import decode
from kit.client import Connection

MUST, SHOULD, BETTER = "must", "should", "better"
CODINGS = ("gzip", "br", "zstd")
HTTP, CACHING, HTML, DICTIONARIES = "RFC 9110", "RFC 9111", "HTML", "RFC 9842"
SEGMENT = 1448  # bytes of an Ethernet's
TIMEOUT = 20  # seconds


class NotAsked(Exception):
    """Why a check means nothing for this server."""


@dataclasses.dataclass(frozen=True)
class Check:
    area: str
    text: str
    level: str
    section: str
    ask: Callable  # of a Target: what is wrong, or an empty string

    @property
    def name(self):
        return f"{self.area}/{self.ask.__name__.replace('_', '-')}"


CHECKS = []


def check(area, level, section, text):
    def add(function):
        CHECKS.append(Check(area, text, level, section, function))
        return function
    return add


@dataclasses.dataclass
class Target:
    """A server, and paths of it: what is not given is not asked."""

    base: str  # its URL
    page: str  # a static page of some KB that compresses
    upload: str = ""  # answers a POST with the bytes that it read
    events: str = ""  # sends something at once, and the rest a second later
    no_transform: str = ""  # has Cache-Control: no-transform
    encoded: str = ""  # comes from its origin with Content-Encoding: gzip
    dictionary: str = ""  # has Use-As-Dictionary, for the page

    def __post_init__(self):
        self.known = {}

    def ask(self, accept=None, method="GET", path="", body=b"", **fields):
        """An answer over a connection of its own. In the names of fields _ stands for -, and
        `accept` is Accept-Encoding."""
        base = urllib.parse.urlsplit(self.base)
        secure = base.scheme == "https"
        place = (base.hostname, base.port or (443 if secure else 80))
        named = {"Host": base.netloc, **{name.replace("_", "-"): value
                                         for name, value in fields.items()}}
        with Connection(place, secure, TIMEOUT, name=base.hostname) as connection:
            return connection.request(base.path.rstrip("/") + (path or self.page), method, accept,
                                      named, body)

    def plain(self):
        """The page without a coding."""
        if "plain" not in self.known:
            answer = self.ask("identity")
            if answer.status != 200 or answer.coding or len(answer.raw) < 2000:
                raise NotAsked(f"{self.page} is no page of some KB without a coding")
            self.known["plain"] = answer
        return self.known["plain"]

    def encoded_page(self):
        """The page in gzip."""
        if "gzip" not in self.known:
            answer = self.ask("gzip")
            if answer.coding not in ("gzip", "x-gzip"):
                raise NotAsked("the page is not compressed")
            self.known["gzip"] = answer
        return self.known["gzip"]

    def path(self, name):
        found = getattr(self, name)
        if not found:
            raise NotAsked(f"--{name.replace('_', '-')} is not given")
        return found


def differs(answer, plain):
    """What is wrong with an answer whose decoded body is to be `plain`."""
    try:
        same = answer.body == plain.raw
    except ValueError as problem:
        return f"the body is damaged: {problem}"
    return "" if same else "the body decodes to something else"


# --- negotiation


@check("negotiation", MUST, f"{HTTP} §8.4.1", "each coding decodes to the page")
def codings_decode(target):
    for coding in CODINGS:
        answer = target.ask(coding)
        if answer.coding not in (None, coding, f"x-{coding}"):
            return f"Accept-Encoding: {coding} gave {answer.coding}"
        if wrong := differs(answer, target.plain()):
            return f"{coding}: {wrong}"
    return ""


def tag_of(answer):
    return answer.headers.get("ETag")


def uncoded(answer):
    return f"it came in {answer.coding}" if answer.coding else ""


def coded(answer):
    return "" if answer.coding else "it came as it is"


def accepting(name, level, section, accept, wanted, text):
    """`wanted(answer)` says what is wrong with the answer to an Accept-Encoding."""
    def ask(target):
        target.encoded_page()
        answer = target.ask(accept)
        return wanted(answer) or differs(answer, target.plain())

    ask.__name__ = name
    check("negotiation", level, f"{HTTP} §{section}", text)(ask)


for row in (
        ("refused", MUST, "12.5.3", "gzip;q=0", uncoded, "gzip;q=0 is not gzip"),
        ("empty", MUST, "12.5.3", "", uncoded, "an empty field takes no coding"),
        ("identity", SHOULD, "12.5.3", "identity", uncoded, "identity takes no coding"),
        ("unknown", MUST, "12.5.3", "x-unknown", uncoded,
         "an unknown coding takes none that is known"),
        ("no_field", BETTER, "12.5.3", None, uncoded, "without the field, the page comes as it is"),
        ("case", MUST, "8.4.1", "GZIP", coded, "names of codings have no case"),
        ("star", BETTER, "12.5.3", "*", coded, "* takes what there is")):
    accepting(*row)


@check("negotiation", MUST, f"{HTTP} §12.5.3", "the weight decides among codings")
def weights(target):
    others = [coding for coding in CODINGS[1:] if target.ask(coding).coding == coding]
    if not others:
        raise NotAsked("gzip is the only coding")
    for coding in others:
        for accept, wanted in ((f"gzip;q=0.1, {coding};q=1", coding),
                               (f"gzip;q=1, {coding};q=0.1", "gzip")):
            if (came := target.ask(accept).coding) != wanted:
                return f"{accept} gave {came or 'no coding'}"
    return ""


# --- Vary


def varies(answer):
    return "*" in answer.tokens("Vary") or "accept-encoding" in answer.tokens("Vary")


def says_so(answer):
    return "" if varies(answer) else "there is no Vary: Accept-Encoding"


@check("vary", MUST, f"{HTTP} §12.5.5", "a compressed response says that it varies")
def encoded(target):
    return says_so(target.encoded_page())


@check("vary", SHOULD, f"{HTTP} §12.5.5", "the same page without a coding says so, too")
def as_it_is(target):
    target.encoded_page()
    return says_so(target.plain())


@check("vary", SHOULD, f"{HTTP} §15.4.5", "a 304 says what the 200 would")
def not_modified(target):
    return says_so(revalidated(target))


@check("vary", BETTER, f"{HTTP} §12.5.5", "Accept-Encoding stands once")
def once(target):
    count = target.encoded_page().tokens("Vary").count("accept-encoding")
    return "" if count < 2 else f"it stands {count} times"


# --- entity tags and conditions


def tagged(target):
    tag = tag_of(target.encoded_page())
    if not tag:
        raise NotAsked("the page has no ETag")
    return tag


def revalidated(target):
    answer = target.ask("gzip", If_None_Match=tagged(target))
    if answer.status != 304:
        raise NotAsked(f"If-None-Match gives {answer.status}")
    return answer


def gives(target, wanted, **fields):
    status = target.ask("gzip", **fields).status
    return "" if status == wanted else f"{', '.join(fields.values())} gave {status}"


@check("tags", MUST, f"{HTTP} §8.8.3.3", "strong tags of different bytes differ")
def strong(target):
    one, other = tagged(target), tag_of(target.plain())
    if not other:
        raise NotAsked("the page has no ETag")
    return f"both have {one}" if one == other and not one.startswith("W/") else ""


@check("tags", SHOULD, f"{HTTP} §13.1.2", "the tag of a compressed page revalidates it")
def revalidation(target):
    tag = tag_of(target.encoded_page())
    if not tag:
        return "the page has no ETag"
    answer = target.ask("gzip", If_None_Match=tag)
    return "" if answer.status == 304 and not answer.raw else f"it gave {answer.status}"


@check("tags", MUST, f"{HTTP} §13.1.2", "If-None-Match compares weakly")
def weakly(target):
    tag = tagged(target)
    return gives(target, 304, If_None_Match=tag[2:] if tag.startswith("W/") else f"W/{tag}")


@check("tags", MUST, f"{HTTP} §15.4.5", "a 304 has the tag of the 200")
def tag_of_304(target):
    tag = tag_of(revalidated(target))
    return "" if tag == tagged(target) else f"it has {tag}"


@check("tags", SHOULD, f"{HTTP} §13.1.1", "the tag of a compressed page passes If-Match")
def if_match(target):
    tag = tagged(target)
    if tag.startswith("W/"):
        raise NotAsked("the page has no strong ETag")
    return gives(target, 200, If_Match=tag)


@check("tags", MUST, f"{HTTP} §13.1.1", "another tag does not")
def other_match(target):
    return gives(target, 412, If_Match='"no such tag"')


# --- HEAD and lengths


@check("head", SHOULD, f"{HTTP} §9.3.2", "HEAD has the fields of GET")
def fields(target):
    one, other = target.encoded_page(), target.ask("gzip", "HEAD")
    wrong = [name for name in ("content-encoding", "etag", "vary", "content-type")
             if one.headers.get(name) != other.headers.get(name)]
    return f"it differs in {', '.join(wrong)}" if wrong else ""


@check("head", MUST, f"{HTTP} §8.6", "HEAD has GET's Content-Length, or none")
def length(target):
    size = len(target.encoded_page().raw)
    said = target.ask("gzip", "HEAD").headers.get("Content-Length")
    return "" if said in (None, str(size)) else f"it says {said} of {size}"


@check("head", BETTER, f"{HTTP} §8.6", "a compressed page says its length")
def says_length(target):
    said = target.encoded_page().headers.get("content-length")
    return "" if said == str(len(target.encoded_page().raw)) else f"it says {said}"


# --- ranges


def part(target, first, last, **fields):
    return target.ask("gzip", Range=f"bytes={first}-{last}", **fields)


@check("ranges", MUST, f"{HTTP} §14.4", "a part is of the bytes that its Content-Range names")
def slices(target):
    answer = part(target, 10, 29)
    if answer.status != 206:
        raise NotAsked("ranges are not served")
    whole = (target.encoded_page() if answer.coding else target.plain()).raw
    said = re.fullmatch(r"bytes 10-29/(\d+|\*)", answer.headers.get("content-range") or "")
    if not said or said.group(1) not in ("*", str(len(whole))):
        return f"Content-Range: {answer.headers.get('Content-Range')} of {len(whole)} bytes"
    return "" if answer.raw == whole[10:30] else "other bytes came"


@check("ranges", MUST, f"{HTTP} §15.3.7", "parts of one strong tag join to one page")
def join(target):
    one, other = part(target, 0, 99), part(target, 100, 10_000_000)
    if (one.status, other.status) != (206, 206):
        raise NotAsked("ranges are not served")
    if tag_of(one) != tag_of(other) or not tag_of(one) or tag_of(one).startswith("W/"):
        return ""
    one.pieces += other.pieces
    return differs(one, target.plain())


@check("ranges", MUST, f"{HTTP} §13.1.5", "If-Range with another coding's tag gives the whole")
def if_range(target):
    tag, own = tag_of(target.plain()), tag_of(part(target, 0, 99))
    if not tag or tag == own:
        raise NotAsked("the page has no ETag, or one for both")
    answer = part(target, 0, 99, If_Range=tag)
    return "" if answer.status == 200 or not answer.coding else "a part of other bytes came"


# --- what is not to be compressed, and request bodies


@check("bodies", MUST, f"{CACHING} §5.2.2.6", "no-transform is not compressed on the way")
def not_transformed(target):
    path = target.path("no_transform")
    return uncoded(target.ask("gzip", path=path))


@check("bodies", MUST, f"{HTTP} §8.4", "what is encoded is not encoded again")
def twice(target):
    answer = target.ask("gzip, br, zstd", path=target.path("encoded"))
    if answer.coding != "gzip":
        return f"Content-Encoding: {answer.coding}"
    try:
        return "" if answer.body[:2] != b"\x1f\x8b" else "it is gzip in gzip"
    except ValueError as problem:
        return str(problem)


@check("bodies", BETTER, HTML, "events come when they are sent")
def events(target):
    pieces = target.ask("gzip", path=target.path("events")).pieces
    first, last = (pieces[0][0], pieces[-1][0]) if pieces else (0, 0)
    return "" if first < last / 2 else f"the first byte after {first:.1f} s of {last:.1f}"


@check("bodies", BETTER, HTML, "two segments of a page have text of it, in each coding")
def first_text(target):
    target.encoded_page()
    late = [coding for coding in CODINGS if (answer := target.ask(coding)).coding == coding
            and not decode.decoder(coding).feed(answer.raw[:2 * SEGMENT])]
    return f"none in {', '.join(late)}" if late else ""


@check("bodies", SHOULD, f"{HTTP} §15.5.16", "a compressed request is decoded, or refused with 415")
def requests(target):
    sent = b"a body that compresses " * 200
    answer = target.ask(None, "POST", target.path("upload"), body=gzip.compress(sent),
                        Content_Encoding="gzip", Content_Type="text/plain")
    if answer.status == 415:
        return "415 that names gzip" if "gzip" in answer.tokens("Accept-Encoding") else ""
    return "" if answer.raw == sent else f"{answer.status}: it read {len(answer.raw)} bytes"


@check("dictionaries", MUST, f"{DICTIONARIES} §6", "a difference has its dictionary's hash")
def difference(target):
    answer, dictionary = with_dictionary(target)
    heads = {"dcb": b"\xff\x44\x43\x42", "dcz": b"\x5e\x2a\x4d\x18\x20\x00\x00\x00"}
    head = heads[answer.coding] + hashlib.sha256(dictionary).digest()
    return "" if answer.raw.startswith(head) else "the body begins otherwise"


@check("dictionaries", MUST, f"{DICTIONARIES} §4", "a difference varies by the dictionary")
def by_dictionary(target):
    answer, _ = with_dictionary(target)
    return "" if {"available-dictionary", "accept-encoding"} <= set(answer.tokens("Vary")) else (
        f"Vary: {answer.headers.get('Vary')}")


def with_dictionary(target):
    path = target.path("dictionary")
    given = target.ask("identity", path=path, Sec_Fetch_Dest="document",
                       Sec_Fetch_Mode="navigate", Sec_Fetch_Site="same-origin")
    if not given.headers.get("use-as-dictionary"):
        raise NotAsked(f"{path} has no Use-As-Dictionary")
    hashed = b64encode(hashlib.sha256(given.raw).digest()).decode()
    answer = target.ask("dcb, dcz, br, gzip", Available_Dictionary=f":{hashed}:",
                        Sec_Fetch_Dest="document", Sec_Fetch_Mode="navigate",
                        Sec_Fetch_Site="same-origin")
    if answer.coding not in ("dcb", "dcz"):
        raise NotAsked(f"it came in {answer.coding or 'no coding'}")
    return answer, given.raw
