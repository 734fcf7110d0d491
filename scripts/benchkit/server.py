"""A private httpd: its own configuration, a free loopback port, and nothing outside of the run."""

import contextlib
import http.client
import os
import pwd
import socket
import time

from benchkit import tools
from benchkit.run import end_process

BASE_MODULES = ("watchdog", "unixd", "log_config", "authz_core", "mime", "alias", "http2")

# Children neither come nor go during a run, so that their CPU time stays countable.
CONFIGURATION = """
ServerRoot {folder}
ServerName localhost
PidFile {folder}/httpd.pid
Mutex pthread
DefaultRuntimeDir {folder}
{modules}
{user}
Listen 127.0.0.1:{port}
Protocols h2c http/1.1
ErrorLog {folder}/error.log
LogLevel warn
TypesConfig /dev/null
AddType text/html .html
AddType text/css .css
AddType application/javascript .js
AddType image/svg+xml .svg
AddType text/plain .txt
DocumentRoot {folder}/site
<Directory {folder}/site>
    Require all granted
</Directory>
StartServers 2
ServerLimit 2
ThreadsPerChild 32
MinSpareThreads 1
MaxSpareThreads 64
MaxRequestWorkers 64
MaxConnectionsPerChild 0
MaxKeepAliveRequests 0
KeepAliveTimeout 60
GracefulShutdownTimeout 1
"""

ELASTIC = """
LoadModule elastic_module {module}
<Location /elastic-status>
    SetHandler elastic-status
</Location>
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def unprivileged_user():
    """The account for an httpd that is started as root."""
    for name in ("www-data", "apache", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise tools.BenchError("there is no user www-data, apache or nobody for httpd to run as")


def load_lines(modules):
    paths = ((name, tools.httpd_module(name)) for name in modules)
    return "\n".join(f"LoadModule {name}_module {path}" for name, path in paths if path)


class Httpd:
    """An httpd of the run. `site` is its DocumentRoot; fill it before start()."""

    def __init__(self, run, name, snippet, modules=(), elastic=True):
        self.run = run
        self.folder = run.folder(name)
        self.site = self.folder / "site"
        self.site.mkdir()
        self.port = free_port()
        self.elastic = elastic
        text = CONFIGURATION.format(
            folder=self.folder, port=self.port,
            modules=load_lines(("mpm_event", *BASE_MODULES, *modules)),
            user=f"User {unprivileged_user()}" if os.geteuid() == 0 else "")
        if elastic:
            text += ELASTIC.format(module=tools.elastic_module())
        self.configuration = self.folder / "httpd.conf"
        self.configuration.write_text(text + snippet.format(folder=self.folder), encoding="utf-8")

    def start(self):
        self.process = self.run.start(
            [tools.httpd(), "-DFOREGROUND", "-f", str(self.configuration)], self.log)
        self.pid = self.process.pid  # taskset and setpriv exec in place
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise tools.BenchError(f"httpd did not start: {self.last_words()}")

    def stop(self):
        """Ends httpd before the run does, so that its logs are whole."""
        end_process(self.process)

    @property
    def log(self):
        return self.folder / "output.log"

    def last_words(self):
        texts = (path.read_text(errors="replace") for path in
                 (self.log, self.folder / "error.log") if path.exists())
        return " / ".join(" ".join(text.splitlines()[-2:]) for text in texts if text.strip())

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def get(self, path, headers=None):
        """(status, headers, body) of one GET."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request("GET", path, headers=headers or {})
            response = connection.getresponse()
            return response.status, response.headers, response.read()

    def counters(self):
        """The whole numbers of elastic-status?auto; nothing where the module is not loaded."""
        if not self.elastic:
            return {}
        status, _, body = self.get("/elastic-status?auto")
        if status != 200:
            raise tools.BenchError(f"elastic-status answered {status}")
        return parse_counters(body.decode())


def parse_counters(text):
    """{key: number} of the lines "Key: number"; others are left out."""
    pairs = (line.partition(": ") for line in text.splitlines())
    return {key: int(value) for key, _, value in pairs if value.strip().isdigit()}
