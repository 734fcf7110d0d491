"""A real Chromium that asks for what a test says, without a window."""

import contextlib
import http.server
import json
import os
import queue
import shutil
import signal
import subprocess
import threading
import time

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")

# Asks the test what to do next, with what became of the last; the answer comes when the test has
# it.
_PAGE = """<!DOCTYPE html><html><body><script>
function send(method, url, body) {
    const request = new XMLHttpRequest();
    request.open(method, url, false);
    if (method === "GET" && body.reload) {
        request.setRequestHeader("Cache-Control", "no-cache");
    }
    request.send(method === "GET" ? null : JSON.stringify(body));
    return request;
}
let became = null, todo;
while ((todo = JSON.parse(send("POST", "http://localhost:%d/", became).responseText)) !== null) {
    try {
        const answer = send("GET", todo.path, todo);
        became = {status: answer.status, coding: answer.getResponseHeader("Content-Encoding"),
                  text: answer.responseText};
    } catch (error) {
        became = {status: 0, coding: null, text: String(error)};
    }
}
</script></body></html>"""


class _Control(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.todo, self.became = queue.Queue(), queue.Queue()


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.became.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        todo = json.dumps(self.server.todo.get()).encode()
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.send_header("Content-Length", str(len(todo)))
        self.end_headers()
        self.wfile.write(todo)

    def log_message(self, *arguments):
        pass


class BrowserError(Exception):
    """Chromium does not do what it should, in words."""


class Browser:
    """
    with Browser(server, folder) as browser:
        answer = browser.get("/a.html")     # {"status": 200, "coding": "gzip", "text": …}

    While the browser is not asked for anything it asks for nothing. `folder` has its profile, and
    what it says of itself.
    """

    # Seconds from the first beginning to the end: a busy machine takes some of them.
    LIFE = 240
    # Seconds in which it loads the page; one that does not is begun anew, while the first of these
    # lasts.
    START = 60

    def __init__(self, server, folder):
        self.server, self.folder = server, folder
        self.control = self.process = None
        self.deadline = time.monotonic() + self.LIFE

    def __enter__(self):
        try:
            for number in range(self.LIFE // self.START):
                self._begin(number)
                try:
                    self._result(time.monotonic() + self.START)
                    return self
                except BrowserError as error:
                    failed = error
                self._end()
            raise failed
        except BaseException:
            self._end()
            raise

    def _begin(self, number):
        # Of its own: what an earlier browser still asks is nobody's.
        self.control = _Control()
        threading.Thread(target=self.control.serve_forever, daemon=True).start()
        self.server.write("browser.html", (_PAGE % self.control.server_port).encode())
        with open(self.folder / "browser.log", "ab") as log:
            self.process = subprocess.Popen(
                [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 f"--user-data-dir={self.folder}/profile{number}", "--dump-dom",
                 f"http://localhost:{self.server.port}/browser.html"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log,
                start_new_session=True)

    def _result(self, deadline):
        """What became of the last request; BrowserError where the browser ends, or takes too long.
        """
        while True:
            ended = self.process.poll() is not None
            try:
                return self.control.became.get(timeout=0 if ended else 0.5)
            except queue.Empty:
                if ended or time.monotonic() > deadline:
                    said = (self.folder / "browser.log").read_text(errors="replace")[-2000:]
                    raise BrowserError(("the browser ended\n" if ended else
                                        "the browser takes too long\n") + said) from None

    def _end(self):
        if self.control:
            self.control.todo.put(None)
            self.control.shutdown()
            self.control.server_close()
        if self.process:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.control = self.process = None

    def __exit__(self, *failure):
        self._end()

    def get(self, path, reload=False):
        """What the page gets by a request of its own; `reload`: past the browser's cache."""
        self.control.todo.put({"path": path, "reload": reload})
        return self._result(self.deadline)
