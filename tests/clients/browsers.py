"""Browsers without a window, that are told where to go and asked what became of it.

    with Chromium(folder) as browser:
        browser.ask("http://localhost:8080/", "window.result")     # the value of that promise

They find nothing but localhost: all else goes to a proxy that is not there.
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess

from kit.process import accepts, free_port, need, until

_NOWHERE = "127.0.0.1:9"
PATIENCE = 60


def _found(*names):
    name = next(filter(shutil.which, names), names[0])
    need(name)
    return name


class _Browser:
    def __init__(self, command, home, **kw):
        self._errors = home / "stderr.log"
        with open(self._errors, "wb") as errors:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors,
                env={**os.environ, "HOME": str(home), "LC_ALL": "C.UTF-8"}, **kw)

    def said(self):
        return self._errors.read_text(errors="replace")[-3000:]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Chromium(_Browser):
    """Told by the DevTools protocol, over pipes."""

    def __init__(self, home):
        name = _found("chromium-headless-shell", "chromium", "chromium-browser")
        theirs, self._to = os.pipe()
        self._from, its = os.pipe()
        # It reads descriptor 3, and writes 4.
        super().__init__(
            ["bash", "-c", 'exec 3<&"$0" 4>&"$1"; shift; exec "$@"', str(theirs), str(its), name,
             "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--ignore-certificate-errors", "--autoplay-policy=no-user-gesture-required",
             f"--proxy-server={_NOWHERE}", f"--user-data-dir={home}/chromium",
             "--remote-debugging-pipe", "about:blank"], home, pass_fds=(theirs, its))
        os.close(theirs)
        os.close(its)
        self._count, self._rest, self._session = 0, b"", {}
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = {"sessionId": self._call(
            "Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}

    def _call(self, method, **params):
        self._count += 1
        os.write(self._to, json.dumps({"id": self._count, "method": method, "params": params,
                                       **self._session}).encode() + b"\0")
        while True:
            message = json.loads(self._message())
            if message.get("id") == self._count:
                assert "error" not in message, message
                return message["result"]

    def _message(self):
        while b"\0" not in self._rest:
            data = os.read(self._from, 1 << 20)
            assert data, f"it has ended: {self.said()}"
            self._rest += data
        message, _, self._rest = self._rest.partition(b"\0")
        return message

    def _value(self, expression):
        result = self._call("Runtime.evaluate", expression=expression, awaitPromise=True,
                            returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def ask(self, url, promise):
        assert "errorText" not in self._call("Page.navigate", url=url)
        until(lambda: self._value(f"document.readyState == 'complete' && location.href == '{url}'"),
              PATIENCE, url)
        return self._value(promise)

    def __exit__(self, *_):
        super().__exit__()
        os.close(self._to)
        os.close(self._from)


_PREFERENCES = {
    "app.update.auto": False, "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False, "media.autoplay.default": 0,
    "network.proxy.type": 1, "network.proxy.http": _NOWHERE.partition(":")[0],
    "network.proxy.http_port": 9, "network.proxy.ssl": _NOWHERE.partition(":")[0],
    "network.proxy.ssl_port": 9, "toolkit.telemetry.enabled": False}


class Firefox(_Browser):
    """Told by Marionette."""

    def __init__(self, home):
        port = free_port()
        profile = home / "firefox"
        profile.mkdir()
        (profile / "user.js").write_text("".join(
            f"user_pref({json.dumps(name)}, {json.dumps(value)});\n"
            for name, value in {**_PREFERENCES, "marionette.port": port}.items()))
        self._socket = None
        super().__init__([_found("firefox-esr", "firefox"), "--headless", "--marionette",
                          "--no-remote", "--profile", str(profile)], home)
        with contextlib.ExitStack() as stack:
            stack.callback(self.__exit__)
            until(lambda: accepts(socket.AF_INET, ("127.0.0.1", port)), PATIENCE, "firefox")
            self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
            self._reader = self._socket.makefile("rb")
            self._message()
            self._count = 0
            self._call("WebDriver:NewSession", acceptInsecureCerts=True)
            self._call("WebDriver:SetTimeouts", script=PATIENCE * 1000, pageLoad=PATIENCE * 1000)
            stack.pop_all()

    def _message(self):
        size = b""
        while not size.endswith(b":"):
            byte = self._reader.read(1)
            assert byte, f"it has ended: {self.said()}"
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

    def __exit__(self, *_):
        if self._socket:
            with contextlib.suppress(OSError, AssertionError):
                self._call("Marionette:Quit", flags=["eForceQuit"])
            self._reader.close()
            self._socket.close()
        super().__exit__()
