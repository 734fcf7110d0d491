"""php-fpm: a private pool with a socket of its own, for mod_proxy_fcgi to stand in front of.

    fpm = Fpm(server.root)                          # before the server is started
    fpm.page("page.php", "<?php echo 'hello';")     # below the server's docs
    f'SetHandler "{fpm.handler}"'
"""

import glob
import os
import shutil
import signal
import socket
import subprocess
import time

from . import env
from .log import ErrorLog

_CONFIG = """\
[global]
error_log = {root}/fpm.log
daemonize = no
[pool]
listen = {root}/run/fpm.sock
listen.mode = 0666
{user}
pm = static
pm.max_children = 4
catch_workers_output = yes
php_admin_value[error_log] = {root}/php.log
php_value[display_errors] = 0
clear_env = no
env[KIT] = {root}
{lines}
"""

_READY = "ready to handle connections"


def binary():
    """php-fpm, which Debian names after its version; None where there is none."""
    found = sorted(glob.glob("/usr/sbin/php-fpm*") + glob.glob("/usr/local/sbin/php-fpm*"))
    return found[-1] if found else shutil.which("php-fpm")


class Fpm:
    """Runs from its making to `stop()`; `lines` are added to the pool's configuration."""

    def __init__(self, root, lines=""):
        self.root = root
        self.log = ErrorLog(root / "fpm.log")
        user = env.child_user()
        config = root / "fpm.conf"
        # The master may be root; scripts run as httpd's children do.
        config.write_text(_CONFIG.format(
            root=root, lines=lines, user=f"user = {user.pw_name}" if env.IS_ROOT else ""))
        self._process = subprocess.Popen(
            [binary(), "-n", "-F", "-y", str(config)], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self._wait()

    @property
    def socket(self):
        return str(self.root / "run" / "fpm.sock")

    @property
    def handler(self):
        """For SetHandler."""
        return f"proxy:unix:{self.socket}|fcgi://localhost"

    def _wait(self):
        deadline = time.monotonic() + 30
        while not self._accepts():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"php-fpm did not start:\n{self.log.text()}")
            time.sleep(0.02)

    def _accepts(self):
        if not self.log.lines(_READY):
            return False
        try:
            with socket.socket(socket.AF_UNIX) as sock:
                sock.connect(self.socket)
            return True
        except OSError:
            return False

    def stop(self):
        """Ends it with all its workers."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
