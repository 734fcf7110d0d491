"""The servers of the experiment peers: each way to compress a static page, by name."""

import dataclasses

from benchkit import build, tools
from benchkit.others import Caddy, H2o, Haproxy, Lighttpd, Nginx, Proxy, Varnish
from benchkit.server import Httpd, Prefork
from benchkit.setups import ANY_SIZE, CACHE, NOTHING, Setup, mod_brotli, mod_deflate, ours

BASE, NGINX_BASE = "httpd, uncompressed", "nginx, uncompressed"
ZLIB = "elastic gzip 6, zlib alone"
DROP_IN, IN_PLACE = "mod_deflate, defaults", "elastic in mod_deflate's place"
PREFORK = ", prefork"  # the end of a name
STOCK = "AddOutputFilterByType DEFLATE text/html\n"


@dataclasses.dataclass(frozen=True)
class Row:
    kind: object  # a Setup of an httpd, or a class with the snippet
    snippet: str = ""
    coding: str | None = "gzip"  # expected; None: any
    kept: bool = False  # it stores its encodings


LIGHTTPD = 'deflate.mimetypes = ("text/html")\ndeflate.allowed-encodings = ("zstd", "br", "gzip")\n'
VARNISH = "    set beresp.do_gzip = true;\n"

ROWS = {
    BASE: Row(NOTHING, coding=""),
    "elastic": Row(Setup("Elastic On\n", coding=None), coding=None),
    "elastic, cache": Row(Setup("Elastic On\nElasticCache On\n", coding=None), coding=None,
                          kept=True),
    **{f"elastic gzip {level}": Row(ours("gzip", level, ANY_SIZE)) for level in (1, 6)},
    "elastic br 5": Row(ours("br", 5, ANY_SIZE), coding="br"),
    **{f"mod_deflate {level}": Row(mod_deflate(level)) for level in (1, 6)},
    "mod_brotli 5": Row(mod_brotli(5), coding="br"),
    DROP_IN: Row(Setup(STOCK, ("filter", "deflate"))),
    IN_PLACE: Row(Setup("LoadModule deflate_module {module}\n" + STOCK, ("filter",))),
    ZLIB: Row(ours("gzip", 6, ANY_SIZE)),
    BASE + PREFORK: Row(NOTHING, coding=""),
    f"elastic gzip 6{PREFORK}": Row(ours("gzip", 6, ANY_SIZE)),
    f"mod_deflate 6{PREFORK}": Row(mod_deflate(6)),
    NGINX_BASE: Row(Nginx, coding=""),
    **{f"nginx gzip {level}": Row(
        Nginx, f"gzip on;\ngzip_min_length 0;\ngzip_comp_level {level};\n") for level in (1, 6)},
    "nginx br 5": Row(
        Nginx, "brotli on;\nbrotli_min_length 0;\nbrotli_comp_level 5;\n", coding="br"),
    "nginx zstd 3": Row(
        Nginx, "zstd on;\nzstd_min_length 0;\nzstd_comp_level 3;\n", coding="zstd"),
    "lighttpd": Row(Lighttpd, LIGHTTPD, None),
    "lighttpd, cache": Row(Lighttpd, LIGHTTPD + 'deflate.cache-dir = "{folder}/cache"\n', None,
                           True),
    "h2o": Row(H2o, "compress: ON\n", None),
    "Caddy": Row(Caddy, "    encode zstd gzip\n", None),
    "HAProxy gzip": Row(Haproxy, "    compression algo gzip\n    compression type text/html\n"),
    "Varnish gzip, cache": Row(Varnish, VARNISH, kept=True),
    "Varnish gzip, not kept": Row(Varnish, VARNISH + "    set beresp.uncacheable = true;\n"),
}


def make(run, name, row, site):
    folder = run.new_name("server")
    if isinstance(row.kind, Setup):
        setup = dataclasses.replace(row.kind, snippet=row.kind.snippet.replace(
            "{module}", tools.elastic_module()))
        more = {"elastic": build.zlib_alone(run)} if name == ZLIB else {}
        more |= {"elastic": False} if name == IN_PLACE else {}
        more["kind"] = Prefork if name.endswith(PREFORK) else Httpd
        one = setup.serve(run, folder, modules=CACHE if row.kept else (), site=site, **more)
    elif issubclass(row.kind, Proxy):
        # One for each proxy, because a proxy's open connections are not available to another.
        origin = NOTHING.serve(run, f"{folder}-origin", site=site).start()
        one = row.kind(run, folder, row.snippet, origin, site=site)
    else:
        one = row.kind(run, folder, row.snippet, site=site)
    return one.start()


def make_each(run, rows, site, notes):
    """(name, row, server) of the available ones; `notes` gets sentences about the others."""
    for name, row in rows.items():
        try:
            yield name, row, make(run, name, row, site)
        except tools.BenchError as problem:
            notes.append(f"Not measured: {name}: {problem}.")
