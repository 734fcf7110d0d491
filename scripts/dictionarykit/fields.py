"""What a browser reads of fields that have to do with dictionaries: pure functions."""

import email.utils
import re
import urllib.parse

from dictionarykit import markup, robots, sources

# A dictionary of RFC 9651, by parts of which none can be read in two ways.
STRING = r'"(?:[ !#-\[\]-~]|\\["\\])*"'
ITEM = rf"(?:{STRING}|[A-Za-z*][\w!#$%&'*+.^`|~:/-]*|-?\d[\d.]*|\?[01]|:[\w+/=]*:|@-?\d+)"
KEY = r"[a-z*][a-z0-9_.*-]*"
PARAMETERS = rf"(?:; *{KEY}(?:={ITEM})?)*"
MEMBER = re.compile(rf"({KEY})(?:=({ITEM}|\([^()]*\)))?{PARAMETERS}[ \t]*(,(?=[ \t]*[a-z*])|\Z)"
                    r"[ \t]*", re.ASCII)
INNER = re.compile(rf"\( *(?:{ITEM}{PARAMETERS}(?: +|(?=\))))*\)\Z", re.ASCII)

LINK = re.compile(r'<([^<>]*)>((?:[^"<,]|"(?:[^"\\]|\\.)*")*)')
LINK_REL = re.compile(r';\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]*))', re.I)
# What is more than text and `*` in the WHATWG's URL patterns.
PATTERN_SPECIAL = set("{}()\\:+")


class Malformed(Exception):
    """The field is none of its type, and a browser ignores it."""


def members(text):
    """{key: its value as text} of a structured field that is a dictionary."""
    found, at, text = {}, 0, text.strip(" ")
    while at < len(text) or not found:
        member = MEMBER.match(text, at)
        if not member or (member[2] or "").startswith("(") and not INNER.match(member[2]):
            raise Malformed(f"'{text[at:at + 30]}' at character {at + 1}")
        found[member[1]] = member[2] or "?1"
        at = member.end()
    return found


def string(text):
    """None: it is no string."""
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text.startswith('"') else None


def strings(text):
    """Of an inner list; None: it is none."""
    return list(map(string, re.findall(STRING, text))) if text.startswith("(") else None


def linked(values):
    """The URLs of dictionaries in Link (RFC 8288)."""
    found = []
    for url, parameters in LINK.findall(", ".join(values)):
        rel = LINK_REL.search(re.sub(r'title\s*=\s*"[^"]*"', "", parameters))
        if rel and markup.DICTIONARY in (rel[1] or rel[2] or "").lower().split():
            found.append(url)
    return found


def cache_control(answer):
    """{directive: value}."""
    pairs = (part.partition("=") for field in answer.values("cache-control")
             for part in field.split(","))
    return {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs}


def seconds(text):
    return int(text) if re.fullmatch(r"[0-9]{1,10}", text or "") else None


def date(answer, name):
    try:
        return email.utils.parsedate_to_datetime(answer.values(name)[0]).timestamp()
    except (IndexError, TypeError, ValueError, OverflowError):
        return None


def lifetime(answer):
    """For how many seconds from now a browser may keep it; None: nothing says so."""
    control = cache_control(answer)
    if "no-store" in control or "no-cache" in control:
        return 0
    whole = seconds(control.get("max-age"))
    if whole is None and answer.values("expires"):
        until, sent = date(answer, "expires"), date(answer, "date")
        whole = int(until - sent) if until and sent else 0
    if whole is None:
        return None
    return max(whole - (seconds("".join(answer.values("age")[:1])) or 0), 0)


def names(values):
    """The names in a list such as Vary, in lower case."""
    return {name.strip().lower() for value in values for name in value.split(",")} - {""}


def forbidding(policies, url):
    """The sources of a Content-Security-Policy that do not permit to fetch `url` from its own
    origin, as text; None: all do. Paths and wildcards of hosts are not looked at."""
    scheme, host, _ = sources.origin(url)
    for policy in ",".join(policies).split(","):
        directives = {}
        for words in (directive.lower().split() for directive in policy.split(";")):
            if words:
                directives.setdefault(words[0], words[1:])
        found = directives.get("connect-src", directives.get("default-src"))
        if found is not None and not any(
                one in ("*", "'self'", scheme + ":") or host in one or "*." in one
                for one in found):
            return " ".join(found) or "'none'"
    return None


def covers(pattern, dictionary, url):
    """Whether the pattern of a dictionary matches a URL of its origin; None: it has more than text
    and `*`."""
    base, parts = urllib.parse.urlsplit(dictionary), urllib.parse.urlsplit(url)
    pattern = pattern.removeprefix(f"{base.scheme}://{base.netloc}")
    if re.match("[a-z]+://", pattern):
        return False
    if PATTERN_SPECIAL & set(pattern):
        return None
    if not pattern.startswith("/"):
        pattern = base.path.rpartition("/")[0] + "/" + pattern
    path, mark, query = pattern.partition("?")
    return robots.matches(path + "$", parts.path or "/") and (
        not mark or robots.matches(query + "$", parts.query))
