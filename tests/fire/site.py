"""The servers of the campaign: the same places behind mod_deflate and mod_brotli, behind this
module under their names, and behind `Elastic On`; the clients that ask them, and the judge."""

import contextlib
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import brotli

from kit import Origin, Server, bodies, cache, client, env, faults, http2, sanitizer
from kit.config import at
from kit.fpm import Fpm
from kit.process import free_port

from . import cases
from .cases import FILES
from .judge import Judge

KINDS = ("elastic", "drop-in", "stock")
# Beyond so many complaints a server is beyond doubt.
MOST = 30
MTIME = 1_700_000_000  # of all files: tags are the same everywhere

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
           "socache_shmcb")

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
        place("precompressed", *["ElasticPrecompressed On"] * (kind == "elastic")),
        place("parts", filters=["BUFFER", "INCLUDES"])))


class Site:
    """A server of that kind with its php-fpm; `origin` answers below /origin/."""

    def __init__(self, kind, origin, config="", start=True, **options):
        self.kind = kind
        self.server = Server("", modules=MODULES, elastic=kind == "elastic", tls=True, h2=True,
                             cgi={"odd.cgi": ODD, "local.cgi": "head('Location: /page.html')\n"},
                             **options)
        packed = {f"{path}.br": brotli.compress(FILES[path]) for path in ("page.html", "app.js")}
        for path, data in {**FILES, **packed, "ssi.shtml": SSI, "page.php": PHP}.items():
            self.server.write(path, data, mtime=MTIME)
        cache.make_directory(self.server)
        self._fpm = Fpm(self.server.root)
        self._text = _config(kind).replace("{plain}", str(free_port())).replace(
            "{origin}", origin.url).replace("{fpm}", self._fpm.handler)
        self.configure(config)
        plain, secure = ("127.0.0.1", self.server.port), ("127.0.0.1", self.server.tls_port)
        second = client if env.MPM == "prefork" else http2  # which prefork does not have
        self._clients = {"http1": client.Client(plain), "tls": client.Client(secure, True),
                         "http2": second.Client(plain), "tls-http2": second.Client(secure, True)}
        self._judge = Judge(self._identity, () if kind == "elastic" else ("/tagged",))
        self.identities = {}
        self.encoded = 0  # answers
        if start:
            self.server.start()

    def configure(self, more=""):
        self.server.configure(self._text + more)

    def troubles(self):
        found = self.server.log.lines("exit signal|Sanitizer|runtime error|assertion failed")
        return found + sanitizer.reports(self.server.root)

    def unanswered(self):
        """{which connections: requests that these ended with before an answer began}."""
        return sum((one.unanswered for one in self._clients.values()), Counter())

    def __enter__(self):
        return self

    def close(self):
        """Its clients' connections; they open others."""
        for one in self._clients.values():
            one.close()

    def __exit__(self, *_):
        self.close()
        try:
            self.server.stop()
        finally:
            self._fpm.stop()
            self.server.remove()

    def _identity(self, resource):
        """(status, body, fields) of the resource as it is."""
        if resource not in self.identities:
            for _ in range(client.ATTEMPTS):
                [answer] = self._clients["http1"].exchange([client.Request("GET", resource)])
                if answer.complete and answer.status < 500:
                    break
            assert answer.complete and not answer.coding, (resource, answer)
            self.identities[resource] = answer.status, answer.raw, answer.headers
        return self.identities[resource]

    def ask(self, plan, made, number, excuse=None):
        """Asks for one batch; how much it is. excuse(case, answer, wrong) names the figure that
        counts a complaint which is no failure."""
        # Tags differ from server to server, and so do conditions that are made of them.
        protocol, batch = cases.batch(plan.seed, number, self._judge.seen)
        answers = self._clients[protocol].exchange([case.request for case in batch])
        for case, answer in zip(batch, answers, strict=True):
            self.encoded += bool(answer.coding)
            wrong = self._judge.complaint(case, answer)
            figure = excuse and wrong and excuse(case, answer, wrong)
            if figure:
                made.figures[figure] += 1
            elif wrong:
                logged = "".join(f" | {line[:300]}" for line in self.server.log.lines("error")[-3:])
                made.failures.append(
                    f"batch {number}, {self.kind}, {protocol}: {wrong}: {case} -> {answer.status} "
                    f"{answer.coding} {len(answer.raw)} bytes{logged}")
        made.count += 0 if self.kind == "stock" else len(batch)
        return len(batch)


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
