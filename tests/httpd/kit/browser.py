"""A real Chromium that asks for what a test says, without a window."""

import http.server
import json
import os
import queue
import shutil
import signal
import subprocess
import threading

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")

# Asks the test what to do next, with what became of the last; the answer comes when the test has it.
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
    if (todo.cookie) {
        document.cookie = todo.cookie;
    }
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


class Browser:
    """
    with Browser(server, folder) as browser:
        answer = browser.get("/a.html")     # {"status": 200, "coding": "gzip", "text": …}

    While the browser is not asked for anything it asks for nothing. `folder` has its profile.
    """

    # Seconds for one response, or for the browser to start: a busy machine takes some of them.
    PATIENCE = 180

    def __init__(self, server, folder):
        self.control = _Control()
        server.write("browser.html", (_PAGE % self.control.server_port).encode())
        threading.Thread(target=self.control.serve_forever, daemon=True).start()
        self.process = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             f"--user-data-dir={folder}/profile", "--dump-dom",
             f"http://localhost:{server.port}/browser.html"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)

    def __enter__(self):
        try:
            self.control.became.get(timeout=self.PATIENCE)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *failure):
        self.control.todo.put(None)
        self.control.shutdown()
        self.control.server_close()
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def get(self, path, reload=False, cookie=None):
        """What the page gets by a request of its own; `reload`: past the browser's cache. A cookie
        is set before."""
        self.control.todo.put({"path": path, "reload": reload, "cookie": cookie})
        return self.control.became.get(timeout=self.PATIENCE)
