"""A private nginx, as a peer: one worker, static files, gzip as the snippet has it."""

from benchkit import server, tools

CONFIGURATION = """
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
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen {address}:{port};
        root {site};
{snippet}
    }}
}}
"""


class Nginx(server.Server):
    """An nginx of the run; `snippet` goes into its one server block."""

    name = "nginx"

    def configure(self):
        return CONFIGURATION.format(
            folder=self.folder, site=self.site, address=self.address, port=self.port,
            types="\n".join(f"{kind} {suffix};" for suffix, kind in server.TYPES.items()),
            user=server.user_line("user {};"), snippet=self.snippet)

    def command(self):
        # -e: before it reads its configuration, nginx would open a log of the system's.
        return [tools.find("nginx"), "-p", str(self.folder), "-e", str(self.folder / "error.log"),
                "-c", str(self.configuration)]
