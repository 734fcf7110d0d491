"""Programs and httpd modules that the experiments need, each with the package that brings it."""

import contextlib
import functools
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]

# program -> (Debian package, Fedora package)
PACKAGES = {
    "wrk": ("wrk", "wrk"),
    "h2load": ("nghttp2-client", "nghttp2"),
    "taskset": ("util-linux", "util-linux"),
    "unshare": ("util-linux", "util-linux"),
    "ip": ("iproute2", "iproute"),
    "tc": ("iproute2", "iproute-tc"),
    "nsenter": ("util-linux", "util-linux"),
    "ethtool": ("ethtool", "ethtool"),
    "nginx": ("nginx-light", "nginx-core"),
    "php-fpm": ("php-fpm", "php-fpm"),
    "chromium": ("chromium-headless-shell", "chromium-headless"),
    "apache2": ("apache2-bin", "httpd-core"),
    "brotli module": ("python3-brotli", "python3-brotli"),
}

# Where administrators' programs live; an ordinary user's PATH may lack it.
EXTRA_PATH = "/usr/sbin:/sbin"


class BenchError(Exception):
    """The run cannot go on; the text tells the user why and what to do."""


def missing(name):
    """The error to raise for a program of PACKAGES that is not there."""
    debian, fedora = PACKAGES[name]
    return BenchError(f"{name} is missing: install {debian} (Debian) or {fedora} (Fedora)")


@functools.lru_cache(maxsize=None)
def find(name):
    """The path of a program of PACKAGES."""
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":" + EXTRA_PATH)
    if path is None:
        raise missing(name)
    return path


@functools.lru_cache(maxsize=None)
def find_first(package, *names):
    """The path of the first of several names that a program goes by; they may hold wildcards."""
    for name in names:
        for folder in (os.environ.get("PATH", "") + ":" + EXTRA_PATH).split(":"):
            found = []
            with contextlib.suppress(OSError):  # a folder of PATH that may not be read
                found = sorted(pathlib.Path(folder or ".").glob(name))
            if found:
                return str(found[-1])
    raise missing(package)


@functools.lru_cache(maxsize=None)
def httpd():
    """httpd's binary: ELASTIC_HTTPD, or Debian's or Fedora's name for it."""
    given = os.environ.get("ELASTIC_HTTPD")
    if given:
        return given
    for name in ("apache2", "httpd"):
        path = shutil.which(name, path=os.environ.get("PATH", "") + ":" + EXTRA_PATH)
        if path:
            return path
    raise missing("apache2")


@functools.lru_cache(maxsize=None)
def httpd_builtins():
    """The names of the modules compiled into httpd, such as mod_so."""
    listing = output_of(httpd(), "-l")
    return frozenset(line.strip()[:-2] for line in listing.splitlines()
                     if line.strip().endswith(".c"))


def httpd_module(name):
    """The path of httpd's mod_NAME.so, or None where it is compiled in."""
    if "mod_" + name in httpd_builtins():
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


def elastic_module(build="plain", variable="ELASTIC_MODULE"):
    """The module under test: the variable's, or the newest one in the folder of the build."""
    given = os.environ.get(variable)
    if given:
        if not os.path.exists(given):
            raise BenchError(f"{variable}={given}: there is no such file")
        return given
    built = sorted((ROOT / "build" / build).rglob("mod_elastic.so"),
                   key=lambda path: path.stat().st_mtime)
    if not built:
        raise BenchError("mod_elastic.so is not built: run scripts/run or scripts/check first, "
                         f"or set {variable} to its path")
    return str(built[-1])


def output_of(*command, timeout=30):
    """What a program prints; BenchError with its last words where it fails."""
    result = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    if result.returncode != 0:
        words = (result.stderr.strip() or result.stdout.strip()).splitlines()
        raise BenchError(f"{' '.join(command)} failed: {words[-1] if words else 'no message'}")
    return result.stdout


def errors_of(*command, timeout=30):
    """What a program prints on its error output, whatever becomes of it."""
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout,
                          check=False).stderr
