"""Debian's layout: a private copy of the files of its package apache2 in /etc/apache2, with its own
a2enmod, a2dismod and apache2ctl. Nothing outside of the copy changes."""

import contextlib
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from . import env, sanitizer
from .log import ErrorLog
from .process import free_port, runs, until
from .server import _HARMLESS, _MIME, _READY, Server, leaves_late

_CONF = Path(__file__).parents[3] / "conf"

# The modules that a first installation enables besides the MPM.
_MODULES = ("authz_core authz_host auth_basic access_compat authn_core authn_file authz_user alias "
            "dir autoindex env mime negotiation setenvif filter deflate status reqtimeout").split()
_CONFS = ("charset", "localized-error-pages", "other-vhosts-access-log", "security",
          "serve-cgi-bin")


class Debian(Server):
    """A freshly installed apache2 with the files of `make install`."""

    conf = None

    def __init__(self):
        if not (env.DEBIAN / "usr" / "sbin" / "a2enmod").exists():
            pytest.skip("a2enmod is not there (package apache2)")
        self.root = Path(tempfile.mkdtemp(prefix="elastic-debian-"))
        self.conf = self.root / "etc" / "apache2"
        self.available, self.enabled = self.conf / "mods-available", self.conf / "mods-enabled"
        self.docs = self.root / "html"
        self.port, self.tls_port, self.process = free_port(), None, None
        self.stderr = ErrorLog(self.root / "stderr.log")
        late = ["AH00045"] * leaves_late()
        self.log = ErrorLog(self.root / "log" / "error.log", (*_HARMLESS, *late))
        for name in ("html", "lib", "lock", "log", "run"):
            (self.root / name).mkdir()
        sanitizer.make_folder(self.root)
        self.root.chmod(0o755)
        self.docs.chmod(0o755)
        package = env.DEBIAN / "etc" / "apache2"
        for kind in ("mods", "conf", "sites"):
            shutil.copytree(package / f"{kind}-available", self.conf / f"{kind}-available")
            (self.conf / f"{kind}-enabled").mkdir()
        for name in ("apache2.conf", "envvars", "magic", "ports.conf"):
            shutil.copy(package / name, self.conf)
        self._move()
        for file in (*_CONF.glob("*.load.in"), *_CONF.glob("*.conf")):
            text = file.read_text().replace("@moduledir@/mod_elastic.so", env.MODULE)
            (self.available / file.name.removesuffix(".in")).write_text(text)
        self.run("a2enmod", "-q", f"mpm_{env.MPM}", *_MODULES)
        self.run("a2enconf", "-q", *_CONFS)
        self.run("a2ensite", "-q", "000-default")

# --- files

    def edit(self, path, *pairs):
        """Does sed -i s/old/new/ on a file below /etc/apache2 for each (old, new)."""
        text = (self.conf / path).read_text()
        for old, new in pairs:
            assert re.search(old, text), (path, old)
            text = re.sub(old, new, text)
        (self.conf / path).write_text(text)

    def _move(self):
        """Replaces the absolute paths, the port, the name and the user."""
        (self.root / "mime.types").write_text(_MIME)
        self.edit("mods-available/mime.conf", ("/etc/mime.types", f"{self.root}/mime.types"))
        self.edit("ports.conf", (r"(?m)^Listen 80$", f"Listen 127.0.0.1:{self.port}"))
        self.edit("apache2.conf", ("/var/www/", f"{self.docs}/"), (r"\Z", "ServerName localhost\n"))
        self.edit("sites-available/000-default.conf", (r"\*:80>", f"*:{self.port}>"),
                  ("/var/www/html", str(self.docs)))
        user = env.child_user() if env.IS_ROOT else pwd.getpwuid(os.geteuid())
        with open(self.conf / "envvars", "a") as file:
            for name, value in {
                    "RUN_USER": user.pw_name, "RUN_GROUP": f"#{user.pw_gid}",
                    "HTTPD": sanitizer.httpd(self.root),
                    "PID_FILE": f"{self.root}/run/apache2.pid", "RUN_DIR": f"{self.root}/run",
                    "LOCK_DIR": f"{self.root}/lock", "LOG_DIR": f"{self.root}/log"}.items():
                file.write(f"export APACHE_{name}='{value}'\n")

    def package_files(self):
        """{path: bytes} of the files in mods-available that are not ours."""
        return {file.name: file.read_bytes() for file in self.available.iterdir()
                if not file.name.startswith("elastic")}

# --- tools and life

    def run(self, name, *arguments, ok=True):
        """Runs a2enmod and the like, or apache2ctl; returns the output. `ok`: it must succeed."""
        environ = {**os.environ, "APACHE_CONFDIR": str(self.conf),
                   "APACHE_STATE_DIRECTORY": str(self.root / "lib")}
        environ.pop("APACHE_ENVVARS", None)
        # A file, because httpd keeps inherited descriptors, and a pipe would stay open.
        with tempfile.TemporaryFile("w+") as output:
            done = subprocess.run([env.DEBIAN / "usr" / "sbin" / name, *arguments], env=environ,
                                  stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                  timeout=60)
            output.seek(0)
            said = output.read()
        assert (done.returncode == 0) == ok, (name, arguments, said)
        return said

    def start(self, *words):
        """Starts httpd, or with `graceful` reloads it. Not by `apache2ctl start`, which asks
        systemd for the machine's own."""
        before = len(self.log.lines(_READY))
        self.run("apache2ctl", *(words or ("-k", "start")))
        until(lambda: len(self.log.lines(_READY)) > before, 30, "httpd")

    def pid(self):
        with contextlib.suppress(FileNotFoundError, ValueError):
            return int((self.root / "run" / "apache2.pid").read_text())
        return None

    def mapped(self):
        """The modules in question that httpd has mapped: -M does not tell them apart."""
        maps = Path(f"/proc/{self.pid()}/maps").read_text()
        return set(re.findall(r"/mod_(elastic|deflate|brotli)\.so$", maps, re.M))

    def stop(self):
        """Not by apache2ctl, because the test may have left a configuration that httpd refuses."""
        pid = self.pid()
        if pid:
            Server.terminate(pid)
            until(lambda: not runs(pid), 20, "httpd's end")
