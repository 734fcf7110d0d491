"""A real Chromium, without a window, that walks pages as a reader does: each is navigated to.

It is driven by its DevTools protocol: JSON messages over a WebSocket.
"""

import base64
import dataclasses
import itertools
import json

from benchkit import run as runs
from benchkit import tools

DIFFERENCES = ("dcz", "dcb")
PATIENCE = 60  # seconds for a message, on a machine that is busy
LEARNING = 60  # seconds in which a dictionary is fetched, once the browser has nothing else to do

OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
           "--remote-debugging-port=0", "--no-first-run", "--disable-background-networking")
PLACE = "DevToolsActivePort"  # the file of its profile that names the port, and the path


@dataclasses.dataclass(frozen=True)
class Visited:
    """A page as the browser has it."""

    status: int
    coding: str
    body: bytes  # decoded
    wire_bytes: int  # its head and body, as they came


def websocket_module():
    try:
        import websocket
    except ImportError:
        raise tools.missing("websocket module") from None
    return websocket


class Browser:
    """One with a profile of its own; a context manager."""

    def __init__(self, run):
        self.websocket = websocket_module()
        folder = run.folder(run.new_name("browser"))
        place = folder / PLACE
        self.process = run.start_until(
            lambda _: place.exists() and place.read_text().count("\n"),
            [tools.find("chromium"), *OPTIONS, f"--user-data-dir={folder}", "about:blank"],
            folder / "output.log", PATIENCE, run.load_cpu)
        port, path = place.read_text().split()
        self.connection = self.websocket.create_connection(
            f"ws://127.0.0.1:{port}{path}", PATIENCE, suppress_origin=True)
        self.number, self.session = 0, None
        self.events = []

    def __enter__(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        self.call("Network.enable")
        self.call("Page.enable")
        return self

    def __exit__(self, *problem):
        self.connection.close()
        runs.end_process(self.process)

    def message(self):
        """The next message of the browser's."""
        try:
            return json.loads(self.connection.recv())
        except (self.websocket.WebSocketException, OSError, ValueError) as problem:
            raise tools.BenchError(f"the browser says nothing: {problem}") from None

    def call(self, method, **parameters):
        """The result of a command; events that come before it are kept."""
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        self.connection.send(json.dumps(command))
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
