"""What of a page's markup matters: its links, what it loads, its dictionaries."""

import html.parser
import urllib.parse

from dictionarykit import sources

DICTIONARY = "compression-dictionary"
LOADED = ("stylesheet", "modulepreload")


class Markup(html.parser.HTMLParser):
    """URLs without fragments, in their order. The parser is not closed: what never ends, it would
    read once more for each tag that begins in it."""

    def __init__(self, url, body):
        super().__init__()
        self.base, self.has_base = url, False
        self.links, self.loaded, self.dictionaries = [], [], []
        try:
            self.feed(body.decode("utf-8", "replace"))
        except (AssertionError, ValueError):
            pass  # what it read before counts

    def add(self, found, target):
        try:
            url = urllib.parse.urljoin(self.base, (target or "").strip()).partition("#")[0]
            sources.origin(url)
        except (ValueError, sources.Unusable):
            return
        if target:
            found.append(url)

    def handle_starttag(self, tag, attrs):
        values = {name: value or "" for name, value in reversed(attrs)}
        rel = values.get("rel", "").lower().split()
        href = values.get("href")
        if tag == "a" and "nofollow" not in rel:
            self.add(self.links, href)
        elif tag == "script":
            self.add(self.loaded, values.get("src"))
        elif tag == "link":
            preloads = "preload" in rel and values.get("as", "").lower() in ("script", "style")
            if preloads or any(name in rel for name in LOADED):
                self.add(self.loaded, href)
            elif DICTIONARY in rel:
                self.add(self.dictionaries, href)
        elif tag == "base" and href and not self.has_base:
            found = []
            self.add(found, href)
            self.base, self.has_base = (found or [self.base])[0], True
