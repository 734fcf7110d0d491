"""nghttpd: a server for HTTP/2 without TLS, behind mod_proxy_http2.

    origin = Nghttpd(directory)                       # its files
    f"ProxyPass / {origin.url}/"
"""

import socket

from .process import Backend, accepts, free_port, need

BINARY = "nghttpd"


class Nghttpd(Backend):
    """`options` are command-line options."""

    def __init__(self, directory, *options):
        need(BINARY, "nghttp2-server")
        port = free_port()
        self.url = f"h2c://127.0.0.1:{port}"
        super().__init__([BINARY, "--no-tls", "-a", "127.0.0.1", "-d", str(directory), *options,
                          str(port)], lambda: accepts(socket.AF_INET, ("127.0.0.1", port)))
