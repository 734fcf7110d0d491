"""The machine, the commit and the versions of the measured programs."""

import contextlib
import ctypes
import errno
import hashlib
import os
import pathlib
import platform
import re
import socket
import subprocess

from benchkit import server, tools

# {name: (program, its option)} unless they are NAME -v
VERSIONS = {"h2load": ("h2load", "--version"), "caddy": ("caddy", "version"),
            "varnish": ("varnishd", "-V")}
# Libraries that each program has.
COMMON = ("libc.so", "libm.so", "ld-linux", "linux-vdso", "libgcc_s")


@contextlib.contextmanager
def held_alone():
    """Of this user's runs only one at a time measures: each would measure the other. The name of a
    socket is free again as soon as its process ends, and is no file."""
    with socket.socket(socket.AF_UNIX) as name:
        try:
            name.bind(f"\0elastic-bench-{os.getuid()}")
        except OSError as busy:
            if busy.errno != errno.EADDRINUSE:
                raise
            raise tools.BenchError("another run of scripts/bench measures here: let it end, or "
                                   "stop it") from busy
        yield


def facts(run, programs=()):
    """{"machine", "versions", "layout", "provenance"} of a run's results."""
    cpu = processor()
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        system = platform.system()
    text = (tools.ROOT / "configure.ac").read_text(encoding="utf-8")
    module = re.search(r"AC_INIT\(\[mod_elastic\], \[([^]]+)\]", text).group(1)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return {
        "machine": f"{os.cpu_count()} × {cpu['model']}, {memory:.0f} GB, {system}, "
                   f"Linux {platform.release()}",
        "versions": [httpd_version(), *apr_versions(), f"mod_elastic {module}",
                     *linked(tools.elastic_module()), *map(tool_version, programs)],
        "layout": "server and load share the only CPU" if run.server_cpu == run.load_cpu else
                  f"server on CPU {run.server_cpu}, load on CPU {run.load_cpu}",
        "provenance": {**commit(), "module_sha256": digest(tools.elastic_module()), "cpu": cpu,
                       "kernel": f"{platform.release()} {platform.version()}", "mpm": server.Httpd.mpm}}


def processor():
    """The model of the CPU, and its flags."""
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    fields = {name: found.group(1).strip() for name in ("model name", "flags", "Features")
              if (found := re.search(rf"^{name}\s*:\s*(.+)$", text, re.MULTILINE))}
    return {"model": fields.get("model name", platform.machine()),
            "flags": fields.get("flags") or fields.get("Features", "")}


def commit():
    """The commit of the sources, and "dirty" if they differ from it; unknown outside of git."""
    with contextlib.suppress(tools.BenchError, OSError):
        git = "git", "-C", str(tools.ROOT)
        return {"commit": tools.output_of(*git, "rev-parse", "HEAD").strip(),
                "dirty": bool(tools.output_of(*git, "status", "--porcelain").strip())}
    return {"commit": "unknown", "dirty": False}


def digest(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()[:12]


def httpd_version():
    return re.search(r"Apache/[\d.]+", tools.output_of(tools.httpd(), "-v")).group(0)


def apr_versions():
    """Those of APR and of APR-util, with which httpd runs."""
    # It fails if the system's own configuration is missing, after its versions.
    text = subprocess.run([tools.httpd(), "-V"], capture_output=True, text=True, timeout=10,
                          check=False).stdout
    loaded = text.partition("Server loaded:")[2].partition("\n")[0]
    return re.findall(r"\bAPR(?:-UTIL)? \d[\d.]*\d", loaded)


def tool_version(name):
    program, option = VERSIONS.get(name, (name, "-v"))
    # nginx and Varnish print to stderr.
    result = subprocess.run([tools.find(program), option], capture_output=True, text=True,
                            timeout=10, check=False)
    found = re.search(r"\d+(\.\d+)+", result.stdout + result.stderr)
    return f"{name} {found.group(0)}" if found else name


def library_versions():
    """The versions of zlib and brotli, from the libraries themselves."""
    try:
        zlib = ctypes.CDLL("libz.so.1").zlibVersion
        zlib.restype = ctypes.c_char_p
        number = ctypes.CDLL("libbrotlienc.so.1").BrotliEncoderVersion()
    except OSError:
        return []
    return ["zlib " + zlib().decode(),
            f"brotli {number >> 24}.{number >> 12 & 0xfff}.{number & 0xfff}"]


def linked(module):
    """The versions of the libraries that the module links: the package's, else the file's name."""
    linked = re.findall(r"^\s*(\S+\.so\S*) => (/\S+)", tools.output_of("ldd", module), re.MULTILINE)
    return [f"{name.partition('.so')[0]} {package_version(os.path.realpath(path))}"
            for name, path in linked if not name.startswith(COMMON)]


def package_version(path):
    for ask in (["dpkg-query", "--show", "--showformat=${Version}"],
                ["rpm", "-q", "--queryformat", "%{VERSION}-%{RELEASE}", "-f"]):
        with contextlib.suppress(tools.BenchError, OSError):
            owner = path if ask[0] == "rpm" else tools.output_of(
                "dpkg-query", "--search", f"*/{os.path.basename(path)}").rpartition(": ")[0]
            return tools.output_of(*ask, owner).strip()
    return os.path.basename(path)
