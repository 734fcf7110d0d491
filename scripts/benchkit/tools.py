"""Programs and httpd modules that the experiments need, each with the package that has it."""

import functools
import glob
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]

# program -> (Debian package, Fedora package)
PACKAGES = {
    "h2load": ("nghttp2-client", "nghttp2"), "taskset": ("util-linux", "util-linux"),
    "unshare": ("util-linux", "util-linux"), "nsenter": ("util-linux", "util-linux"),
    "ip": ("iproute2", "iproute"), "tc": ("iproute2", "iproute-tc"),
    "ethtool": ("ethtool", "ethtool"), "nginx": ("nginx-light", "nginx-core"),
    "lighttpd": ("lighttpd", "lighttpd"), "h2o": ("h2o", "h2o"), "caddy": ("caddy", "caddy"),
    "haproxy": ("haproxy", "haproxy"), "varnishd": ("varnish", "varnish"),
    "redis-server": ("redis-server", "redis"),
    "openssl": ("openssl", "openssl"), "valgrind": ("valgrind", "valgrind"),
    "php-fpm": ("php-fpm", "php-fpm"), "npm": ("npm", "nodejs-npm"),
    "apache2": ("apache2-bin", "httpd-core")}

# Programs with several names; the last match of the first pattern that matches is used.
PATTERNS = {"php-fpm": ("php-fpm", "php-fpm[78].[0-9]"), "apache2": ("apache2", "httpd")}
# Folders of administrators' programs, which an ordinary user's PATH may lack.
EXTRA_PATH = "/usr/sbin:/sbin"

# Python packages for figures, plots and the report; --help and the like need none.
LIBRARIES = ("matplotlib", "scipy", "jinja2")


def say(text):
    print(text, file=sys.stderr, flush=True)


class BenchError(Exception):
    """The run cannot continue; the text tells the user why, and what to do."""


def need_libraries():
    """Raises BenchError if one of LIBRARIES is missing."""
    lacking = [f"python3-{name}" for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if lacking:
        raise BenchError(f"install {', '.join(lacking)} (Debian and Fedora), or give --install")


@functools.lru_cache(maxsize=None)
def find(name):
    debian, fedora = PACKAGES[name]
    folders = (os.environ.get("PATH", "") + ":" + EXTRA_PATH).split(":")
    for pattern in PATTERNS.get(name, (name,)):
        for folder in folders:
            found = sorted(filter(shutil.which, glob.glob(os.path.join(folder or ".", pattern))))
            if found:
                return found[-1]
    raise BenchError(f"{name} is missing: install {debian} (Debian) or {fedora} (Fedora)")


def httpd():
    """httpd's binary: ELASTIC_HTTPD, or Debian's or Fedora's name for it."""
    return os.environ.get("ELASTIC_HTTPD") or find("apache2")


@functools.lru_cache(maxsize=None)
def httpd_listing(program):
    return output_of(program, "-l")


def httpd_module(name):
    """The path of httpd's mod_NAME.so, or None if it is compiled in."""
    if re.search(rf"^ *mod_{name}\.c$|^ *{name}\.c$", httpd_listing(httpd()), re.MULTILINE):
        return None
    given = os.environ.get("ELASTIC_MODULES_DIR")
    folders = [given] if given else ["/usr/lib/apache2/modules", "/usr/lib64/httpd/modules",
                                     "/usr/lib/httpd/modules"]
    for folder in folders:
        path = os.path.join(folder, f"mod_{name}.so")
        if os.path.exists(path):
            return path
    raise BenchError(f"httpd's mod_{name}.so is missing from {', '.join(folders)}: "
                     "install apache2-bin (Debian) or httpd-core (Fedora), "
                     "or set ELASTIC_MODULES_DIR")


def nginx_module(coding):
    """The path of nginx's filter of a coding."""
    found = glob.glob(f"/usr/lib*/nginx/modules/ngx_http_{coding}_filter_module.so")
    if not found:
        raise BenchError(f"nginx's filter of {coding} is missing: install "
                         f"libnginx-mod-http-{coding}-filter (Debian), if the release has it")
    return found[0]


def elastic_module(build="plain", variable="ELASTIC_MODULE"):
    """The module under test: the variable's, or the newest in the folder of the build."""
    given = os.environ.get(variable)
    if given:
        if not os.path.exists(given):
            raise BenchError(f"{variable}={given}: there is no such file")
        return given
    built = (ROOT / "build" / build).rglob("mod_elastic.so")
    newest = max(built, key=lambda path: path.stat().st_mtime, default=None)
    if newest is None:
        raise BenchError("mod_elastic.so is not built: run scripts/run or scripts/check first, "
                         f"or set {variable} to its path")
    return str(newest)


def elasticd():
    """The elasticd of the module's build, or the variable's."""
    given = os.environ.get("ELASTIC_ELASTICD")
    if given:
        return given
    built = pathlib.Path(elastic_module()).parents[1] / "elasticd"
    if not built.exists():
        raise BenchError(f"elasticd is not built beside {elastic_module()}: set ELASTIC_ELASTICD")
    return str(built)


def last_line(text, otherwise="no message"):
    """The last line that a program printed, which gives its fault."""
    lines = text.strip().splitlines()
    return lines[-1] if lines else otherwise


def output_of(*command, timeout=30):
    result = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    if result.returncode != 0:
        raise BenchError(f"{' '.join(command)} failed: "
                         f"{last_line(result.stderr.strip() or result.stdout)}")
    return result.stdout


def wait_for(condition, patience, pause=0.05):
    deadline = time.monotonic() + patience
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(pause)
    return True
