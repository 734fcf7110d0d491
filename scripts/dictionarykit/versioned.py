"""Scripts and styles with a version in their URL: each release is the dictionary of the next."""

import re
import urllib.parse

from dictionarykit import exchange, sources, state, visit
from dictionarykit.failure import Refused

DESTINATIONS = {"js": "script", "mjs": "script", "css": "style"}
TYPES = {"script": ("text/javascript", "application/javascript", "application/x-javascript"),
         "style": ("text/css",)}

NAME = re.compile(r"(?P<stem>.+?)(?P<end>(?:\.(?:min|chunk|bundle|prod))*\.(?P<kind>js|mjs|css))\Z")
# What a version looks like at a stem's end: numbers with dots; hexadecimal digits, as webpack and
# hugo have them; eight characters of vite, which are no words.
NUMBERS = re.compile(r"(?P<before>.*?[A-Za-z].*?[-._]v?)\d+(?:\.\d+)+\Z")
DIGITS = re.compile(r"(?P<before>.*[A-Za-z0-9].*[-._])(?P<version>[0-9a-f]{6,64})\Z")
MIXED = re.compile(r"(?P<before>.*[A-Za-z].*[-.])(?P<version>[A-Za-z0-9_-]{8})\Z")
WORDS = re.compile(r"[A-Z]?[a-z]+(?:[A-Z][a-z]+|[-_][a-z]+)*\Z")
NAME_MOST = 200  # characters, which bounds the time of these expressions

QUERY = re.compile(r"(?P<name>v|ver|version|rev|h|hash|digest)=[\w.~-]+\Z", re.ASCII)
# Of a path with %XX the configuration has another form than the URL.
PLAIN_PATH = re.compile(r"(?:/[A-Za-z0-9_@~,=-][A-Za-z0-9._@~,=-]*)+\Z")

FILES_MOST = 40  # that are looked at; pages of a site load the same ones


def version_of(stem):
    """(what is before the version, its regular expression); None: none."""
    found = NUMBERS.match(stem)
    if found:
        return found["before"], r"[0-9]+(\.[0-9]+)+"
    found = DIGITS.match(stem)
    if found and re.search(r"\d", found["version"]):
        return found["before"], f"[0-9a-f]{{{len(found['version'])}}}"
    found = MIXED.match(stem)
    if found and re.search("[A-Z]", found["version"]) and not WORDS.match(found["version"]):
        return found["before"], "[A-Za-z0-9_-]{8}"
    return None


def rule_of(url):
    """The rule for a URL of a script or a style; None where no version is in it."""
    parts = urllib.parse.urlsplit(url)
    folder, slash, name = parts.path.rpartition("/")
    found = NAME.match(name[:NAME_MOST + 1])
    if not found or len(name) > NAME_MOST or not PLAIN_PATH.match(parts.path):
        return None
    dest = DESTINATIONS[found["kind"]]
    query = QUERY.match(parts.query)
    if query:
        return state.Rule(f"^{re.escape(parts.path)}$", f"{parts.path}?{query['name']}=*", dest)
    version = None if parts.query else version_of(found["stem"])
    if not version:
        return None
    before, pattern = version
    begin = folder + slash + before
    return state.Rule(f"^{re.escape(begin)}{pattern}{re.escape(found['end'])}$",
                      f"{begin}*{found['end']}", dest)


def rules_of(urls):
    """{URL: rule}. The rules, which become configuration, are made anew: of a process that has read
    pages only the URLs are taken."""
    return {url: rule for url, rule in zip(urls, map(rule_of, urls)) if rule}


def reason_against(visitor, url, dest):
    """Why a file is left out; "": it is not."""
    try:
        answer = visitor.ask(url, visit.PAGE_MOST)
    except Refused as problem:
        return str(problem)
    if answer.status != 200 or answer.media_type() not in TYPES[dest]:
        return f"has the status {answer.status} and the type {answer.media_type()}"
    reason = answer.header_refusal()
    if reason or exchange.directives(answer.values("vary")) & {"cookie", "authorization", "*"}:
        return reason or "varies by visitor"
    return "" if answer.lifetime() else "has no Cache-Control: max-age"


def find(visitor, pages):
    """(URLs of versioned files that may have a rule, [(URL, why it has none)])."""
    good, refused, seen = [], [], set()
    for page in pages:
        for url in sources.Markup(page.url, page.body).loaded:
            rule = rule_of(url) if exchange.origin(url) == visitor.origin else None
            if not rule or rule.match in seen or len(seen) == FILES_MOST:
                continue
            seen.add(rule.match)
            reason = reason_against(visitor, url, rule.dest)
            if reason:
                refused.append((url, reason))
            else:
                good.append(url)
    return good, refused
