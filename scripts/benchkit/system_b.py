"""Compression where pages are made: elasticd beside httpd, and PHP's plugin, which follows it.

httpd is without this module. The position is read from elasticd's file as any program reads it.
"""

import contextlib
import pathlib
import struct

from benchkit import fpm, position, sample, site, tools

NAME = "elastic.position"
POLL = 0.05  # seconds between two looks at the position
DAEMON_PATIENCE = 15  # seconds for elasticd to publish

PAGE = """<?php
require '{plugin}';
elastic_start('{path}', {floor}, {ceiling});
require __DIR__ . '/page.php';
"""


class Elasticd:
    """An elasticd of the run, on the server's CPU, whose load it watches."""

    def __init__(self, run, interval):
        folder = run.folder(run.new_name("elasticd"))
        folder.chmod(0o755)
        self.path = folder / NAME
        # Children of another user read the file.
        self.process = run.start_until(
            lambda _: self.share() is not None,
            [tools.elasticd(), "--foreground", "--file", str(self.path), "--control", "mix",
             "--interval", f"{1000 * interval:.0f}ms", "--nice", "-5"], folder / "output.log",
            DAEMON_PATIENCE)

    @property
    def pid(self):
        return self.process.pid

    def share(self):
        """Where between floor and ceiling it is, 0 to 1; None where nothing is published."""
        with contextlib.suppress(OSError, struct.error):
            fields = position.LAYOUT.unpack(self.path.read_bytes()[:position.LAYOUT.size])
            fraction, whole, top = fields[4:7]
            return (whole + fraction / position.ONE) / top if top else 1.0
        return None


class Trace(sample.Watch):
    """The level over time, of a block's duration: (seconds since the epoch, level)."""

    def __init__(self, daemon, floor, ceiling, clock):
        super().__init__(POLL)
        self.levels = []
        self._of = lambda share: floor + share * (ceiling - floor)
        self._daemon, self._clock = daemon, clock

    def look(self):
        share = self._daemon.share()
        if share is not None:
            self.levels.append((self._clock(), self._of(share)))


def plugin_site(run, dynamic, daemon, floor, ceiling):
    """The pages of a php_site(), compressed by the plugin."""
    plugin = tools.ROOT / "plugins" / "php" / "elastic.php"
    copy = pathlib.Path(dynamic.folder) / "elastic.php"  # where php-fpm's user may read it
    copy.write_bytes(plugin.read_bytes())
    (dynamic.folder / "plugin.php").write_text(
        PAGE.format(plugin=copy, path=daemon.path, floor=floor, ceiling=ceiling), encoding="utf-8")
    return site.Site(run, dynamic.folder, "/plugin.php", dynamic.snippet, fpm.MODULES,
                     [*dynamic.helpers, daemon.pid])
