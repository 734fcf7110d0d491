"""The servers of the campaign: the same places behind mod_deflate and mod_brotli, behind this
module under their names, and behind `Elastic On`."""

import shutil
import subprocess
from pathlib import Path

import brotli

from kit import Origin, Server, bodies, env
from kit.config import at
from kit.fpm import Fpm
from kit.process import free_port

HERE = Path(__file__).parent
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

# What takes a thousandth of the time that a request usually takes, or more than ten times that.
SSI = b"<!--#set var='x' value='1' --><p><!--#include virtual='/page.html' --></p>" \
      b"<!--#if expr='v(\"x\") = \"1\"' -->yes<!--#else -->no<!--#endif -->" \
      b"<!--#include virtual='/t1300.txt' --><!--#echo var='DOCUMENT_NAME' -->"

LUA = """
function handle(r)
    local query = r:parseargs()
    local size, cut = tonumber(query.size or 1000), tonumber(query.cut or 1)
    local body = string.rep("a handler that writes " .. (query.seed or 1) .. " in pieces\\n",
                            math.floor(size / 30) + 1):sub(1, size)
    local at, sizes = 1, {1, 13, 500, 1448, 8000, 8192, 16384}
    r.content_type = "text/plain"
    while at <= size do
        cut = (cut * 1103515245 + 12345) % 2147483648
        local piece = sizes[math.floor(cut / 65536) % 7 + 1]
        r:write(body:sub(at, at + piece - 1))
        at = at + piece
        if math.floor(cut / 256) % 5 == 0 then r:flush() end
    end
    return apache2.OK
end
"""

PHP = """<?php
header('Content-Type: text/html');
if (isset($_GET['etag'])) { header('ETag: "php"'); }
$piece = str_repeat('php writes ' . $_GET['seed'] . ' ', 40);
for ($left = (int)$_GET['size']; $left > 0; $left -= strlen($piece)) {
    echo substr($piece, 0, $left);
    if ($_GET['flush'] && $left % 3 == 0) { flush(); }
}
"""

READ = """
import hashlib
body = b''
while data := os.read(0, 65536):
    body += data
head('Content-Type: text/plain')
out('%d %s ' % (len(body), hashlib.md5(body).hexdigest()) + 'x' * 2000)
"""

MODULES = ("filter", "include", "substitute", "ext_filter", "ratelimit", "buffer", "reflector",
           "proxy", "proxy_http", "proxy_fcgi", "cache", "cache_disk", "cache_socache",
           "socache_shmcb", "dav", "dav_fs", "lua", "status")

DAV_FILES = 8

_TYPES = "text/html text/plain text/css application/javascript application/json"

_CONFIG = """
FileETag MTime Size
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
ExtFilterDefine upper mode=output cmd="/usr/bin/tr a-z A-Z"
CacheRoot {root}/cache
CacheDirLevels 1
CacheDirLength 1
CacheSocache shmcb
CacheEnable disk /disk
CacheEnable socache /shm
DavLockDB {root}/dav-locks/db
LuaScope thread
LuaMapHandler ^/lua$ {root}/odd.lua handle
DirectoryIndex page.html
<Location /moved>
    FallbackResource /app.js
</Location>
ErrorDocument 404 /page.html
ErrorDocument 403 /odd.cgi?size=5000&seed=4
ExtendedStatus On
<Directory {docs}>
    Options +Includes
</Directory>
<Location /server-status>
    SetHandler server-status
</Location>
<Location /forbidden>
    Require all denied
</Location>
ProxyPass /proxy/ http://127.0.0.1:{plain}/
ProxyPass /through/ http://127.0.0.1:{port}/
ProxyPass /origin/ {origin}/
"""

# A site of its own, where nothing is compressed, for the proxy to stand in front of.
_PLAIN = """
Listen 127.0.0.1:{plain}
<VirtualHost 127.0.0.1:{plain}>
%s
</VirtualHost>
"""


class Kind:
    """How the filters get into the chain."""

    def __init__(self, name, module, elastic):
        self.name = name
        self.elastic = elastic
        self.load = "" if elastic else "".join(
            f"LoadModule {record}_module {module(record)}\n" for record in ("deflate", "brotli"))

    def lines(self, *filters):
        if self.elastic:
            return f"SetOutputFilter {';'.join(filters)}" if filters else ""
        return f"SetOutputFilter {';'.join((*filters, 'BROTLI_COMPRESS', 'DEFLATE'))}"

    def decoding(self):
        return "ElasticInflate On" if self.elastic else "SetInputFilter DEFLATE"

    def config(self):
        """The places, and what is in force outside of them."""
        return self.load + _CONFIG + "".join((
            "Elastic On\nElasticInterval 100ms\nElasticControl mix\n" if self.elastic else
            f"AddOutputFilterByType BROTLI_COMPRESS;DEFLATE {_TYPES}\n",
            at("named", self.lines()),
            at("subst", self.lines("SUBSTITUTE"), "Substitute s/server/SERVERS/n",
               "Substitute s/[aeiou]+x/-/"),
            at("ext", self.lines("upper")),
            at("rate", self.lines("RATE_LIMIT"), "SetEnv rate-limit 60000"),
            at("buffer", self.lines("BUFFER"), "BufferSize 30000"),
            at("fixed", self.lines(), "Header set Cache-Control no-transform"),
            at("tagged", self.lines(), 'Header set ETag "\\"fixed\\""',
               "Header append Vary Cookie"),
            at("untagged", self.lines(), "Header unset ETag", "FileETag None"),
            at("siblings", self.lines(), "ElasticPrecompressed On" if self.elastic else ""),
            at("disk", self.lines()), at("shm", self.lines()),
            at("parts", self.lines("BUFFER", "INCLUDES")),
            "<Location /echo>\nSetHandler reflector\nReflectorHeader Content-Type\n"
            f"{self.decoding()}\n{self.lines()}\n</Location>\n",
            f"<Location /read.cgi>\n{self.decoding()}\n</Location>\n",
            "Alias /dav {root}/dav\n<Location /dav>\nDav On\n" + self.lines() + "\n</Location>\n",
            _PLAIN % ("Elastic Off" if self.elastic else "SetEnv no-gzip\nSetEnv no-brotli"),
        ))


def kinds():
    return [Kind("elastic", None, True), Kind("drop-in", lambda record: env.MODULE, False),
            Kind("stock", env.module_path, False)]


_MPM = {
    "threads": "StartServers 2\nServerLimit 6\nThreadsPerChild 25\nMaxRequestWorkers 150\n"
               "MinSpareThreads 25\nMaxSpareThreads 150\n",
    "prefork": "StartServers 8\nMinSpareServers 4\nMaxSpareServers 32\nMaxRequestWorkers 120\n",
}


def _compile(folder):
    program = folder / "odd.cgi"
    subprocess.run(["cc", "-O1", "-w", "-o", str(program), str(HERE / "odd.c")], check=True)
    program.chmod(0o755)


class Site:
    """A server of that kind with its php-fpm; `origin` answers below /origin/."""

    def __init__(self, kind, origin, config="", start=True, **options):
        self.name = kind.name
        self.kind = kind
        prefork = env.MPM == "prefork"
        options.setdefault("mpm_config", _MPM["prefork" if prefork else "threads"])
        self.server = Server("", modules=MODULES, elastic=kind.elastic, tls=True, h2=True,
                             cgi={"read.cgi": READ}, **options)
        self.plain_port = free_port()
        self.origin = origin
        self._prepare()
        self.fpm = Fpm(self.server.root)
        self.configure(config)
        if start:
            self.server.start()

    def text(self, more=""):
        """The configuration, with `more` at its end."""
        php = f'<FilesMatch "\\.php$">\nSetHandler "{self.fpm.handler}"\n</FilesMatch>\n'
        return (self.kind.config() + php + more).replace("{plain}", str(self.plain_port)).replace(
            "{origin}", self.origin.url)

    def configure(self, more=""):
        self.server.configure(self.text(more))

    def _prepare(self):
        server = self.server
        for path, data in FILES.items():
            server.write(path, data, mtime=MTIME)
        for path in ("page.html", "app.js"):
            server.write(f"{path}.br", brotli.compress(FILES[path], quality=9), mtime=MTIME)
        server.write("ssi.shtml", SSI, mtime=MTIME)
        server.write("page.php", PHP, mtime=MTIME)
        _compile(server.docs)
        (server.root / "odd.lua").write_text(LUA)
        (server.root / "odd.lua").chmod(0o644)
        for name in ("cache", "dav", "dav/still", "dav-locks"):
            folder = server.root / name
            folder.mkdir()
            folder.chmod(0o777)
        for number in range(DAV_FILES):
            self._dav_file(f"{number}.txt", dav_body(number))
        self._dav_file("still/a.txt", dav_body(1))

    def _dav_file(self, name, data):
        path = self.server.root / "dav" / name
        path.write_bytes(data)
        if env.IS_ROOT:
            user = env.child_user()
            shutil.chown(path, user.pw_uid, user.pw_gid)

    def address(self, tls=False):
        return ("127.0.0.1", self.server.tls_port if tls else self.server.port)

    def troubles(self):
        """Crashes, and what sanitizers report."""
        found = self.server.log.lines("exit signal|AddressSanitizer|runtime error|assertion failed")
        for report in sorted((self.server.root / "sanitizer").iterdir()):
            found.append(report.read_text(errors="replace"))
        return [str(line) for line in found]

    def close(self):
        try:
            self.server.stop()
        finally:
            self.fpm.stop()
            self.server.remove()


def dav_body(number):
    return bodies.text(3000 * number + 50)


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
    return origin
