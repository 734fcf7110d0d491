"""A visitor's Chromium: bytes of pages, heads counted, and CPU time of httpd."""

import time
from typing import NamedTuple

from benchkit import sample
from kit.chromium import LIMIT
from kit.process import until

COUNT = 10  # pages of a visit
LOG = 'LogFormat "%U %{elastic-coding}n %{elastic-level}n" visits\n' \
    "CustomLog {root}/visits.log visits\n"


class Visit(NamedTuple):
    pages: tuple  # bytes of each
    codings: tuple
    all: int  # bytes of everything that was loaded; a dictionary is not seen
    cpu: tuple  # seconds of httpd for each page, and what it loads; the first one's dictionary, too


def cpu_of(server):
    return sample.cpu_of(sample.family([server.parent()], sample.read_parents()))


class Visitor:
    """Someone who has been nowhere."""

    def __init__(self, browser, server, url):
        self.browser, self.server, self.url = browser, server, url
        self.page = browser.page()
        self.page.call("Network.enable")
        self.events = []

    def seen(self, method):
        return [event["params"] for event in self.events + self.browser.events
                if event.get("method") == method and event.get("sessionId") == self.page.session]

    def open(self, path):
        """(bytes of the page, its coding)."""
        self.events += self.browser.events
        self.page.open(self.url + path)
        [id] = [one["requestId"] for one in self.seen("Network.requestWillBeSent")
                if one["requestId"] == one["loaderId"] and one["request"]["url"] == self.url + path]
        deadline = time.monotonic() + LIMIT
        while not (size := self.sizes().get(id)):
            self.browser.events.append(self.browser.read(deadline))
        [answer] = [one["response"] for one in self.seen("Network.responseReceived")
                    if one["requestId"] == id]
        assert answer["status"] == 200, answer
        fields = {name.lower(): value for name, value in answer["headers"].items()}
        self.link = fields.get("link")
        return size, fields.get("content-encoding", "")

    def sizes(self):
        return {one["requestId"]: one["encodedDataLength"]
                for one in self.seen("Network.loadingFinished")}

    def dictionaries(self):
        return (self.server.root / "visits.log").read_text().count("/.well-known/elastic-dictionary/")

    def await_dictionary(self, before, other):
        """Until the browser uses it: `other` is a page beside the visit; CPU time of sending it."""
        cpu = cpu_of(self.server)
        until(lambda: self.dictionaries() > before, LIMIT, "a request for the dictionary")
        cpu = cpu_of(self.server) - cpu
        numbers = iter(range(1000))
        until(lambda: self.open(f"{other}{'&' if '?' in other else '?'}probe={next(numbers)}")[1]
              == "dcz", LIMIT, "a page with the dictionary")
        self.has_it = time.monotonic()
        return cpu

    def visit(self, paths, other=""):
        """Of these pages; with `other`, the first one names a dictionary."""
        before, found, cpu, beside = self.dictionaries() if other else 0, [], [], 0
        for place, path in enumerate(paths):
            start = cpu_of(self.server)
            found.append(self.open(path))
            cpu.append(cpu_of(self.server) - start)
            if other and place == 0:
                assert self.link, path
                own = sum(self.sizes().values())
                cpu[0] += self.await_dictionary(before, other)
                beside = sum(self.sizes().values()) - own
        self.page.call("Page.close")
        return Visit(*zip(*found), sum(self.sizes().values()) - beside, tuple(cpu))
