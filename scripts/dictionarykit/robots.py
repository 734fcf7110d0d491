"""robots.txt (RFC 9309): whether a URL may be asked for."""

import re
import typing
import urllib.parse

from dictionarykit import exchange

BYTES_MOST = 500 << 10  # §2.5
REDIRECTS_MOST = 5  # §2.3.1.2
DELAY = re.compile(r"[0-9]{1,5}(?:\.[0-9]{1,3})?\Z")
DELAY_MOST = 60  # seconds; who wants more of them wants no visitor
UNRESERVED = re.compile(r"[A-Za-z0-9._~-]\Z")


def normal(text):
    """With what may go either way, as itself or as %XX, in one form (§2.2.2)."""
    def one(found):
        character = chr(int(found[1], 16))
        return character if UNRESERVED.match(character) else found[0].upper()

    whole = urllib.parse.quote(text, safe="".join(map(chr, range(33, 127))))
    return re.sub("%([0-9A-Fa-f]{2})", one, whole)


def matches(pattern, path):
    """Whether the path begins with the pattern, of which * is any text, and a $ ends it. In a time
    that grows with both lengths only."""
    is_whole = pattern.endswith("$")
    first, *others = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    if not others:
        return not is_whole or path == first
    at = len(first)
    last = others.pop() if is_whole else ""
    for part in others:
        found = path.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return not is_whole or len(path) - len(last) >= at and path.endswith(last)


class Robots(typing.NamedTuple):
    rules: list  # of (pattern, whether it allows)
    delay: float = 0  # seconds between two requests
    sitemaps: list = []

    def allow(self, url):
        """The longest pattern decides; of equals the one that allows (§2.2.2)."""
        path = normal(exchange.target_of(url))
        found = [(len(pattern), allows) for pattern, allows in self.rules if matches(pattern, path)]
        return max(found, default=(0, True))[1]


EVERYTHING = Robots([])


def parse(text, agent):
    """Of all groups for the agent, or else of those for *."""
    groups, delays, sitemaps = {}, {}, []
    names, is_head = set(), False
    for line in text[:BYTES_MOST].splitlines():
        name, colon, value = line.partition("#")[0].partition(":")
        name, value = name.strip().lower(), value.strip()
        if not colon:
            continue
        if name == "sitemap":
            sitemaps.append(value)
        elif name == "user-agent":
            names = (names if is_head else set()) | {value.lower()} & {agent, "*"}
            is_head = True
            groups.update({one: groups.get(one, []) for one in names})
        else:
            is_head = False
            for one in names:
                if name in ("allow", "disallow") and value:
                    groups[one].append((normal(value), name == "allow"))
                elif name == "crawl-delay" and DELAY.match(value):
                    delays[one] = min(float(value), DELAY_MOST)
    which = agent if agent in groups else "*"
    return Robots(groups.get(which, []), delays.get(which, 0), sitemaps)
