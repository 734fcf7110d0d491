"""Compression by the application: elasticd beside httpd, and plugins of PHP and Python that follow
its published level. httpd runs without this module."""

import contextlib
import pathlib
import struct
import sys

from benchkit import fpm, sample, server, site, tools, web

POLL = 0.05  # seconds between two reads of the position
PATIENCE = 15  # seconds to wait for a process
FIELDS = struct.Struct("<8sIIQHHH")  # the file's beginning: docs/internals/control.md

PHP = """<?php
require '{plugin}';
elastic_start('{path}', {floor}, {ceiling});
require __DIR__ . '/page.php';
"""

# The page of fpm.SCRIPT from a WSGI application; plain if httpd compresses it.
PYTHON = """
import os, random
from urllib.parse import parse_qs
from elastic_compress import ElasticWSGI
pieces = open({pieces!r}, "rb").read().split(b"\\0")

def page(environ, start_response):
    source = random.Random(parse_qs(environ["QUERY_STRING"]).get("seed", [None])[0])
    start_response("200 OK", [("Content-Type", "text/html")])
    parts, length = [b"<!DOCTYPE html><html><body>"], 100
    while length < {bytes}:
        piece = source.choice(pieces)
        parts.append(b'<div id="%d">%s</div>' % (source.randrange(1 << 31), piece))
        length += len(piece) + 25
    return [b"".join(parts) + b"</body></html>"]

plugin = ElasticWSGI(page, {path!r}, levels={{"gzip": ({floor}, {ceiling})}})

def application(environ, start_response):
    return (plugin if environ["PATH_INFO"] == "/plugin" else page)(environ, start_response)
"""


class Elasticd:
    """An elasticd of the run on the server's CPU, whose load it watches."""

    def __init__(self, run, interval):
        folder = run.folder(run.new_name("elasticd"))
        folder.chmod(0o755)
        self.path = folder / "elastic.position"
        # Children of another user read the file.
        self.process = run.start_until(
            lambda _: self.share() is not None,
            [tools.elasticd(), "--foreground", "--file", str(self.path), "--control", "step",
             "--interval", f"{1000 * interval:.0f}ms", "--nice", "-5"], folder / "output.log",
            PATIENCE)

    def share(self):
        """Its place between floor and ceiling, 0 to 1; None if nothing is published."""
        with contextlib.suppress(OSError, struct.error):
            fraction, whole, top = FIELDS.unpack(self.path.read_bytes()[:FIELDS.size])[4:7]
            return (whole + fraction / 65536) / top if top else 1.0
        return None


class Trace(sample.Watch):
    """The level over time, for a block: (seconds since the epoch, level)."""

    def __init__(self, daemon, floor, ceiling, clock):
        super().__init__(POLL)
        self.levels = []
        self._daemon, self._clock, self._range = daemon, clock, (floor, ceiling)

    def look(self):
        share, (floor, ceiling) = self._daemon.share(), self._range
        if share is not None:
            self.levels.append((self._clock(), floor + share * (ceiling - floor)))


def php_plugin(dynamic, daemon, floor, ceiling):
    """The pages of site.php(), compressed by the plugin."""
    plugin = pathlib.Path(dynamic.folder) / "elastic.php"  # readable by php-fpm's user
    plugin.write_bytes((tools.ROOT / "plugins" / "php" / "elastic.php").read_bytes())
    (dynamic.folder / "plugin.php").write_text(PHP.format(
        plugin=plugin, path=daemon.path, floor=floor, ceiling=ceiling), encoding="utf-8")
    return site.Site(dynamic.run, dynamic.folder, "/plugin.php",
                     fpm.SNIPPET.format(socket=fpm.socket_of(dynamic.run)),
                     [*dynamic.helpers, daemon.process.pid])


def python_sites(run, daemon, floor, ceiling):
    """(pages of gunicorn, the same compressed by the plugin), of one process."""
    folder = run.folder("python-site")
    (folder / "pieces").write_bytes(b"\0".join(web.fragments(run)[0]))
    (folder / "application.py").write_text(PYTHON.format(
        pieces=str(folder / "pieces"), bytes=fpm.PAGE_BYTES, path=str(daemon.path), floor=floor,
        ceiling=ceiling), encoding="utf-8")
    port, log = server.free_port(), folder / "output.log"
    path = f"{tools.ROOT / 'plugins' / 'python'}:{folder}"
    process = run.start_until(
        lambda _: "Listening at" in log.read_text(errors="replace"),
        ["env", f"PYTHONPATH={path}", sys.executable, "-m", "gunicorn", "--bind",
         f"127.0.0.1:{port}", "--workers", str(fpm.CHILDREN), "--backlog", "4096",
         "application:application"], log, PATIENCE)
    lines = "".join(f"ProxyPass {path} http://127.0.0.1:{port}{path}\n"
                    for path in ("/page", "/plugin"))
    return (site.Site(run, folder, "/page", lines, [process.pid]),
            site.Site(run, folder, "/plugin", lines, [process.pid, daemon.process.pid]))
