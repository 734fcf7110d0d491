"""Ways to compress: this module, mod_deflate, mod_brotli or none; and an httpd with one of them."""

import dataclasses

from benchkit import rounds, server

ALL_CODINGS = "gzip, deflate, br, zstd"  # as browsers send


@dataclasses.dataclass(frozen=True)
class Setup:
    """Lines of the configuration, stock modules, and the coding that the client requests."""

    snippet: str
    modules: tuple = ()  # besides those of every server; none with this module
    coding: str | None = "gzip"  # expected; None: any

    @property
    def is_ours(self):
        return not self.modules and self.coding != ""

    @property
    def accept(self):
        return ALL_CODINGS if self.coding is None else self.coding or "identity"

    def serve(self, run, folder, snippet="", modules=(), kind=server.Httpd, **options):
        """An httpd with this setup, not yet started; `elastic` is the path of another build."""
        return kind(run, folder.replace(" ", "-"), snippet + self.snippet,
                    modules=(*modules, *self.modules), **{"elastic": self.is_ours, **options})

    def leg(self, labels, httpd, path, body):
        return rounds.Leg(labels, httpd, path, body, self.coding, self.accept)


def ours(coding, level, more=""):
    return Setup(f"Elastic On\nElasticControl off\nElasticCodings {coding}\n"
                 f"ElasticLevel {coding} {level} {level}\n{more}", coding=coding)


def step(most, interval):
    """gzip of level 1 to `most`, with the source's controller; its interval in seconds."""
    return Setup(f"Elastic On\nElasticCodings gzip\nElasticLevel gzip 1 {most}\n"
                 f"ElasticInterval {1000 * interval:.0f}ms\nElasticControl step\n")


def mod_deflate(level):
    return Setup(f"SetOutputFilter DEFLATE\nDeflateCompressionLevel {level}\n",
                 ("filter", "deflate"))


def mod_brotli(level):
    return Setup(f"SetOutputFilter BROTLI_COMPRESS\nBrotliCompressionQuality {level}\n",
                 ("filter", "brotli"), "br")


NOTHING = Setup("", coding="")
CGI = """
ScriptSock {folder}/cgi.sock
<Directory {site}>
    Options ExecCGI
    AddHandler cgi-script .cgi
</Directory>
"""  # needs cgid
ANY_SIZE = "ElasticMinSize 0\n"


def location(path, *settings):
    lines = "".join(f"    {line}\n" for line in ("Elastic On", *settings))
    return f"<Location {path}>\n{lines}</Location>\n"


LEVEL_6 = "ElasticLevel gzip 6 6\n"  # pinned, so that the controller does not affect the figures

KEPT = location("/kept", "ElasticPrecompressed On")  # precompressed files, see web.write_folders()

# Compressed at the first request, and kept in memory; needs the provider, and web.wait_cached().
CACHE = ("socache_shmcb",)
CACHED = location("/cached", "ElasticMinSize 0", "ElasticCache On")
