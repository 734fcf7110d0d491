"""Chromium, driven by its debugging protocol over a pipe: needs no port and no library."""

import json
import os
import select
import shutil
import subprocess
import time

CHROMIUM = next(filter(None, map(shutil.which, (
    "chromium-headless-shell", "chromium", "chromium-browser"))), None)
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
# The descriptors of --remote-debugging-pipe.
READS, WRITES = 3, 4
LIMIT = 60  # seconds for an answer


class Chromium:
    """A context manager. `profile` is a folder; other arguments are command-line options."""

    def __init__(self, profile, *options):
        self.number, self.left, self.events = 0, b"", []
        theirs_in, self.to = os.pipe()
        self.come, theirs_out = os.pipe()
        # The shell moves the descriptors to Chromium's numbers; sh takes one digit only.
        renumber = f'exec "$@" {READS}<&{theirs_in} {WRITES}>&{theirs_out}'
        self.process = subprocess.Popen(
            ["bash", "-c", renumber, "bash", CHROMIUM, *OPTIONS, "--remote-debugging-pipe",
             f"--user-data-dir={profile}", *options],
            pass_fds=(theirs_in, theirs_out), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Ends its processes one after another, so that no connection outlives it."""
        try:
            self.call("Browser.close")
            self.process.wait(LIMIT)
        finally:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.come)

    def read(self, until):
        while b"\0" not in self.left:
            ready, _, _ = select.select([self.come], [], [], max(until - time.monotonic(), 0))
            piece = os.read(self.come, 1 << 16) if ready else b""
            assert piece, "Chromium said nothing, or ended"
            self.left += piece
        message, _, self.left = self.left.partition(b"\0")
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + LIMIT
        while True:
            found = self.read(until)
            if found.get("id") == self.number:
                assert "error" not in found, (method, found)
                return found["result"]
            self.events.append(found)

    def page(self):
        """An empty page with a fresh profile."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)
        return Page(self, self.call("Target.attachToTarget", targetId=target["targetId"],
                                    flatten=True)["sessionId"])


class Page:
    def __init__(self, browser, session):
        self.browser, self.session = browser, session
        self.call("Page.enable")

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def open(self, url):
        del self.browser.events[:]
        self.call("Page.navigate", url=url)
        until = time.monotonic() + LIMIT
        while not any(event.get("method") == "Page.loadEventFired"
                      and event.get("sessionId") == self.session for event in self.browser.events):
            self.browser.events.append(self.browser.read(until))

    def run(self, script):
        """Returns the value of an expression; of a promise, its result."""
        found = self.call("Runtime.evaluate", expression=script, awaitPromise=True,
                          returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")
