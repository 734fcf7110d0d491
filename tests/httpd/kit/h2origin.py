"""nghttpd: a server that speaks HTTP/2 without TLS, for mod_proxy_http2 to stand in front of.

    origin = Nghttpd(directory)                       # its files
    f"ProxyPass / {origin.url}/"
"""

import shutil
import socket
import subprocess
import time

from .server import free_port

BINARY = "nghttpd"


def is_there():
    return shutil.which(BINARY) is not None


class Nghttpd:
    """Runs from its making to `stop()`; `options` are the command's."""

    def __init__(self, directory, *options):
        self.port = free_port()
        self._process = subprocess.Popen(
            [BINARY, "--no-tls", "-a", "127.0.0.1", "-d", str(directory), *options,
             str(self.port)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._wait()

    @property
    def url(self):
        return f"h2c://127.0.0.1:{self.port}"

    def _wait(self):
        deadline = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
                return
            except OSError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    self.stop()
                    raise RuntimeError("nghttpd did not start") from None
                time.sleep(0.02)

    def stop(self):
        self._process.terminate()
        self._process.wait(10)
