"""The httpd of this machine: its configuration's folder, its dump of settings, its reload, and a
visitor whom it treats as a stranger."""

import contextlib
import fcntl
import fnmatch
import hashlib
import os
import re
import secrets
import shlex
import shutil
import signal
import subprocess

from dictionarykit import exchange, state
from dictionarykit.exchange import Failed

CONF = "elastic-dictionary"  # the name of the configuration, without .conf
PROGRAMS = ("apache2ctl", "apachectl", "httpd")
FOLDERS = ("/etc/apache2", "/etc/httpd")
SYSTEM_PATH = "/usr/local/sbin:/usr/sbin:/sbin"  # sudo's shell may not search these
TIMEOUT = 60
LOOPBACK = ("127.0.0.1", "::1")
NAMES = ("ServerName", "ServerAlias", "ServerAliasPattern")
EVERYWHERE = ("*", "_default_", "0.0.0.0", "[::]", "::")

VISITOR, FIELD = "elastic.visitor", "Elastic-Visitor"  # src/httpd/request/request.h
FRESH = 300  # seconds after which the file is touched; httpd accepts it for 900


def path_of(program):
    return shutil.which(program) or shutil.which(program, path=SYSTEM_PATH)


class Httpd:
    """`folder` has its configuration, in Debian's layout or with a conf.d."""

    def __init__(self, folder="", command=""):
        self.given = command or ""
        self.command = shlex.split(command) if command else [
            path for path in map(path_of, PROGRAMS) if path][:1]
        if not self.command:
            raise Failed("httpd was not found: name its apachectl with --apachectl")
        state.check_secure(path_of(self.command[0]) or self.command[0])
        folder = folder or os.environ.get("APACHE_CONFDIR") or next(
            filter(os.path.isdir, FOLDERS), FOLDERS[0])
        self.folder = os.path.realpath(folder)
        self.is_debian = os.path.isdir(os.path.join(self.folder, "conf-available"))
        if not self.is_debian and not os.path.isdir(os.path.join(self.folder, "conf.d")):
            raise Failed(f"{self.folder} has neither conf-available nor conf.d: name the folder "
                         "with --confdir")

    def path(self, place):
        return os.path.join(self.folder, place, CONF + ".conf")

    def conf_of(self):
        """The file for the configuration."""
        return self.path("conf-available" if self.is_debian else "conf.d")

    def is_switched(self):
        """True if httpd reads that file: Debian's needs a link to it, and a conf.d is read
        whole."""
        return os.path.exists(self.path("conf-enabled" if self.is_debian else "conf.d"))

    def run(self, *words):
        """Returns the output; raises Failed if it does not succeed."""
        try:
            return subprocess.run(words, env={**os.environ, "APACHE_CONFDIR": self.folder},
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, errors="replace",
                                  timeout=TIMEOUT, check=True).stdout.strip()
        except (OSError, subprocess.SubprocessError) as problem:
            said = getattr(problem, "stdout", None) or problem
            raise Failed(f"{' '.join(words)} fails:\n{said}") from None

    def configtest(self):
        self.run(*self.command, "-t")

    def reload(self):
        """Reloads gracefully. If no httpd runs, this would start one."""
        if not self.is_running():
            raise Failed("httpd does not run")
        self.run(*self.command, "-k", "graceful")

    def switch(self, on):
        """Makes Debian's httpd read the file, or stop reading it."""
        link = self.path("conf-enabled")
        if not self.is_debian:
            return
        if on and not os.path.exists(link):
            self.run(path_of("a2enconf") or "a2enconf", "-q", CONF)
        elif not on and (os.path.lexists(link) or os.path.lexists(self.conf_of())):
            with contextlib.suppress(Failed):
                self.run(path_of("a2disconf") or "a2disconf", "-q", "-f", "-p", CONF)
            state.remove(link)

    def is_running(self):
        said = self.run(*self.command, "-t", "-D", "DUMP_RUN_CFG")
        found = re.search('(?m)^PidFile: "(.*)"', said)
        if not found:
            raise Failed(f"httpd does not say its PidFile:\n{said}")
        try:
            with open(found[1], encoding="ascii") as file:
                os.kill(int(file.read()), 0)
        except PermissionError:
            return True
        except (OSError, ValueError):
            return False
        return True

    def dump(self):
        """[{key: values}]: the settings in force, of the server and of each virtual host."""
        found = [{}]
        for line in self.run(*self.command, "-t", "-D", "DUMP_ELASTIC").splitlines():
            key, _, value = line.partition(":")
            if key == "VirtualHost":
                found.append({})
            found[-1].setdefault(key, []).append(value.strip())
        if "RunDirectory" not in found[0]:
            raise Failed("httpd does not load mod_elastic, or an old one")
        return found

    def user(self):
        """The id of its children's user."""
        return int(self.dump()[0]["User"][0].split()[-2])

    def store(self):
        """The folder of ElasticDictionaryStore; "": none."""
        return self.dump()[0]["ElasticDictionaryStore"][0].partition("\t")[0]

    def run_folder(self):
        return self.dump()[0]["RunDirectory"][0]

    def serves(self, path):
        """True if it serves a file by ElasticDictionaryFile."""
        files = [line.split("\t") for host in self.dump()
                 for line in host.get("ElasticDictionaryFile", ())]
        return any(line[0] == path and line[1] for line in files)

    def addresses(self, url):
        """The addresses of the site visitors' virtual host for requests from this machine. For an
        address with its own virtual hosts, httpd only considers these, whatever their names. Raises
        Failed if several are possible, because one may be for insiders."""
        _, host, port = exchange.origin(url)
        places = {}  # {address, or "" for all others: virtual hosts}
        for one in self.dump():
            for place in set(one.get("VirtualHost", [""])[0].split()):
                name, _, number = place.rpartition(":")
                if number == str(port):
                    where = "" if name in EVERYWHERE else name.strip("[]")
                    places.setdefault(where, []).append(one)
        named = {place: one for place, hosts in places.items() for one in reversed(hosts)
                 if any(fnmatch.fnmatchcase(host, name.lower()) for key in NAMES
                        for names in one.get(key, ()) for name in names.split())}
        named = named or {place: hosts[0] for place, hosts in places.items()}
        if len({tuple(one["DefinedAt"]) for one in named.values()}) > 1:
            raise Failed(f"{host} is several virtual hosts, by addresses "
                         f"({', '.join(place or 'all others' for place in named)}): name that of "
                         f"visitors with --origin, such as --origin https://192.0.2.1:{port}")
        found = [one for place in named for one in ([place] if place else LOOPBACK)
                 if place or one not in places]
        if not found and places:
            raise Failed(f"{host} has no address at which it responds to this machine: name one "
                         f"with --origin, such as --origin https://192.0.2.1:{port}")
        return tuple(found) or LOOPBACK


@contextlib.contextmanager
def stranger(server, reach):
    """A way to reach the site as a visitor from elsewhere, so that access rules, rewrites and
    applications show the strangers' view. The token is valid while this process lives, with the
    file locked."""
    def sha256(text):
        return hashlib.sha256(text.encode()).hexdigest()

    path, token = os.path.join(server.run_folder(), VISITOR), secrets.token_hex(32)
    try:
        state.replace(path, f"elastic-visitor 1\nsha256 {sha256(token)}\n".encode())
        file = open(path, "r+b")
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        raise Failed(f"{path}: {problem.strerror}: another elastic-dictionary may be at "
                     "work") from None
    signal.signal(signal.SIGALRM, lambda *_: os.utime(path))
    signal.setitimer(signal.ITIMER_REAL, FRESH, FRESH)
    try:
        yield reach._replace(fields={**reach.fields, FIELD: token},
                             proof=(FIELD.lower(), sha256("taken " + token)))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        state.remove(path)
        file.close()
