"""A real Chromium, without a window, that walks pages as a reader does: each is navigated to.

It is driven by its DevTools protocol over two pipes: JSON messages, each ended by a zero byte.
"""

import base64
import dataclasses
import fcntl
import itertools
import json
import os
import selectors
import subprocess
import time

from benchkit import run as runs
from benchkit import tools

DIFFERENCES = ("dcz", "dcb")
PATIENCE = 60  # seconds for a message, on a machine that is busy
FREE = 100  # the least number of a file's that neither bash nor Python uses
LEARNING = 60  # seconds in which a dictionary is fetched, once the browser has nothing else to do

OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
           "--remote-debugging-pipe", "--no-first-run", "--disable-background-networking")


@dataclasses.dataclass(frozen=True)
class Visited:
    """A page as the browser has it."""

    status: int
    coding: str
    body: bytes  # decoded
    wire_bytes: int  # its head and body, as they came


class Browser:
    """One with a profile of its own; a context manager."""

    def __init__(self, run):
        folder = run.folder(run.new_name("browser"))
        theirs, self.commands = os.pipe()
        self.answers, other = os.pipe()
        # The browser reads from 3 and writes to 4; ends with numbers so high are in nobody's way.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, FREE) for end in (theirs, other)]
        script = 'exec "$@" 3<&{0} 4>&{1} {0}<&- {1}>&-'.format(*ends)
        self.process = subprocess.Popen(
            ["bash", "-c", script, "browser", tools.find("chromium"), *OPTIONS,
             f"--user-data-dir={folder}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=ends, start_new_session=True)
        run.at_end(runs.end_process, self.process)
        for end in (theirs, other, *ends):
            os.close(end)
        self.buffer, self.number, self.session = b"", 0, None
        self.events = []
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.answers, selectors.EVENT_READ)

    def __enter__(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        self.call("Network.enable")
        self.call("Page.enable")
        return self

    def __exit__(self, *problem):
        runs.end_process(self.process)
        self.selector.close()
        os.close(self.commands)
        os.close(self.answers)

    def message(self):
        """The next message of the browser's."""
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self.buffer:
            if not self.selector.select(max(0, deadline - time.monotonic())):
                raise tools.BenchError(f"the browser said nothing for {PATIENCE} seconds")
            piece = os.read(self.answers, 1 << 20)
            if not piece:
                raise tools.BenchError("the browser has ended")
            self.buffer += piece
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def call(self, method, **parameters):
        """The result of a command; events that come before it are kept."""
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.commands, json.dumps(command).encode() + b"\0")
        while True:
            said = self.message()
            if said.get("id") == self.number:
                if "error" in said:
                    raise tools.BenchError(f"the browser's {method}: {said['error']['message']}")
                return said["result"]
            self.events.append(said)

    def wait(self, method, **wanted):
        """The event's parameters."""
        place = 0
        while True:
            while place < len(self.events):
                said = self.events[place]
                place += 1
                found = said.get("params", {})
                if said.get("method") == method and wanted.items() <= found.items():
                    return found
            self.events.append(self.message())

    def visit(self, url):
        """Navigates there, and gives the page when all that belongs to it has come."""
        self.events.clear()
        request = self.call("Page.navigate", url=url)["loaderId"]
        response = self.wait("Network.responseReceived", requestId=request)["response"]
        wire = self.wait("Network.loadingFinished", requestId=request)["encodedDataLength"]
        self.wait("Page.loadEventFired")
        body = self.call("Network.getResponseBody", requestId=request)
        text = body["body"]
        coding = {name.lower(): value for name, value in response["headers"].items()}.get(
            "content-encoding", "")
        return Visited(response["status"], coding,
                       base64.b64decode(text) if body["base64Encoded"] else text.encode(),
                       round(wire))


def walk(run, base, paths, elsewhere, learns):
    """The Visited pages of a walk by a browser that has never been there.

    Between the first page and the second it has time to fetch the dictionary: a page `elsewhere`,
    which is not counted, is visited until it comes as a difference, where the browser `learns`.
    Each time with another query, because what it has in its cache it does not ask for.
    """
    numbers = itertools.count()
    with Browser(run) as browser:
        found = [browser.visit(base + paths[0])]
        if learns and not tools.wait_for(
                lambda: browser.visit(elsewhere.format(base, next(numbers))).coding in DIFFERENCES,
                LEARNING, 0.5):
            raise tools.BenchError("the browser did not come to use the dictionary")
        return found + [browser.visit(base + path) for path in paths[1:]]
