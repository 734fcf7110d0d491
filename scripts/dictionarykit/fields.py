"""What a browser reads of fields and elements that have to do with dictionaries: pure functions."""

import email.utils
import html.parser
import re
import typing
import urllib.parse

from dictionarykit import sources

REL = "compression-dictionary"
KEY = re.compile(r"[a-z*][a-z0-9_.*-]*")
SPACE = re.compile(r"[ \t]*")
SPACES = re.compile(r" *")
ITEMS = (("string", re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])*)"')),
         ("token", re.compile(r"([A-Za-z*][\w!#$%&'*+.^`|~:/-]*)")),
         ("other", re.compile(r"(-?\d+(?:\.\d+)?|\?[01]|:[\w+/=]*:|@-?\d+)")))
LINK = re.compile(r'<([^>]*)>((?:\s*;\s*[\w*-]+(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,"]*))?)*)')
LINK_REL = re.compile(r';\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,"]*))', re.I)
SOURCE = re.compile(r"(?:([a-z]+)://)?(\*|(?:\*\.)?[\w.-]+)(?::(\d+|\*))?(/\S*)?", re.I)
# What is more than text and `*` in the WHATWG's URL patterns.
PATTERN_SPECIAL = set("{}()\\:+")


class Malformed(Exception):
    """The field is none of its type, and a browser ignores it."""


class Value(typing.NamedTuple):
    kind: str  # string, token, list, other
    content: typing.Any


class Reader:
    """Takes a structured field (RFC 9651) apart."""

    def __init__(self, text):
        self.text, self.at = text, 0

    def take(self, pattern):
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found

    def skip(self, character):
        is_there = self.text.startswith(character, self.at)
        self.at += is_there
        return is_there

    def needed(self, found):
        if not found:
            raise Malformed(f"'{self.text[self.at:self.at + 20]}' at character {self.at + 1}")
        return found

    def item(self):
        for kind, pattern in ITEMS:
            found = self.take(pattern)
            if found:
                text = found[1]
                return Value(kind, re.sub(r"\\(.)", r"\1", text) if kind == "string" else text)
        return self.needed(None)

    def parameters(self):
        while self.skip(";"):
            self.take(SPACES)
            self.needed(self.take(KEY))
            if self.skip("="):
                self.item()

    def inner_list(self):
        items = []
        self.take(SPACES)
        while not self.skip(")"):
            items.append(self.item())
            self.parameters()
            self.needed(self.take(SPACES)[0] or self.text.startswith(")", self.at))
        return Value("list", items)

    def members(self):
        found = {}
        self.take(SPACES)
        while True:
            key = self.needed(self.take(KEY))[0]
            value = Value("other", "?1")
            if self.skip("="):
                value = self.inner_list() if self.skip("(") else self.item()
            self.parameters()
            found[key] = value
            self.take(SPACE)
            if self.at == len(self.text):
                return found
            self.needed(self.skip(","))
            self.take(SPACE)


def members(text):
    """{key: Value} of a structured field that is a dictionary."""
    return Reader(text.rstrip()).members()


class Elements(html.parser.HTMLParser):
    """A page's <link>s to dictionaries, its <base>, and policies in <meta>."""

    def __init__(self, text):
        super().__init__()
        self.links, self.policies, self.base = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        fields = {name: value or "" for name, value in attrs}
        if tag == "link" and REL in fields.get("rel", "").lower().split() and fields.get("href"):
            self.links.append(fields["href"])
        elif tag == "base":
            self.base = self.base or fields.get("href", "")
        elif fields.get("http-equiv", "").lower() == "content-security-policy":
            self.policies.append(fields.get("content", ""))


def linked(values):
    """The URLs of dictionaries in Link (RFC 8288)."""
    found = []
    for url, parameters in LINK.findall(", ".join(values)):
        rel = LINK_REL.search(parameters)
        if rel and REL in (rel[1] or rel[2] or "").lower().split():
            found.append(url)
    return found


def cache_control(answer):
    """{directive: value}."""
    pairs = (part.partition("=") for field in answer.values("cache-control")
             for part in field.split(","))
    return {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs}


def seconds(text):
    return int(text) if re.fullmatch(r"\d{1,10}", text or "") else None


def date(answer, name):
    try:
        return email.utils.parsedate_to_datetime(answer.values(name)[0]).timestamp()
    except (IndexError, TypeError, ValueError):
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


def connect_sources(policies):
    """Of each Content-Security-Policy that says anything of it: from where scripts and dictionaries
    may be fetched, a list of sources."""
    found = []
    for policy in ",".join(policies).split(","):
        directives = {}
        for words in (directive.split() for directive in policy.split(";")):
            if words:
                directives.setdefault(words[0].lower(), words[1:])
        for name in ("connect-src", "default-src"):
            if name in directives:
                found.append(directives[name])
                break
    return found


def origin_text(url):
    parts = urllib.parse.urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def source_permits(source, url, page):
    """Whether one source of a policy of `page` permits `url`, as CSP 3 compares them."""
    to = urllib.parse.urlsplit(url)
    if source == "*":
        return True
    if source.lower() == "'self'":
        return sources.origin(url) == sources.origin(page)
    if re.fullmatch(r"[a-z][a-z0-9+.-]*:", source, re.I):
        return to.scheme == source[:-1].lower() or (source.lower(), to.scheme) == ("http:", "https")
    found = SOURCE.fullmatch(source)
    if not found:
        return False
    scheme, host, port, path = found.groups()
    scheme = (scheme or urllib.parse.urlsplit(page).scheme).lower()
    host, name = host.lower(), to.hostname
    is_host = host in ("*", name) or host.startswith("*.") and name.endswith(host[1:])
    usual = sources.ORIGIN_PORTS[to.scheme]
    is_port = port == "*" or (to.port or usual) == int(port or usual)
    is_path = not path or path in ("/", to.path) or path.endswith("/") and to.path.startswith(path)
    return to.scheme in (scheme, "https") and is_host and is_port and is_path


def forbidding(policies, url, page):
    """The sources that do not permit it, as text; None: all do."""
    for found in connect_sources(policies):
        if not any(source_permits(source, url, page) for source in found):
            return " ".join(found) or "'none'"
    return None


def covers(pattern, dictionary, url):
    """Whether the pattern of a dictionary matches a URL; None: it has more than text and `*`."""
    if pattern.startswith(origin_text(dictionary) + "/"):
        pattern = pattern[len(origin_text(dictionary)):]
    if re.match(r"[a-z]+://", pattern):
        return False
    if PATTERN_SPECIAL & set(pattern):
        return None
    if not pattern.startswith("/"):
        pattern = urllib.parse.urlsplit(dictionary).path.rpartition("/")[0] + "/" + pattern
    path, mark, query = pattern.partition("?")
    to = urllib.parse.urlsplit(url)

    def is_like(part, text):
        return re.fullmatch(".*".join(map(re.escape, part.split("*"))), text, re.S) is not None

    return is_like(path, to.path or "/") and (not mark or is_like(query, to.query))
