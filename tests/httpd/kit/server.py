"""A private httpd: own directory, own loopback ports, own configuration, own log."""

import contextlib
import functools
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from . import bodies, client, env, http2, messages, sanitizer
from .log import ErrorLog
from .process import accepts, free_port, runs, until

_DEFAULT_MODULES = ("authz_core", "mime", "dir", "alias", "headers", "env", "setenvif")
# Debian's httpd has these built in; one with default options has not.
_BUILT_IN = ("unixd", "log_config", "logio", "watchdog")
_NOTES = ("elastic-coding", "elastic-engine", "elastic-level", "elastic-in", "elastic-out",
          "elastic-ratio", "elastic-usec", "elastic-reason", "elastic-setup",
          "elastic-dictionary")
_READY = "configured -- resuming normal operations"

_BASE = """\
ServerRoot {root}
DefaultRuntimeDir {root}/run
PidFile {root}/run/httpd.pid
ServerName localhost
DocumentRoot {root}/docs
TypesConfig {root}/mime.types
ErrorLog {root}/error.log
LogLevel info
LogFormat "%{{X-Request}}i\\t%>s\\t%B\\t{notes}" notes
CustomLog {root}/access.log notes
Timeout 120
KeepAliveTimeout 5
EnableSendfile On
SetEnv KIT {root}
AddHandler cgi-script .cgi
<Directory />
    Require all granted
    AllowOverride None
</Directory>
<Directory {root}/docs>
    Options +ExecCGI +FollowSymLinks
</Directory>
"""

_MIME = """\
text/html html
text/plain txt
text/css css
application/javascript js
application/json json
image/svg+xml svg
image/png png
application/octet-stream bin
"""

_MPM = {
    "threads": "StartServers 1\nServerLimit 4\nThreadsPerChild 32\nMaxRequestWorkers 128\n"
               "MinSpareThreads 8\nMaxSpareThreads 128\n",
    "prefork": "StartServers 4\nMinSpareServers 2\nMaxSpareServers 16\nMaxRequestWorkers 96\n",
}


# Harmless: the machine's OpenSSL is older than mod_ssl's by a patch; there is no session cache;
# mpm_event stops while a client disconnects; mod_cgid's daemon is stopped while it makes its
# socket.
_HARMLESS = ("AH01882", "AH01873", "AH03092", "AH03093", "AH01244")


@functools.cache
def leaves_late():
    """True if a child may need more than one request to end: mpm_worker before 2.4.62."""
    said = subprocess.run([env.HTTPD, "-v"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"Apache/([\d.]+)", said).group(1)
    return env.MPM == "worker" and [int(part) for part in version.split(".")] < [2, 4, 62]


# mod_cgid's old daemon may outlive the start of the next one, and then remove its socket: for tests
# that reload repeatedly and run no script.
CGID_RELOADED = "AH01238|AH01243|AH01244|AH01246"


class StartFailed(Exception):
    pass


def children(parent):
    """The process ids of httpd's workers, without mod_cgid's daemon, which has one thread."""
    found = []
    for pid in map(int, Path(f"/proc/{parent}/task/{parent}/children").read_text().split()):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            threads = len(os.listdir(f"/proc/{pid}/task"))
            if threads > 1 or (env.MPM == "prefork" and runs(pid)):
                found.append(pid)
    return found


@functools.cache
def _certificate():
    """A self-signed certificate and its key, for all servers of this process."""
    return subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
         "basicConstraints=critical,CA:FALSE", "-addext", "subjectAltName=DNS:localhost",
         "-keyout", "-", "-out", "-"], check=True, capture_output=True, text=True).stdout


class Server:
    """
    Server(config, modules=(), files=None, cgi=None, tls=False, h2=False, ipv6=False, elastic=True,
           records=("elastic",), mpm_config=None, allow_log=(), wrapper=(), environ=None)

    config      text that follows the base configuration; `{root}`, `{docs}` and `{port}` are
                replaced
    modules     names of further stock modules ("proxy_http"); those of _DEFAULT_MODULES are always
                loaded
    files       {path below docs: bytes}; cgi: {path below docs: Python source, see cgi()}
    tls, h2     a TLS port with a self-signed certificate; HTTP/2 (h2c on the plain
                port, h2 on the TLS one)
    ipv6        listens on [::1] too: get(..., ipv6=True)
    elastic     False: the module is not loaded, and there is no /elastic-status
    records     the module's records to load after `modules`, in this order: "elastic", "deflate",
                "brotli"
    allow_log   patterns of error log lines that are always fine for this server
    wrapper     a command put before httpd (valgrind)
    environ     further environment variables; `{root}` is replaced in their values, too

    Use the `httpd` or `httpd_shared` fixture of kit.fixtures rather than this class: they stop the
    server and check its log.
    """

    def __init__(self, config="", modules=(), files=None, cgi=None, tls=False, h2=False, ipv6=False,
                 elastic=True, records=("elastic",), mpm_config=None, allow_log=(), wrapper=(),
                 environ=None):
        self.root = Path(tempfile.mkdtemp(prefix="elastic-httpd-"))
        os.chmod(self.root, 0o755)
        self.docs = self.root / "docs"
        for name in ("docs", "run"):
            (self.root / name).mkdir()
            os.chmod(self.root / name, 0o755)
        sanitizer.make_folder(self.root)
        (self.root / "mime.types").write_text(_MIME)
        self.port = free_port()
        self.tls_port = free_port() if tls else None
        self.v6_port = free_port("::1") if ipv6 else None
        self.modules = list(modules)
        self.h2 = h2 and env.possible("h2c")
        self.elastic = elastic
        self.records = tuple(records)
        self.mpm_config = mpm_config
        self.wrapper = list(wrapper)
        self.environ = dict(environ or {})
        # Few workers may all be busy with clients that are gone.
        few = ["AH00161|AH00287|AH00484"] if "MaxRequestWorkers" in (mpm_config or "") else []
        late = ["AH00045"] * leaves_late()
        self.log = ErrorLog(self.root / "error.log", (*_HARMLESS, *few, *late, *allow_log))
        self.stderr = ErrorLog(self.root / "stderr.log", allow_log)
        self.process = None
        if tls:
            (self.root / "tls.pem").write_text(_certificate())
        self.configure(config)
        for path, data in (files or {}).items():
            self.write(path, data)
        for path, source in (cgi or {}).items():
            self.cgi(path, source)

# --- files

    @property
    def conf(self):
        return self.root / "httpd.conf"

    def configure(self, config):
        """Writes the configuration; graceful() or restart() brings it into force."""
        for name, value in (("root", self.root), ("docs", self.docs), ("port", self.port)):
            config = config.replace("{%s}" % name, str(value))
        self.conf.write_text(self._base() + config + "\n" + self._vhost())

    def _base(self):
        threads = env.MPM != "prefork"
        lines = [f"LoadModule mpm_{env.MPM}_module {env.module_path('mpm_' + env.MPM)}",
                 self.mpm_config or _MPM["threads" if threads else "prefork"]]
        extra = [name for name in _BUILT_IN if os.path.exists(env.module_path(name))]
        extra += ["ssl"] if self.tls_port else []
        extra += ["http2"] if self.h2 else []
        for name in (*_DEFAULT_MODULES, "cgid" if threads else "cgi", *extra, *self.modules):
            lines.append(f"LoadModule {name}_module {env.module_path(name)}")
        if self.elastic:
            lines += [f"LoadModule {name}_module {env.MODULE}" for name in self.records]
            lines.append("<Location /elastic-status>\nSetHandler elastic-status\n</Location>")
            if "elastic" in self.records and not threads:
                # One of many processes has a small share, and would stream bodies that others
                # encode whole.
                lines.append("ElasticPoolMemory 256M")
        lines.append(_BASE.format(root=self.root, notes="\\t".join("%%{%s}n" % n for n in _NOTES)))
        if env.IS_ROOT:
            user = env.child_user()
            lines.append(f"User #{user.pw_uid}\nGroup #{user.pw_gid}")
        if threads:
            lines.append(f"ScriptSock {self.root}/run/cgi.sock")
        else:
            # mod_cgi may kill a forked process before it runs the script. httpd takes that for a
            # child's end, and each time APR's pthread mutex loses a user; with none left it is
            # destroyed, and the server with it. A file lock does not count users.
            lines.append(f"Mutex fcntl:{self.root}/run mpm-accept")
        if self.h2:
            lines.append("Protocols h2 h2c http/1.1")
        lines.append(f"Listen 127.0.0.1:{self.port}")
        if self.v6_port:
            lines.append(f"Listen [::1]:{self.v6_port}")
        return "\n".join(lines) + "\n"

    def _vhost(self):
        if not self.tls_port:
            return ""
        address = f"127.0.0.1:{self.tls_port}"
        return (f"Listen {address}\n<VirtualHost {address}>\n"
                "ServerName localhost\nSSLEngine on\n"
                f"SSLCertificateFile {self.root}/tls.pem\n</VirtualHost>\n")

    def write(self, path, data, mtime=None):
        """Writes a file below docs, readable by httpd; returns its path. By default its mtime is
        100 s ago, because httpd makes weak tags for files that changed within the last second."""
        file = self.docs / path.lstrip("/")
        for parent in reversed(file.relative_to(self.docs).parents):
            (self.docs / parent).mkdir(exist_ok=True)
            os.chmod(self.docs / parent, 0o755)
        file.write_bytes(data if isinstance(data, bytes) else data.encode())
        os.chmod(file, 0o644)
        mtime = time.time() - 100 if mtime is None else mtime
        os.utime(file, (mtime, mtime))
        return file

    def folder(self, *names):
        """Makes folders in the root, where httpd's children may write; returns the last one."""
        for path in (self.root / name for name in names):
            path.mkdir(exist_ok=True)
            path.chmod(0o777)
        return path

    def cgi(self, path, source):
        """Writes a CGI script below docs. `source` is Python with sys, os, time, and head(*lines),
        which writes header lines and the blank one, and out(data), which writes at once. If it
        names `bodies`, it has kit.bodies."""
        if "bodies." in source:
            self._write_bodies()
            source = "sys.path.insert(0, os.environ['KIT'])\nfrom kit import bodies\n" + source
        file = self.write(path, f"#!{env.PYTHON} -SE\n" + _CGI_PRELUDE + source)
        os.chmod(file, 0o755)
        return file

    def _write_bodies(self):
        target = self.root / "kit"
        target.mkdir(exist_ok=True)
        os.chmod(target, 0o755)
        for name, data in (("__init__.py", b""), ("bodies.py", Path(bodies.__file__).read_bytes()),
                           ("bodies.py.block", bodies.block())):
            (target / name).write_bytes(data)
            os.chmod(target / name, 0o644)

# --- life

    def _environ(self):
        own = {name: value.replace("{root}", str(self.root))
               for name, value in self.environ.items()}
        return {**os.environ, "LC_ALL": "C", **sanitizer.environ(self.root), **own}

    def command(self, *arguments):
        """Runs httpd with this configuration and further arguments; returns the finished process
        with its output as text."""
        done = subprocess.run(
            [env.HTTPD, "-f", str(self.conf), *arguments], env=self._environ(), text=True,
            timeout=60, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        messages.see(done.stdout)
        return done

    def configtest(self):
        """(whether `httpd -t` accepts the configuration, its output)"""
        done = self.command("-t")
        return done.returncode == 0, done.stdout

    def start(self, timeout=30):
        with open(self.root / "stderr.log", "ab") as stderr:
            self.process = subprocess.Popen(
                self.wrapper + [env.HTTPD, "-f", str(self.conf), "-DFOREGROUND"],
                env=self._environ(), stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr,
                start_new_session=True)
        with contextlib.suppress(TimeoutError):
            until(lambda: self._accepts() or not self.is_running(), timeout, "httpd")
        if not self._accepts():
            said = self.stderr.text() + self.log.text()
            messages.see(said)
            self.kill()
            raise StartFailed(f"httpd did not start:\n{said}")
        return self

    def _accepts(self):
        return (self.log.lines(_READY) and accepts(socket.AF_INET, ("127.0.0.1", self.port))
                and self._runs_scripts())

    def _runs_scripts(self):
        """True if mod_cgid works: its daemon makes its socket as root, and then gives it to the
        children's user."""
        user = env.child_user().pw_uid if env.IS_ROOT else os.geteuid()
        with contextlib.suppress(FileNotFoundError):  # the socket vanishes with its daemon
            return env.MPM == "prefork" or any(
                path.stat().st_uid == user for path in (self.root / "run").glob("cgi.sock*"))
        return False

    def _reload(self, number, timeout):
        before = len(self.log.lines(_READY))
        self.process.send_signal(number)
        self.wait_for(lambda: len(self.log.lines(_READY)) > before, timeout, "the reload")

    def graceful(self, timeout=30):
        """A graceful restart; returns when the new generation runs and the old one is gone, unless
        that still has requests."""
        before = set(self.children())
        self._reload(signal.SIGUSR1, timeout)
        with contextlib.suppress(TimeoutError):
            self.wait_for(lambda: not before & set(self.children()), 1, "the end of the children")

    def restart(self, timeout=30):
        self._let_connections_end()
        self._reload(signal.SIGHUP, timeout)

    @staticmethod
    def _let_connections_end():
        """mpm_event sometimes crashes, also without this module, if it is stopped while it notices
        that a client left (in 2.4.71: 13 of 400 stops right after a request, none of 300 after 30
        ms)."""
        time.sleep(0.1)

    @classmethod
    def terminate(cls, pid):
        """Stops httpd. A child of mpm_prefork frees everything in SIGTERM's handler, and crashes,
        also without this module, if the signal comes within malloc() or OpenSSL: so its children
        are told to leave first, and have a second for it."""
        cls._let_connections_end()
        if env.MPM == "prefork":
            os.kill(pid, signal.SIGWINCH)
            with contextlib.suppress(TimeoutError, FileNotFoundError):
                until(lambda: not children(pid), 1, "the end of the children")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)

    def stop(self, timeout=20):
        if self.is_running():
            self.terminate(self.process.pid)
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired as error:
                self.kill()
                raise AssertionError(f"httpd did not stop within {timeout} s") from error

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        if self.is_running():
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def remove(self):
        if not env.KEEP:
            shutil.rmtree(self.root, ignore_errors=True)

    def parent(self):
        """httpd's own process id (a wrapper such as valgrind keeps it)."""
        return self.process.pid

    def children(self):
        return children(self.process.pid)

# --- log

    def expect_log(self, pattern):
        """For the rest of the test, error log lines that match `pattern` are fine."""
        self.log.expect(pattern)
        self.stderr.expect(pattern)

    def wait_log(self, pattern, timeout=10):
        """Waits until the error log has a matching line; returns such lines."""
        self.wait_for(lambda: self.log.lines(pattern), timeout, f"a log line like {pattern!r}")
        return self.log.lines(pattern)

    def complaints(self):
        """The log lines since the last call that no test announced."""
        if not self.root.exists():  # it never ran, and was removed when its test was skipped
            return []
        return self.log.unexpected() + self.stderr.unexpected() + sanitizer.reports(self.root)

    wait_for = staticmethod(until)

    # --- requests

    def connect(self, protocol="http/1.1", timeout=30, ipv6=False, certificate=None, host=None):
        """A connection by that protocol: for raw bytes, or kit.http2's. `certificate` is a file
        with a client's certificate and its key; `host` is another address of the server."""
        port = self.tls_port if protocol in ("tls", "h2") else self.v6_port if ipv6 else self.port
        address = (host or ("::1" if ipv6 else "127.0.0.1"), port)
        if protocol in env.HTTP2:
            return http2.Connection(address, protocol == "h2", timeout)
        version = "HTTP/1.0" if protocol == "http/1.0" else "HTTP/1.1"
        return client.Connection(address, protocol == "tls", timeout, version, certificate)

    def get(self, path, ae=None, headers=None, method="GET", body=b"", protocol="http/1.1",
            timeout=60, ipv6=False):
        """One request on its own connection. `ae` is Accept-Encoding; None sends none. A response
        that breaks off has complete=False, and its `body` raises."""
        with self.connect(protocol, timeout, ipv6) as connection:
            return connection.request(path, method, ae, headers, body)

    def head(self, path, ae=None, headers=None, **kw):
        return self.get(path, ae, headers, method="HEAD", **kw)

    def stream(self, path, ae=None, headers=None, protocol="http/1.1", timeout=60):
        """A response that is read while it arrives; a context manager, see client.Stream."""
        return self.connect(protocol, timeout).stream(path, ae, headers)

    def notes(self, response, timeout=10):
        """The elastic notes in a response's log line (those that are set), with `status` and `sent`
        (bytes of body)."""
        found = []

        def line():
            with contextlib.suppress(FileNotFoundError):
                # A line across a page boundary may be visible before its end is written.
                for text in reversed((self.root / "access.log").read_text().splitlines(True)):
                    if text.startswith(response.id + "\t") and text.endswith("\n"):
                        found.append(text[:-1])
                        return True
            return False

        self.wait_for(line, timeout, f"the log line of request {response.id}")
        return _notes_of(found[0])

    def all_notes(self, last):
        """The notes of all responses so far, of which `last` is the last one."""
        self.notes(last)
        return [_notes_of(line) for line in (self.root / "access.log").read_text().splitlines()]

    def reason(self, response):
        """The note elastic-reason; None if the response was compressed."""
        return self.notes(response).get("elastic-reason")

    def status(self, path="/elastic-status?auto"):
        """The status page's lines as {key: text}."""
        answer = self.get(path)
        assert answer.status == 200, answer
        pairs = re.findall(r"^([\w-]+): (.*)$", answer.body.decode(), re.M)
        return dict(pairs)


def _notes_of(line):
    fields = line.split("\t")
    notes = {n: v for n, v in zip(_NOTES, fields[3:], strict=True) if v != "-"}
    return {"status": int(fields[1]), "sent": int(fields[2]), **notes}


_CGI_PRELUDE = """\
import os, sys, time
def out(data):
    data = data if isinstance(data, bytes) else data.encode()
    try:
        while data:
            data = data[os.write(1, data):]
    except BrokenPipeError: # the client is gone: no traceback into the error log
        os._exit(1)
def head(*lines):
    out("".join(line + "\\n" for line in lines) + "\\n")
def whole(body, *lines): # by one write, and its end: a busy machine has no time to come between
    out("".join(line + "\\n" for line in lines).encode() + b"\\n" + body)
    os.close(1)
"""
