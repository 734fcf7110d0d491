"""Load by wrk, and its results."""

import re
import signal
import subprocess

from .process import need

# wrk reports a body of the wrong length as a read error. This counts the rest: empty bodies, and
# responses in another coding than requested.
_SCRIPT = """
local threads = {}
function setup(thread) table.insert(threads, thread) end
function init(args) strange = 0 end
function response(status, headers, body)
    if status == 200 and (#body == 0 or headers["Content-Encoding"] ~= %s) then
        strange = strange + 1
    end
end
function done(summary, latency, requests)
    local sum = 0
    for _, thread in ipairs(threads) do sum = sum + thread:get("strange") end
    local e = summary.errors
    print(string.format("RESULT requests=%%d status=%%d connect=%%d read=%%d write=%%d timeout=%%d"
        .. " strange=%%d", summary.requests, e.status, e.connect, e.read, e.write, e.timeout, sum))
end
"""

CONNECTIONS = 16


class Wrk:
    """Runs in the background for `seconds`, or until `stop()`; `result()` waits for its end."""

    def __init__(self, directory, url, seconds, coding=None, keep=True, connections=CONNECTIONS):
        need("wrk")
        script = directory / "wrk.lua"
        script.write_text(_SCRIPT % (f'"{coding}"' if coding else "nil"))
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s",
                   "-s", str(script)]
        if coding:
            command += ["-H", f"Accept-Encoding: {coding}"]
        if not keep:
            command += ["-H", "Connection: close"]
        self._process = subprocess.Popen([*command, url], stdout=subprocess.PIPE, text=True,
                                         stderr=subprocess.STDOUT)

    def is_running(self):
        return self._process.poll() is None

    def stop(self):
        """Ends it; returns its result so far."""
        self._process.send_signal(signal.SIGINT)
        return self.result()

    def result(self, timeout=60):
        """{requests, status (not 2xx or 3xx), connect, read, write, timeout, strange}."""
        out, _ = self._process.communicate(timeout=timeout)
        found = re.search(r"^RESULT (.*)$", out, re.M)
        assert found, out
        return {name: int(value) for name, value in
                (pair.split("=") for pair in found[1].split())}
