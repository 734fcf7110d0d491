"""lighttpd, h2o and Caddy, each of which serves the files of a folder with one thread."""

import os

from benchkit import server, tools

LIGHTTPD = """
server.modules = ("mod_deflate")
server.document-root = "{site}"
server.bind = "{address}"
server.port = {port}
server.max-keep-alive-requests = 65535
server.max-keep-alive-idle = 60
server.upload-dirs = ("{folder}")
{user}
mimetype.assign = ({types})
{snippet}
"""

H2O = """
num-threads: 1
error-log: {folder}/error.log
temp-buffer-path: {folder}
http1-request-timeout: 60
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


class Lighttpd(server.Server):
    """`snippet` has lines of its configuration; {folder} is replaced in it."""

    name = "lighttpd"

    def configure(self):
        cache = self.folder / "cache"
        cache.mkdir(exist_ok=True)
        self.folder.chmod(0o755)
        cache.chmod(0o777)  # its user is another one than the run's
        types = ", ".join(f'".{suffix}" => "{kind}"' for suffix, kind in server.TYPES.items())
        return LIGHTTPD.format(
            site=self.site, address=self.address, port=self.port, folder=self.folder, types=types,
            user=server.user_line('server.username = "{}"'),
            snippet=self.snippet.format(folder=self.folder))

    def command(self):
        return [tools.find("lighttpd"), "-D", "-f", str(self.configuration)]


class H2o(server.Server):
    name = "h2o"

    def configure(self):
        return H2O.format(site=self.site, address=self.address, port=self.port, folder=self.folder,
                          user=server.user_line("user: {}"), snippet=self.snippet)

    def command(self):
        return [tools.find("h2o"), "-m", "worker", "-c", str(self.configuration)]


class Caddy(server.Server):
    """It takes as many threads as it may use CPUs, that is one."""

    name = "caddy"

    def configure(self):
        return CADDY.format(site=self.site, address=self.address, port=self.port,
                            folder=self.folder, snippet=self.snippet)

    def command(self):
        # What it keeps it keeps below a home; root's is none of the run's.
        return [tools.find("env"), f"HOME={self.folder}", f"PATH={os.environ['PATH']}",
                tools.find("caddy"), "run", "--config", str(self.configuration), "--adapter",
                "caddyfile"]
