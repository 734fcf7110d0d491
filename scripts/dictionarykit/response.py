"""Responses: whether a page may be in a dictionary, which is public, or why not; what a browser
reads of fields."""

import email.utils
import re
import typing

TYPES = ("text/html", "application/xhtml+xml")


class Response(typing.NamedTuple):
    status: int
    fields: tuple  # of (name in lower case, value)
    body: bytes

    def values(self, name):
        return [value for field, value in self.fields if field == name]

    def head(self):
        """Bytes of the header in HTTP/1.1."""
        return len("HTTP/1.1 200 OK\r\n\r\n") + sum(len(name) + len(value) + 4
                                                    for name, value in self.fields)

    def media_type(self):
        return "".join(self.values("content-type")[:1]).partition(";")[0].strip().lower()


class Accepted(typing.NamedTuple):
    """What the operator says is no reason to refuse a page."""

    cookies: frozenset = frozenset()  # names
    private: bool = False  # nor is Cache-Control: private or no-store


def cookie_name(field):
    return field.partition("=")[0].strip()


def directives(fields):
    """The names in Cache-Control. A comma within quotes only adds names that mean nothing."""
    return {part.partition("=")[0].strip().lower() for field in fields for part in field.split(",")}


def header_refusal(response, accepted):
    """Why a response, a redirect for instance, is for one visitor only; None: nothing says so."""
    cookies = [cookie_name(field) for field in response.values("set-cookie")]
    others = [name for name in cookies if name not in accepted.cookies]
    if others:
        return "sets the cookie " + ", ".join(others)
    control = directives(response.values("cache-control"))
    found = [name for name in ("private", "no-store") if name in control]
    return None if accepted.private or not found else f"is {found[0]}"


def refusal(response, accepted):
    """Why a page is refused; None: it is not."""
    if response.status != 200:
        return f"has the status {response.status}"
    reason = header_refusal(response, accepted)
    if reason:
        return reason
    if response.media_type() not in TYPES:
        return "has the type " + (response.media_type() or "(none)")
    if response.values("content-encoding"):
        return "is encoded, though not asked for"
    return None if response.body else "is empty"


LINK = re.compile(r'<([^<>]*)>((?:[^"<,]|"(?:[^"\\]|\\.)*")*)')
LINK_REL = re.compile(r';\s*rel\s*=\s*"?([^";,]*)', re.I)


def linked(values):
    """The URLs of dictionaries in Link (RFC 8288)."""
    found = []
    for url, parameters in LINK.findall(", ".join(values)):
        rel = LINK_REL.search(re.sub(r'title\s*=\s*"[^"]*"', "", parameters))
        if rel and "compression-dictionary" in rel[1].lower().split():
            found.append(url)
    return found


def date(text):
    try:
        return email.utils.parsedate_to_datetime(text).timestamp()
    except (TypeError, ValueError, OverflowError):
        return 0


def lifetime(answer):
    """For how many seconds from now a browser may keep it; None: nothing says so."""
    control = answer.values("cache-control")
    if directives(control) & {"no-store", "no-cache"}:
        return 0
    age = re.search(r"(?i)\bmax-age\s{0,9}=\s{0,9}\"?([0-9]{1,10})", ",".join(control))
    if not age and not answer.values("expires"):
        return None
    until, sent, since = ("".join(answer.values(name)[:1]) for name in ("expires", "date", "age"))
    whole = int(age[1]) if age else date(until) - date(sent)
    return max(int(whole) - (int(since) if re.fullmatch("[0-9]{1,10}", since) else 0), 0)
