"""php-fpm: a private pool with a socket of its own, behind mod_proxy_fcgi.

    fpm = Fpm(server.root)                          # before the server is started
    fpm.page("page.php", "<?php echo 'hello';")     # below the server's docs
    f'SetHandler "{fpm.handler}"'
"""

import glob
import shutil
import socket

import pytest

from . import env
from .log import ErrorLog
from .process import Backend, accepts

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
    """php-fpm, whose name on Debian has a version; None if it is missing."""
    found = sorted(glob.glob("/usr/sbin/php-fpm*") + glob.glob("/usr/local/sbin/php-fpm*"))
    return found[-1] if found else shutil.which("php-fpm")


class Fpm(Backend):
    """`lines` are added to the pool's configuration; without the option -n, the distribution's
    modules are loaded."""

    def __init__(self, root, lines="", options=("-n",)):
        self.socket = str(root / "run" / "fpm.sock")
        log = ErrorLog(root / "fpm.log")
        user = env.child_user()
        config = root / "fpm.conf"
        # The master may be root; scripts run as the user of httpd's children.
        config.write_text(_CONFIG.format(
            root=root, lines=lines, user=f"user = {user.pw_name}" if env.IS_ROOT else ""))
        if not binary():
            pytest.skip("php-fpm is not there (package php-fpm)")
        super().__init__(
            [binary(), *options, "-F", "-y", str(config)],
            lambda: log.lines(_READY) and accepts(socket.AF_UNIX, self.socket), log.text)

    @property
    def handler(self):
        return f"proxy:unix:{self.socket}|fcgi://localhost"
