"""HAProxy and Varnish, each in front of an httpd that compresses nothing.

The httpd is on the same CPU, and what it uses counts as theirs: neither can do without one.
"""

from benchkit import server, tools

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
    http-reuse always
frontend front
    bind {address}:{port}
    default_backend back
backend back
    server origin {origin}
{snippet}
"""

VARNISH = """
vcl 4.1;
backend origin {{
    .host = "{host}";
    .port = "{port}";
}}
sub vcl_backend_response {{
{snippet}
}}
"""

STORE = "malloc,64m"


class Proxy(server.Server):
    """`origin` is a server that has been started."""

    def __init__(self, run, folder, snippet, origin, **options):
        super().__init__(run, folder, snippet, **options)
        self.origin = origin
        self.helpers = origin.pids


class Haproxy(Proxy):
    name = "haproxy"

    def configure(self):
        return HAPROXY.format(
            address=self.address, port=self.port, user=server.user_line("user {}"),
            origin=f"{self.origin.address}:{self.origin.port}", snippet=self.snippet)

    def command(self):
        return [tools.find("haproxy"), "-db", "-f", str(self.configuration)]


class Varnish(Proxy):
    """It compresses what it stores, at the first request unless it is told to pass."""

    name = "varnish"

    def configure(self):
        return VARNISH.format(host=self.origin.address, port=self.origin.port,
                              snippet=self.snippet)

    def command(self):
        return [tools.find("varnishd"), "-F", "-n", str(self.folder / "varnish"),
                "-T", "none",  # its default, localhost, is a name that a machine may not know
                "-a", f"{self.address}:{self.port}", "-f", str(self.configuration), "-s", STORE,
                "-j", "none"]
