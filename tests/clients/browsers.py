"""Browsers without a window, that are told where to go and asked what became of it.

    @BROWSERS
    def test(browser):                                             # each of them, by its fixture
        browser.ask("http://localhost:8080/", "window.result")     # the value of that promise

They find nothing but localhost: all else goes to a proxy that is not there.
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess

import pytest

from kit import chromium
from kit.process import accepts, free_port, need, until

_NOWHERE, _NO_PORT = "127.0.0.1", 9
PATIENCE = 60


class Chromium(chromium.Chromium):
    def __init__(self, home):
        need(chromium.CHROMIUM or "chromium-headless-shell")
        super().__init__(home / "chromium", "--ignore-certificate-errors",
                         "--autoplay-policy=no-user-gesture-required",
                         f"--proxy-server={_NOWHERE}:{_NO_PORT}")

    def ask(self, url, promise):
        page = self.page()
        page.open(url)
        return page.run(promise)


_PREFERENCES = {
    "app.update.auto": False, "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False, "media.autoplay.default": 0,
    "network.proxy.type": 1, "network.proxy.http": _NOWHERE, "network.proxy.http_port": _NO_PORT,
    "network.proxy.ssl": _NOWHERE, "network.proxy.ssl_port": _NO_PORT,
    "toolkit.telemetry.enabled": False}


class Firefox:
    def __init__(self, home):
        name = shutil.which("firefox-esr") or "firefox"
        need(name)
        self._port, self._errors, profile = free_port(), home / "stderr.log", home / "firefox"
        profile.mkdir()
        (profile / "user.js").write_text("".join(
            f"user_pref({json.dumps(name)}, {json.dumps(value)});\n"
            for name, value in {**_PREFERENCES, "marionette.port": self._port}.items()))
        with open(self._errors, "wb") as errors:
            self._process = subprocess.Popen(
                [name, "--headless", "--marionette", "--no-remote", "--profile", str(profile)],
                stdin=subprocess.DEVNULL, stdout=errors, stderr=errors,
                env={**os.environ, "HOME": str(home), "LC_ALL": "C.UTF-8"})

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            stack.callback(self._end)
            until(lambda: accepts(socket.AF_INET, ("127.0.0.1", self._port)), PATIENCE, "firefox")
            self._socket = stack.enter_context(
                socket.create_connection(("127.0.0.1", self._port), timeout=PATIENCE))
            self._reader = stack.enter_context(self._socket.makefile("rb"))
            self._message()
            self._count = 0
            self._call("WebDriver:NewSession", acceptInsecureCerts=True)
            self._call("WebDriver:SetTimeouts", script=PATIENCE * 1000, pageLoad=PATIENCE * 1000)
            self._open = stack.pop_all()
        return self

    def __exit__(self, *_):
        with self._open, contextlib.suppress(OSError, AssertionError):
            self._call("Marionette:Quit", flags=["eForceQuit"])

    def _end(self):
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _message(self):
        size = b""
        while not size.endswith(b":"):
            byte = self._reader.read(1)
            assert byte, f"it has ended: {self._errors.read_text(errors='replace')[-3000:]}"
            size += byte
        return json.loads(self._reader.read(int(size[:-1])))

    def _call(self, method, **params):
        self._count += 1
        data = json.dumps([0, self._count, method, params]).encode()
        self._socket.sendall(b"%d:%s" % (len(data), data))
        _, _, error, result = self._message()
        assert error is None, error
        return result

    def ask(self, url, promise):
        self._call("WebDriver:Navigate", url=url)
        return self._call("WebDriver:ExecuteAsyncScript", args=[], script=(
            f"let done = arguments[0]; window.wrappedJSObject.eval({json.dumps(promise)})"
            ".then(value => done(JSON.parse(JSON.stringify(value))), error => done(`${error}`));"),
            sandbox="default")["value"]


BROWSERS = pytest.mark.parametrize("browser", [Chromium, Firefox], ids=["chromium", "firefox"],
                                   indirect=True)


def address(server, scheme):
    return f"{scheme}://localhost:{server.port if scheme == 'http' else server.tls_port}"
