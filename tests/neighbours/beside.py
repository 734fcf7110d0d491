"""A server of each kind with a module beside it: as the package of each has it in mods-available.

    trio = Trio(neighbour, origin); trio.start()
    trio.compare()    # {kind: [differences]}
    trio.stop()
"""

import contextlib
import os
import re
import shutil
from pathlib import Path
from typing import NamedTuple

from kit import client, env
from kit.server import Server, StartFailed, _BUILT_IN, _DEFAULT_MODULES

import asked

_CONF = Path(__file__).parents[2] / "conf"
_FOLDERS = [env.DEBIAN / "etc/apache2/mods-available", Path("/etc/apache2/mods-available")]
_BASE = (*_DEFAULT_MODULES, *_BUILT_IN, "so", "http", "core", "log_config", "version", "cgid",
         "filter", "info", "proxy", "proxy_http")
# What Debian enables, and what elastic.load needs.
_ENABLED = ("access_compat", "authn_core", "authz_host", "authz_user", "socache_shmcb")
_OURS = ("elastic", "deflate", "brotli")


class Kind(NamedTuple):
    name: str
    records: tuple
    stock: bool = False

    @property
    def decodes(self):
        return "elastic" in self.records  # it has the directives


STOCK = Kind("stock", ("brotli", "deflate"), True)
KINDS = (Kind("elastic", ("elastic",)), Kind("drop-in", ("brotli", "deflate")))


def _file(name, ending):
    for folder in _FOLDERS:
        with contextlib.suppress(FileNotFoundError):
            return (folder / f"{name}.{ending}").read_text(errors="replace")
    return None


def available():
    """The names of what a2enmod could enable here, and of httpd's modules without a .load."""
    names = {path.name.removesuffix(".load")
             for folder in _FOLDERS for path in folder.glob("*.load")}
    # A package that was removed leaves its .load file.
    names = {name for name in names
             if all(map(os.path.exists, re.findall(r"LoadModule\s+\S+\s+(/\S+)", _load(name))))}
    files = "".join(map(_load, names))
    plain = {path.stem.removeprefix("mod_") for path in Path(env.MODULES_DIR).glob("mod_*.so")
             if path.name not in files}
    return sorted((names | plain) - {"mpm_event", "mpm_worker", "mpm_prefork", *_OURS})


def _load(name):
    text = _file(name, "load")
    return text if text is not None else f"LoadModule {name}_module {env.module_path(name)}\n"


def _needed(names):
    """With what their .load files name as needed."""
    found = []

    def add(name):
        if name in found or name in _BASE and name not in names:
            return
        for line in re.findall(r"(?m)^# *Depends: *(.*)$", _load(name)):
            for other in line.replace(",", " ").split():
                add(other)
        found.append(name)

    for name in names:
        add(name)
        # It includes the files that it needs.
        if name == "authz_svn":
            found.remove(name)
            add("dav_svn")
            found.append(name)
    return [name for name in found if not name.startswith("mpm_")]


def _own(kind, record):
    """(.load, .conf) of ours, or of the stock module."""
    path = env.module_path(record) if kind.stock else env.MODULE
    conf = (_CONF / "elastic.conf").read_text() if record == "elastic" else _file(record, "conf")
    return f"LoadModule {record}_module {path}\n", conf or ""


def configuration(kind, names):
    """All .load files, each behind those that it names, and all .conf files, as Debian has them."""
    needed = _needed(sorted({*names, *_ENABLED}))
    parts = {name: (_load(name), _file(name, "conf") or "") for name in needed}
    parts.update({record: _own(kind, record) for record in kind.records})
    loaded, lines = set(), []
    for name in [*needed, *kind.records]:
        # What a .load file includes is here already.
        text = re.sub(r"(?ms)^\s*<IfModule.*?>|^\s*</IfModule>|^\s*Include .*?$", "",
                      parts[name][0])
        for line in text.splitlines():
            module = re.match(r"\s*LoadModule\s+(\S+?)(?:_module)?\s", line)
            known = module and (module[1] in _BASE or module[1] in loaded)
            if module:
                loaded.add(module[1])
            if line.strip() and not line.startswith("#") and not known:
                lines.append((not module, line))
    lines = [line for _, line in sorted(lines, key=lambda pair: pair[0] and "Netcgi" in pair[1])]
    return "\n".join([*lines, *[_private(parts[name][1]) for name in sorted(parts)]]) + "\n"


def _private(text):
    """Its files are the server's own."""
    for old, new in (("/var/log/apache2", "{root}/log"), ("/var/cache/apache2", "{root}/cache"),
                     ("/var/cache/modsecurity", "{root}/cache"), ("/run/apache2", "{root}/run"),
                     ("${APACHE_RUN_DIR}/socks", "{root}/run"),
                     ("/etc/apache2/magic", "{root}/magic")):
        text = text.replace(old, new)
    # Only the package apache2 has the program, which private keys of the tests do not need.
    return re.sub(r"(?m)^\s*(ScriptSock|SSLPassPhraseDialog) .*$", "", text)


_SITE = """
ProxyPass /proxy http://127.0.0.1:{origin}
ProxyPass /m/proxy http://127.0.0.1:{origin}
ProxyPass /decoded/proxy http://127.0.0.1:{origin}
Alias /m {docs}
Alias /decoded {docs}
<Location /hooks>
    SetHandler server-info
</Location>
"""
_ENVIRON = {"APACHE_RUN_DIR": "{root}/run", "APACHE_LOCK_DIR": "{root}/run",
            "APACHE_LOG_DIR": "{root}/log", "APACHE_RUN_USER": "www-data",
            "APACHE_PID_FILE": "{root}/run/httpd.pid", "PYTHONDONTWRITEBYTECODE": "1"}


class Trio:
    """Three servers that differ in the module that compresses."""

    def __init__(self, neighbour, origin, kinds=KINDS):
        self.neighbour = neighbour
        asked.routes(origin)
        self.asks = (*asked.ASKS, *asked.PLACE, *neighbour.asks)
        self.late = {}
        self.known = set()  # why some differ
        self.servers = {kind: self._make(kind, origin) for kind in (STOCK, *kinds)}

    def _make(self, kind, origin):
        near = self.neighbour
        text = configuration(kind, near.names) + _SITE.replace("{origin}", str(origin.port)) \
            + near.lines.replace("{origin}", str(origin.port)) \
            + f"\n<Location /m>\n{near.at}\n</Location>\n"
        if kind.decodes:
            text += "<Location /decoded>\nElasticInflate On\n</Location>\n"
        server = Server("", modules=[], files={**asked.FILES, **near.files}, tls=near.tls,
                        h2=near.h2, cgi={**asked.CGI, **near.cgi}, elastic=False,
                        environ=_ENVIRON)
        server.modules = ["filter", "info", "proxy", "proxy_http"]
        folders = ["log", "cache", "cache/mod_cache_disk", "cache/mod_auth_cas",
                   "cache/mod_auth_mellon", "private"]
        server.folder(*folders)
        for name, data in near.private.items():
            (server.root / "private" / name).write_text(data.replace("{root}", str(server.root)))
            (server.root / "private" / name).chmod(0o755)
        shutil.copy(next(f for f in (env.DEBIAN / "etc/apache2/magic", Path("/etc/apache2/magic"))
                         if f.exists()), server.root / "magic")
        for path in (server.docs, *server.docs.rglob("*")):
            os.utime(path, (1e9, 1e9))
        server.configure(text)
        return server

    # --- their life

    def start(self):
        """Those that start; the stock one must."""
        self.failed = {}
        for kind, server in self.servers.items():
            try:
                server.start(timeout=20)
            except StartFailed as error:
                if kind.stock:
                    raise
                self.failed[kind] = [f"does not start: {_last(str(error))}"]

    def stop(self):
        for server in self.servers.values():
            with contextlib.suppress(AssertionError):
                server.stop()

    def remove(self):
        for server in self.servers.values():
            server.kill()
            server.remove()

    # --- what they do

    def compare(self):
        """{kind: [difference]} of a whole life."""
        kinds = [kind for kind in self.servers if kind not in self.failed]
        samples = {kind: asked.Sample(self.servers[kind]) for kind in kinds}
        found = {kind: list(self.failed.get(kind, ())) for kind in self.servers if not kind.stock}
        deaths = {kind: [] for kind in kinds}
        hooks = {kind: self._hooks(kind) for kind in kinds}
        for kind in kinds:
            before = set(self.servers[kind].children())
            samples[kind].take(self.asks)
            deaths[kind] += self._dead(kind, before)
            if kind.stock:
                silent = [f"{ask.name}: {answers[0].status}"
                          for ask, answers in samples[kind].answers.items()
                          if isinstance(answers[0].status, str) and "range, gzip" not in ask.name]
                assert not silent, f"the stock modules do not answer: {silent}"
        for kind in kinds:
            if not kind.stock:
                late, seconds, ask = asked.lateness(samples[kind], samples[STOCK])
                self.late[kind] = seconds
                if late:
                    found[kind].append(f"{ask.name}: {seconds * 1000:.0f} ms later than stock")
        again = {kind: asked.Sample(self.servers[kind]) for kind in kinds}
        few = [ask for ask in self.asks if ask.name in asked.AGAIN or ask in self.neighbour.asks]
        for kind in kinds:
            for _ in range(2):
                self._reload(kind, deaths)
                again[kind].take(few, 1)
        self.stop()
        for kind in kinds:
            if kind.stock:
                continue
            found[kind] += asked.differences(samples[kind], samples[STOCK], kind.decodes)
            found[kind] += [f"reloaded, {text}"
                            for text in asked.differences(again[kind], again[STOCK],
                                                                      kind.decodes)]
            found[kind] += self._hooks_differ(hooks[kind], hooks[STOCK])
            found[kind] += [text for text in deaths[kind] if text not in deaths[STOCK]]
            found[kind] += self._said(kind)
        return {kind: self._unknown(texts) for kind, texts in found.items()}

    def _unknown(self, texts):
        """Those that are not meant to be; the others are kept with their reasons."""
        self.known |= {why for text in texts for known, why in self.neighbour.known
                       if re.search(known, text)}
        return sorted({text for text in texts
                       if not any(re.search(known, text) for known, _ in self.neighbour.known)})

    def _dead(self, kind, before):
        server = self.servers[kind]
        if not server.is_running():
            return ["httpd has ended"]
        # Under prefork, idle ones come and go.
        return ["a child has ended"] if env.MPM != "prefork" and before - set(server.children()) \
            else []

    def _reload(self, kind, deaths):
        server = self.servers[kind]
        try:
            server.graceful(timeout=20)
        except (TimeoutError, OSError):
            deaths[kind].append("a graceful reload does not end")
            return
        # mod_cgid's daemon makes its socket as root, and gives it to the children's user later.
        with contextlib.suppress(TimeoutError, OSError):
            server.wait_for(lambda: server.get("/script.cgi").status == 200, 10, "mod_cgid")

    def _hooks(self, kind):
        """{hook: [module, ...]} without those that are compared."""
        try:
            page = self.servers[kind].get("/hooks?hooks").body.decode()
        except (OSError, ValueError, client.Incomplete):
            return {}
        found = {}
        for name, text in re.findall(r"<strong>([^<]*):</strong>\s*<br ?/>(.*?)</dt>", page, re.S):
            found[name] = [module for module in re.findall(r"-?\d+\s+(\S+?\.c\S*)", text)
                           if module not in ("mod_elastic.c", "mod_deflate.c", "mod_brotli.c")]
        return {name: modules for name, modules in found.items() if modules}

    @staticmethod
    def _hooks_differ(mine, stock):
        for name in sorted(set(mine) | set(stock)):
            if mine.get(name) != stock.get(name):
                yield f"the hooks of {name}: {mine.get(name)}, stock {stock.get(name)}"

    def _lines(self, kind):
        """The texts of warnings and worse, and what is no line of httpd's, without numbers."""
        server = self.servers[kind]
        text = (server.stderr.text() + "\n" + server.log.text()).replace(str(server.root), "ROOT")
        found = {}
        for line in text.splitlines():
            match = re.match(r"\[[^\]]*\] \[[\w-]*:(\w+)\] (.*)$", line)
            if match and match[1] in ("info", "notice", "debug") and "exit signal" not in line:
                continue
            line = re.sub(r"^(\[[^\]]*\] )+", "", match[2] if match else line)
            if self.neighbour.noise and re.search(self.neighbour.noise, line) \
                    or "unable to connect to cgi daemon" in line:  # see _reload()
                continue
            line = re.sub(r"0x[0-9a-f]+|\d+|\b[\w@+/-]{20,}\b", "N", line)
            found.setdefault(line, line)
        return found

    def _said(self, kind):
        mine, stock = self._lines(kind), self._lines(STOCK)
        return [f"log: {line[:200]}" for line in mine if line not in stock]


def compared(near, origin, record_property):
    """What differs in the three servers' lives, as text; it is kept for the report."""
    trio = Trio(near, origin)
    try:
        trio.start()
        found = trio.compare()
    finally:
        trio.remove()
    for kind, texts in found.items():
        record_property(kind.name, texts)
        record_property(f"{kind.name} late", trio.late.get(kind, 0.0))
    record_property("known", sorted(trio.known))
    return "\n".join(f"{kind.name}: {text}" for kind, texts in found.items() for text in texts)


def _last(text):
    return text.strip().splitlines()[-1][:200]
