"""Servers of other projects, with one thread: nginx, lighttpd, h2o, Caddy, redis; HAProxy and
Varnish in front of an httpd, whose CPU and memory are included."""

import os

from benchkit import server, tools

NGINX = """
{modules}
daemon off;
master_process on;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
{user}
events {{
    worker_connections 4096;
}}
http {{
    types {{
{types}
    }}
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen {address}:{port};
        root {site};
{snippet}
    }}
}}
"""

LIGHTTPD = """
server.modules = ("mod_deflate")
server.document-root = "{site}"
server.bind = "{address}"
server.port = {port}
server.max-keep-alive-requests = 65535
server.max-keep-alive-idle = 60
server.upload-dirs = ("{folder}/cache")
{user}
mimetype.assign = ({types})
{snippet}
"""

H2O = """
num-threads: 1
error-log: {folder}/error.log
temp-buffer-path: {folder}
{user}
hosts:
  default:
    listen:
      host: {address}
      port: {port}
    paths:
      /:
        file.dir: {site}
{snippet}
"""

CADDY = """
{{
    admin off
    auto_https off
    storage file_system {folder}
    log {{
        output file {folder}/error.log
        level ERROR
    }}
}}
http://{address}:{port} {{
    root * {site}
    file_server
{snippet}
}}
"""

HAPROXY = """
global
    nbthread 1
    maxconn 4096
    {user}
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
frontend front
    bind {address}:{port}
    default_backend back
backend back
    server origin {host}:{origin_port}
{snippet}
"""

VARNISH = """
vcl 4.1;
backend origin {{
    .host = "{host}";
    .port = "{origin_port}";
}}
sub vcl_backend_response {{
{snippet}
}}
"""

REDIS = """
bind {address}
port {port}
dir {folder}
save ""
maxmemory 256mb
maxmemory-policy allkeys-lru
"""


class Other(server.Server):
    """`form` is its configuration, with the snippet; `user` and `types` are its syntax for an
    account and for types, `start_command` what runs it."""

    form, user, types, separator, start_command = "", "", "", "\n", ()

    def fields(self):
        return {"folder": self.folder, "site": self.site, "address": self.address,
                "port": self.port, "configuration": self.configuration}

    def configure(self):
        types = (self.types.format(kind=kind, suffix=suffix)
                 for suffix, kind in server.TYPES.items())
        return self.form.format(user=server.user_line(self.user), types=self.separator.join(types),
                                snippet=self.snippet.replace("{folder}", str(self.folder)),
                                **self.fields())

    def command(self):
        program, *words = self.start_command
        return [tools.find(program), *(word.format(**self.fields()) for word in words)]


class Nginx(Other):
    name, form, user, types = "nginx", NGINX, "user {name};", "{kind} {suffix};"
    # -e: before nginx reads its configuration, it would open the system's log.
    start_command = "nginx", "-p", "{folder}", "-e", "{folder}/error.log", "-c", "{configuration}"

    def fields(self):
        """With the modules for the snippet's codings, which Debian has as packages."""
        codings = [one for one in ("brotli", "zstd") if f"{one} on;" in self.snippet]
        return {**super().fields(), "modules": "\n".join(
            f"load_module {tools.nginx_module(one)};" for one in codings)}


class Lighttpd(Other):
    name, form, user = "lighttpd", LIGHTTPD, 'server.username = "{name}"'
    types, separator = '".{suffix}" => "{kind}"', ", "
    start_command = "lighttpd", "-D", "-f", "{configuration}"

    def configure(self):
        cache = self.folder / "cache"
        cache.mkdir(exist_ok=True)
        self.folder.chmod(0o755)
        cache.chmod(0o777)  # for a user other than the run's; large bodies pass through it
        return super().configure()


class Redis(Other):
    name, form, start_command = "redis-server", REDIS, ("redis-server", "{configuration}")


class H2o(Other):
    name, form, user = "h2o", H2O, "user: {name}"
    start_command = "h2o", "-m", "worker", "-c", "{configuration}"


class Caddy(Other):
    """It uses as many threads as CPUs, which is one here."""

    name, form = "caddy", CADDY
    start_command = "caddy", "run", "--config", "{configuration}", "--adapter", "caddyfile"

    def command(self):
        # Caddy stores files below the home directory; root's must stay untouched.
        return ["env", f"HOME={self.folder}", f"PATH={os.environ['PATH']}", *super().command()]


class Proxy(Other):
    """`origin` is a running server."""

    def __init__(self, run, folder, snippet, origin, **options):
        super().__init__(run, folder, snippet, **options)
        self.origin = origin
        self.helpers = origin.pids

    def fields(self):
        return {**super().fields(), "host": self.origin.address, "origin_port": self.origin.port}


class Haproxy(Proxy):
    name, form, user = "haproxy", HAPROXY, "user {name}"
    start_command = "haproxy", "-db", "-f", "{configuration}"


class Varnish(Proxy):
    """It compresses what it stores, at the first request, unless it is told to pass."""

    name, form = "varnish", VARNISH
    start_command = ("varnishd", "-F", "-n", "{folder}/varnish",
                     "-T", "none",  # its default, localhost, is a name that a machine may not know
                     "-a", "{address}:{port}", "-f", "{configuration}", "-s", "malloc,64m",
                     "-j", "none")
