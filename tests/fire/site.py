"""The servers of the campaign: the same places behind mod_deflate and mod_brotli, behind this
module under their names, and behind `Elastic On`."""

import contextlib
import shutil
import tempfile
from pathlib import Path

import brotli

from kit import Origin, Server, bodies, env, faults
from kit.config import at
from kit.fpm import Fpm
from kit.process import free_port

KINDS = ("elastic", "drop-in", "stock")
MTIME = 1_700_000_000  # of all files: tags are the same everywhere

# {path: bytes} of the files at every place that serves them.
FILES = {
    **{f"t{size}.txt": bodies.text(size) for size in (
        0, 1, 60, 69, 300, 1300, 1500, 4096, 8000, 8001, 20000, 65536, 131072, 300000)},
    "page.html": bodies.html(30000), "style.css": bodies.text(9000), "app.js": bodies.text(50000),
    "data.json": b"[" + b",".join(b'{"id":%d}' % i for i in range(3000)) + b"]",
    "noise.txt": bodies.noise(20000), "zeros.txt": bytes(1 << 20),
    "picture.png": bodies.noise(5000), "large.txt": bodies.text(3 << 20),
    "archive.bin": bodies.noise(3000),
}
DAV_FILES = 8

SSI = b"<!--#set var='x' value='1' --><p><!--#include virtual='/page.html' --></p>" \
      b"<!--#if expr='v(\"x\") = \"1\"' -->yes<!--#else -->no<!--#endif -->" \
      b"<!--#include virtual='/t1300.txt' --><!--#echo var='DOCUMENT_NAME' -->"

# Writes a body in odd pieces.
ODD = """
size, seed, cut, length, status = map(int, os.environ['QUERY_STRING'].split(','))
body = (f'written by script {seed} ' * (size // 20 + 1)).encode()[:size]
head('Content-Type: text/html', f'Status: {status}', f'ETag: "s{seed}-{size}"',
     *[f'Content-Length: {size}'] * length)
at = 0
while at < size:
    piece = (1, 7, 100, 1448, 4096, 8000, 8192, 30000)[cut % 8]
    out(body[at:at + piece])
    at, cut = at + piece, cut * 5 + 3
    if cut % 7 == 0:
        time.sleep(0.0003)
"""

PHP = """<?php
header('Content-Type: text/html');
list($left, $seed, $flush, $tag) = explode(',', $_SERVER['QUERY_STRING']);
if ($tag) { header('ETag: "php"'); }
for ($piece = str_repeat("php writes $seed ", 40); $left > 0; $left -= strlen($piece)) {
    echo substr($piece, 0, $left);
    if ($flush && $left % 3 == 0) { flush(); }
}
"""

MODULES = ("filter", "include", "substitute", "ratelimit", "buffer", "reflector",
           "proxy", "proxy_http", "proxy_fcgi", "cache", "cache_disk", "cache_socache",
           "socache_shmcb", "dav", "dav_fs")

_CONFIG = """
FileETag MTime Size
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
CacheRoot {root}/cache
CacheDirLevels 1
CacheDirLength 1
CacheSocache shmcb
CacheEnable disk /disk
CacheEnable socache /shm
DavLockDB {root}/dav-locks/db
DirectoryIndex page.html
<Location /moved>
    FallbackResource /app.js
</Location>
ErrorDocument 404 /page.html
ErrorDocument 403 /odd.cgi?5000,4,0,0,200
<Directory {docs}>
    Options +Includes
</Directory>
<Location /forbidden>
    Require all denied
</Location>
ProxyPass /proxy/ http://127.0.0.1:{plain}/
ProxyPass /through/ http://127.0.0.1:{port}/
ProxyPass /origin/ {origin}/
<FilesMatch "\\.php$">
    SetHandler "{fpm}"
</FilesMatch>
Alias /dav {root}/dav
<Location /dav>
    Dav On
    {lines}
</Location>
<Location /echo>
    SetHandler reflector
    ReflectorHeader Content-Type
    {decoding}
    {lines}
</Location>
# Where nothing is compressed, for the proxy to stand in front of.
Listen 127.0.0.1:{plain}
<VirtualHost 127.0.0.1:{plain}>
    {off}
</VirtualHost>
"""


def _lines(kind, *filters):
    names = filters if kind == "elastic" else (*filters, "BROTLI_COMPRESS", "DEFLATE")
    return f"SetOutputFilter {';'.join(names)}" if names else ""


def _config(kind):
    """The places, and what is in force outside of them."""
    if kind == "elastic":
        load = "Elastic On\nElasticInterval 100ms\nElasticControl mix\n"
    else:
        module = env.module_path if kind == "stock" else lambda record: env.MODULE
        load = "".join(f"LoadModule {record}_module {module(record)}\n"
                       for record in ("deflate", "brotli"))
        load += "AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/html text/plain text/css " \
                "application/javascript application/json\n"

    def place(name, *lines, filters=()):
        return at(name, _lines(kind, *filters), *lines)

    return load + _CONFIG.replace("{lines}", _lines(kind)).replace(
        "{decoding}", "ElasticInflate On" if kind == "elastic" else "SetInputFilter DEFLATE"
    ).replace("{off}", "Elastic Off" if kind == "elastic" else "SetEnv no-gzip\nSetEnv no-brotli"
              ) + "".join((
        place("named"), place("disk"), place("shm"),
        place("subst", "Substitute s/server/SERVERS/n", "Substitute s/[aeiou]+x/-/",
              filters=["SUBSTITUTE"]),
        place("rate", "SetEnv rate-limit 60000", filters=["RATE_LIMIT"]),
        place("buffer", "BufferSize 30000", filters=["BUFFER"]),
        place("fixed", "Header set Cache-Control no-transform"),
        place("tagged", 'Header set ETag "\\"fixed\\""', "Header append Vary Cookie"),
        place("untagged", "Header unset ETag", "FileETag None"),
        place("siblings", *["ElasticPrecompressed On"] * (kind == "elastic")),
        place("parts", filters=["BUFFER", "INCLUDES"])))


class Site:
    """A server of that kind with its php-fpm; `origin` answers below /origin/."""

    def __init__(self, kind, origin, config="", start=True, **options):
        self.kind = kind
        self.server = Server("", modules=MODULES, elastic=kind == "elastic", tls=True, h2=True,
                             cgi={"odd.cgi": ODD, "local.cgi": "head('Location: /page.html')\n"},
                             **options)
        self._prepare()
        self.fpm = Fpm(self.server.root)
        self._text = _config(kind).replace("{plain}", str(free_port())).replace(
            "{origin}", origin.url).replace("{fpm}", self.fpm.handler)
        self.configure(config)
        if start:
            self.server.start()

    def configure(self, more=""):
        """The configuration, with `more` at its end."""
        self.server.configure(self._text + more)

    def _prepare(self):
        server = self.server
        packed = {f"{path}.br": brotli.compress(FILES[path]) for path in ("page.html", "app.js")}
        for path, data in {**FILES, **packed, "ssi.shtml": SSI, "page.php": PHP}.items():
            server.write(path, data, mtime=MTIME)
        for name in ("cache", "dav", "dav-locks"):
            (server.root / name).mkdir()
            (server.root / name).chmod(0o777)
        for number in range(DAV_FILES):
            path = server.root / "dav" / f"{number}.txt"
            path.write_bytes(dav_body(number))
            if env.IS_ROOT:
                user = env.child_user()
                shutil.chown(path, user.pw_uid, user.pw_gid)

    def troubles(self):
        """Crashes, and what sanitizers report."""
        found = self.server.log.lines("exit signal|AddressSanitizer|runtime error|assertion failed")
        return found + [report.read_text(errors="replace")
                        for report in (self.server.root / "sanitizer").iterdir()]

    def close(self):
        try:
            self.server.stop()
        finally:
            self.fpm.stop()
            self.server.remove()


def dav_body(number):
    return bodies.text(3000 * number + 50)


@contextlib.contextmanager
def make_origin():
    """Bodies that end with the connection, in chunks, of one byte each, or after the header."""
    origin = Origin()
    text = bodies.text(20000)
    origin.route("/close", lambda exchange: exchange.until_close(200, {}, [text[:9], text[9:]]))
    origin.route("/chunks", lambda exchange: exchange.chunked(200, {}, list(bodies.pieces(text))))
    origin.route("/bytes", lambda exchange: exchange.chunked(
        200, {"ETag": '"bytes"'}, [text[i:i + 1] for i in range(300)]))
    origin.route("/pause", lambda exchange: exchange.chunked(200, {}, [text, 0.01, text]))
    origin.route("/typeless", lambda exchange: exchange.send(
        b"HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n"
        + (b"" if exchange.method == "HEAD" else text)))
    try:
        yield origin
    finally:
        origin.stop()


@contextlib.contextmanager
def failing(*names):
    """(what tells the libraries of those names which calls fail, a Server's options with them)."""
    folder = Path(tempfile.mkdtemp(prefix="elastic-fire-"))
    try:
        memory = faults.Memory(folder)
        memory.path.chmod(0o666)
        libraries = [faults.library(folder, name) for name in names]
        yield memory, {"wrapper": faults.wrapper(*libraries),
                       "environ": {"FAULT_MEMORY": str(memory.path)}} if names else {}
    finally:
        shutil.rmtree(folder)
