"""Private servers: their own configuration, a free port, and nothing outside of the run."""

import contextlib
import http.client
import os
import pwd
import re
import socket

from benchkit import sample, tools
from benchkit.run import end_process

BASE_MODULES = ("watchdog", "unixd", "log_config", "authz_core", "mime", "alias", "http2")

TYPES = {"html": "text/html", "css": "text/css", "js": "application/javascript",
         "svg": "image/svg+xml", "json": "application/json", "txt": "text/plain",
         "gif": "image/gif", "png": "image/png"}

CONFIGURATION = """
ServerRoot {folder}
ServerName localhost
PidFile {folder}/httpd.pid
Mutex pthread
DefaultRuntimeDir {folder}
{modules}
{user}
Listen {address}:{port}
Protocols h2 h2c http/1.1
ErrorLog {folder}/error.log
LogLevel warn
TypesConfig /dev/null
{types}
DocumentRoot {site}
<Directory {site}>
    Require all granted
</Directory>
{workers}
MaxConnectionsPerChild 0
MaxKeepAliveRequests 0
KeepAliveTimeout 60
GracefulShutdownTimeout 1
"""

# Children neither start nor end during a run, so that their CPU time can be counted.
THREADS = """
ThreadLimit {threads}
StartServers {children}
ServerLimit {children}
ThreadsPerChild {threads}
MinSpareThreads 1
MaxSpareThreads {workers}
MaxRequestWorkers {workers}
"""

PROCESSES = """
StartServers {children}
ServerLimit {children}
MinSpareServers 1
MaxSpareServers {children}
MaxRequestWorkers {children}
"""

ELASTIC = """
LoadModule elastic_module {module}
<Location /elastic-status>
    SetHandler elastic-status
</Location>
"""

COMPLAINT = re.compile(r"\[(?!elastic:)\w*:(warn|error|crit|alert|emerg)\]")  # not advice
PATIENCE = 15  # seconds for a server to accept connections
CHILD_PATIENCE = 60  # seconds for all of them to run: there may be hundreds
PORT_TRIES = 3  # another process may take the free port before the server binds it


def free_port(address="127.0.0.1"):
    with socket.socket() as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


def unprivileged_user():
    if os.geteuid() != 0:
        return ""
    for name in ("www-data", "apache", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise tools.BenchError("there is no user www-data, apache or nobody for a server to run as")


def user_line(form):
    """A line of a configuration, such as "User {name}", with the account; empty without one."""
    name = unprivileged_user()
    return form.format(name=name, group=pwd.getpwnam(name).pw_gid) if name else ""


class Server:
    """A server of the run. `site` is its document root; fill it before start(). `place` is an
    address, and a command that enters its network namespace; `cpu` is its CPU if not the
    servers'."""

    name = "server"

    def __init__(self, run, folder, snippet, site=None, place=("127.0.0.1", ()), cpu=None):
        self.run = run
        self.cpu = cpu
        self.folder = run.folder(folder)
        self.snippet = snippet
        self.address, self.prefix = place
        self.site = site or self.folder / "site"
        self.site.mkdir(exist_ok=True)
        self.configuration = self.folder / "server.conf"
        self.log = self.folder / "output.log"
        self.process = None
        self.helpers = []  # pids of other processes whose CPU and memory count with the server's

    @property
    def pids(self):
        # taskset, setpriv and nsenter exec in place
        return [self.process.pid, *self.helpers]

    @property
    def addresses(self):
        return [(self.address, self.port)]

    def start(self):
        for _ in range(PORT_TRIES):
            # No other process takes ports in a namespace of its own.
            self.port = 8080 if self.prefix else free_port(self.address)
            self.configuration.write_text(self.configure(), encoding="utf-8")
            self.process = self.run.start(self.command(), self.log, self.prefix, self.cpu)
            tools.wait_for(lambda: self.process.poll() is not None or self.listens(), PATIENCE)
            if self.process.poll() is None and self.listens():
                return self
            if not any("in use" in path.read_text(errors="replace") for path in self.logs):
                break
            for path in self.logs:
                path.unlink()
        said = [" ".join(path.read_text(errors="replace").splitlines()[-2:]) for path in self.logs]
        raise tools.BenchError(f"{self.name} did not start: {' / '.join(filter(None, said))}")

    def listens(self):
        if self.prefix:  # not reachable from here: its socket is in its namespace's table
            with contextlib.suppress(OSError), open(f"/proc/{self.process.pid}/net/tcp") as file:
                return f":{self.port:04X} 00000000:0000 0A" in file.read()
            return False
        with contextlib.suppress(OSError):
            socket.create_connection((self.address, self.port), 1).close()
            return True
        return False

    def stop(self):
        end_process(self.process)

    @property
    def logs(self):
        return [path for path in (self.log, self.folder / "error.log") if path.exists()]

    def url(self, path):
        return f"http://{self.address}:{self.port}{path}"

    def connect(self):
        return http.client.HTTPConnection(self.address, self.port, timeout=30)

    def ask(self, connection, path, headers):
        """(status, headers, body) of one GET on a connection."""
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.headers, response.read()

    def get(self, path, headers=None):
        """The same on a connection of its own."""
        with contextlib.closing(self.connect()) as connection:
            return self.ask(connection, path, headers or {})

    def counters(self):
        """The server's own counters, by name."""
        return {}


class Httpd(Server):
    """An httpd, with this module unless `elastic` is False. Each of `children` has `threads`; with
    fewer than connections, httpd closes kept ones, which their clients count as failures."""

    name = "httpd"
    mpm = "event"
    base_modules = BASE_MODULES

    def __init__(self, run, folder, snippet, modules=(), elastic=True, threads=32,
                 children=2, **options):
        super().__init__(run, folder, snippet, **options)
        self.modules = modules
        self.elastic = elastic
        self.threads = threads
        self.children = children

    def workers(self):
        return THREADS.format(children=self.children, threads=self.threads,
                              workers=self.children * self.threads)

    def child_pids(self):
        parents = sample.read_parents()
        return sorted(sample.family(self.pids, parents) - set(self.pids))

    def start(self):
        """Returns when all children run: the parent listens earlier, and forks for a while."""
        before = {path: path.stat().st_size for path in self.logs}
        super().start()
        if not tools.wait_for(lambda: len(self.child_pids()) >= self.children, CHILD_PATIENCE):
            raise tools.BenchError(f"{self.name} did not start {self.children} children")
        said = b"".join(path.read_bytes()[before.get(path, 0):] for path in self.logs)
        complaints = [line for line in said.decode(errors="replace").splitlines()
                      if COMPLAINT.search(line)]
        if complaints:  # it does not run as it was configured
            raise tools.BenchError(f"{self.name} complains: {complaints[0]}")
        return self

    def configure(self):
        text = CONFIGURATION.format(
            folder=self.folder, site=self.site, port=self.port, address=self.address,
            workers=self.workers(), user=user_line("User {name}\nGroup #{group}"),
            modules="\n".join(f"LoadModule {name}_module {path}" for name in (
                f"mpm_{self.mpm}", *self.base_modules, *self.modules)
                if (path := tools.httpd_module(name))),
            types="\n".join(f"AddType {kind} .{suffix}" for suffix, kind in TYPES.items()))
        if self.elastic:
            module = tools.elastic_module() if self.elastic is True else self.elastic
            text += ELASTIC.format(module=module)
        return text + self.snippet.format(folder=self.folder, site=self.site)

    def command(self):
        return [tools.httpd(), "-DFOREGROUND", "-f", str(self.configuration)]

    def counters(self):
        """The whole numbers of elastic-status?auto; empty if the module is not loaded."""
        if not self.elastic or self.prefix:
            return {}
        status, _, body = self.get("/elastic-status?auto")
        if status != 200:
            raise tools.BenchError(f"elastic-status answered {status}")
        return parse_counters(body.decode())


class Prefork(Httpd):
    """An httpd in which each child serves one connection, without HTTP/2."""

    mpm = "prefork"
    base_modules = tuple(name for name in BASE_MODULES if name != "http2")

    def __init__(self, run, folder, snippet, children=16, **options):
        super().__init__(run, folder, snippet, children=children, **options)

    def workers(self):
        return PROCESSES.format(children=self.children)


def built_in(run, *codings):
    """The codings that the module encodes; configtest only warns of those that are not built in."""
    httpd = Httpd(run, "codings", "Elastic On\nElasticMinSize 0\n")
    (httpd.site / "page.html").write_bytes(b"<p>a page</p>" * 100)
    httpd.start()
    found = [coding for coding in codings if httpd.get(
        "/page.html", {"Accept-Encoding": coding})[1].get("Content-Encoding") == coding]
    httpd.stop()
    return found


def parse_counters(text):
    pairs = (line.partition(": ") for line in text.splitlines())
    return {key: int(value) for key, _, value in pairs if value.strip().isdigit()}
