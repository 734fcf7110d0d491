"""Servers that run the plugins, and the position file that they read."""

import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PLUGINS = SOURCE / "plugins"
sys.path[:0] = [str(SOURCE / "tests" / "httpd"), str(PLUGINS / "python")]

from kit import Server  # noqa: E402
from kit.client import Connection  # noqa: E402
from kit.fpm import Fpm  # noqa: E402
from kit.position import PositionFile  # noqa: E402
from kit.process import Backend, accepts, free_port  # noqa: E402

# Seconds that a server may take to answer; generous, for busy machines.
PATIENCE = 60

# Seconds that a reader uses a position without looking at the file again, and a bit.
READERS_CACHE = 0.15


class Followed(PositionFile):
    def publish(self, position, **fields):
        """Returns when they have seen it."""
        self.write(position, **fields)
        time.sleep(READERS_CACHE)

    def remove(self):
        if self.path.is_dir():
            self.path.rmdir()
        self.path.unlink(missing_ok=True)


@pytest.fixture(scope="module")
def folder():
    """Where scripts of other users may look."""
    made = pathlib.Path(tempfile.mkdtemp(prefix="elastic-plugins-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def followed(folder):
    return Followed(folder / "elastic.position")


@pytest.fixture
def position(followed):
    """A file that can be read, at the floor: the level of its readers is the least."""
    followed.remove()
    followed.publish(0)
    return followed


class PythonServer:
    """gunicorn or uvicorn with an application of pages.py."""

    OPTIONS = {"gunicorn": "--bind 127.0.0.1:{} --workers 1 pages:wsgi",
               "uvicorn": "--port {} --lifespan off --log-level warning pages:asgi"}

    def __init__(self, module, path, levels=None):
        python = "/usr/bin/python3" if pathlib.Path("/usr/bin/python3").exists() else sys.executable
        if subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode:
            pytest.skip(f"{module} is not there (package python3-{module}, or {module})")
        self.port = free_port()
        self.stop = Backend(
            ["env", f"POSITION={path}", f"LEVELS={json.dumps(levels)}", "PYTHONDONTWRITEBYTECODE=1",
             f"PYTHONPATH={PLUGINS}/python:{SOURCE}/tests/plugins", python, "-m", module,
             *self.OPTIONS[module].format(self.port).split()],
            lambda: accepts(socket.AF_INET, ("127.0.0.1", self.port))).stop

    def get(self, path, ae="gzip", method="GET"):
        with Connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            return connection.request(path, method, ae)


class PhpServer:
    """php-fpm behind an httpd that compresses nothing. `pages` are scripts by their path."""

    def __init__(self, pages):
        self.httpd = Server(modules=["proxy", "proxy_fcgi"], elastic=False)
        self.httpd.write("elastic.php", (PLUGINS / "php" / "elastic.php").read_text())
        for path, script in pages.items():
            self.httpd.write(f"{path[1:] or 'index'}.php", script)
        self.errors = self.httpd.root / "php.log"
        self.errors.touch()
        self.errors.chmod(0o666)
        self.fpm = Fpm(self.httpd.root, "php_admin_flag[log_errors] = on\n"
                       "pm.max_children = 1")
        self.httpd.configure(f'SetEnv ap_trust_cgilike_cl 1\nSetHandler "{self.fpm.handler}"\n')
        self.httpd.start()

    def get(self, path, ae="gzip", method="GET"):
        answer = self.httpd.get(f"/{path[1:] or 'index'}.php", ae=ae, method=method)
        assert not self.errors.read_text(), self.errors.read_text()
        return answer

    def stop(self):
        self.httpd.stop()
        self.fpm.stop()
        self.httpd.remove()
