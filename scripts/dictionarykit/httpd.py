"""The httpd of this machine: where its configuration is, what it says of itself, its reload."""

import fnmatch
import os
import re
import shlex
import shutil
import subprocess
import typing

from dictionarykit import failure

PROGRAMS = ("apache2ctl", "apachectl", "httpd")
FOLDERS = ("/etc/apache2", "/etc/httpd")
SYSTEM_PATH = "/usr/local/sbin:/usr/sbin:/sbin"  # where a shell of sudo may not look
TIMEOUT = 60

# Debian has it without being asked, but not in force; elsewhere it is.
HEADERS_MODULE = "/usr/lib/apache2/modules/mod_headers.so"
MODULES = ("elastic_module", "alias_module")

# What lets some addresses see more than others.
ADDRESS_RULE = re.compile(r"(?i)\s*(require\s+(local|ip|host|forward-dns)\b.*|allow\s+from\s.*)")
LOCATION = re.compile(r'(?i)\s*<location\s+"?(/[^">]*)"?\s*>')


def path_of(program):
    return shutil.which(program) or shutil.which(program, path=SYSTEM_PATH)


class Rule(typing.NamedTuple):
    where: str
    text: str
    location: str  # below which it holds; "" where that is not known


class Httpd:
    """`folder` has its configuration, in Debian's layout or with a conf.d."""

    def __init__(self, folder=None, command=None):
        self.command = shlex.split(command) if command else [
            path for path in map(path_of, PROGRAMS) if path][:1]
        if not self.command:
            raise failure.Failed("httpd was not found: name its apachectl with --apachectl")
        folder = folder or os.environ.get("APACHE_CONFDIR") or next(
            filter(os.path.isdir, FOLDERS), FOLDERS[0])
        self.folder = os.path.realpath(folder)
        self.environ = {**os.environ, "APACHE_CONFDIR": self.folder}
        self.is_debian = os.path.isdir(os.path.join(self.folder, "conf-available"))
        if not self.is_debian and not os.path.isdir(os.path.join(self.folder, "conf.d")):
            raise failure.Failed(f"{self.folder} has neither conf-available nor conf.d: name the "
                                 "folder with --confdir, or use --print")

    def conf_of(self, name):
        """The file for a piece of configuration."""
        place = "conf-available" if self.is_debian else "conf.d"
        return os.path.join(self.folder, place, f"{name}.conf")

    def run(self, *words):
        """(whether it went well, what was said)."""
        try:
            done = subprocess.run(words, env=self.environ, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  errors="replace", timeout=TIMEOUT, check=False)
        except (OSError, subprocess.TimeoutExpired) as problem:
            return False, str(problem)
        return done.returncode == 0, done.stdout.strip()

    def ask(self, *words):
        good, said = self.run(*self.command, *words)
        if not good:
            raise failure.Failed(f"{' '.join([*self.command, *words])} fails:\n{said}")
        return said

    def configtest(self):
        self.ask("-t")

    def reload(self):
        """Gracefully. Where none runs, this would start one."""
        if not self.is_running():
            raise failure.Failed("httpd does not run")
        self.ask("-k", "graceful")

    def switch(self, name, on):
        """Whether Debian's httpd reads the file; a conf.d is read as a whole."""
        if self.is_debian:
            program = path_of("a2enconf" if on else "a2disconf")
            good, said = self.run(program or "a2enconf", "-q", *([] if on else ["-f", "-p"]), name)
            if not good:
                raise failure.Failed(f"{program or 'a2enconf'} {name} fails:\n{said}")

    def fact(self, pattern):
        """Of what `-D DUMP_RUN_CFG` says, the group of the pattern."""
        said = self.ask("-t", "-D", "DUMP_RUN_CFG")
        found = re.search("(?m)^" + pattern, said)
        if not found:
            raise failure.Failed(f"httpd does not say its {pattern.partition(':')[0]}:\n{said}")
        return found[1]

    def user(self):
        """The id of the user whom its children run as."""
        return int(self.fact(r"User: .*\bid=(\d+)"))

    def is_running(self):
        try:
            with open(self.fact('PidFile: "(.*)"'), encoding="ascii") as file:
                os.kill(int(file.read()), 0)
        except PermissionError:
            return True
        except (OSError, ValueError):
            return False
        return True

    def modules(self):
        return set(re.findall(r"\b(\w+_module)\b", self.ask("-M")))

    def files(self):
        """Those of the configuration that are in force."""
        said = self.ask("-t", "-D", "DUMP_INCLUDES")
        return re.findall(r"(?m)^\s*\([*\d]+\)\s+(/.*)$", said)

    def lines(self):
        """(file:line, text) of all of them."""
        for name in self.files():
            with open(name, encoding="utf-8", errors="replace") as file:
                for number, text in enumerate(file, 1):
                    yield f"{name}:{number}", text

    def address_rules(self, host):
        """Rules of the site by which somebody on this machine may see more than a visitor."""
        found, location = [], ""
        begin, names = 0, []  # of the virtual host
        for where, text in self.lines():
            word, *rest = text.lower().split() or [""]
            if word.startswith("<virtualhost"):
                begin, names = len(found), []
            elif word in ("servername", "serveralias"):
                names += [re.sub(r"^https?://|:\d+$", "", name) for name in rest]
            elif word == "</virtualhost>":
                if names and not any(fnmatch.fnmatch(host.lower(), name) for name in names):
                    del found[begin:]
            begins = LOCATION.match(text)
            if begins:
                location = begins[1]
            elif re.match(r"(?i)\s*</location>", text):
                location = ""
            rule = ADDRESS_RULE.match(text)
            if rule and rule[1].strip().lower() != "allow from all":
                found.append(Rule(where, rule[1].strip(), location))
        return found

    def value_of(self, directive, but=""):
        """(file:line, argument) of a directive outside of the file `but`; None: there is none."""
        for where, text in self.lines():
            found = re.match(rf'(?i)\s*{directive}\s+"?([^"\s]+)"?', text)
            if found and where.rpartition(":")[0] != but:
                return where, found[1]
        return None
