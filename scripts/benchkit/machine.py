"""The machine and the versions of the measured programs."""

import ctypes
import os
import platform
import re
import subprocess

from benchkit import tools

# {name: (program, its option)} unless they are NAME -v
VERSIONS = {"h2load": ("h2load", "--version"), "caddy": ("caddy", "version"),
            "varnish": ("varnishd", "-V")}


def facts(run, programs=()):
    """{"machine", "versions", "layout"} of a run's results."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        found = re.search(r"^model name\s*:\s*(.+)$", file.read(), re.MULTILINE)
    model = found.group(1).strip() if found else platform.machine()
    try:
        system = platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        system = platform.system()
    text = (tools.ROOT / "configure.ac").read_text(encoding="utf-8")
    module = re.search(r"AC_INIT\(\[mod_elastic\], \[([^]]+)\]", text).group(1)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return {
        "machine": f"{os.cpu_count()} × {model}, {memory:.0f} GB, {system}, "
                   f"Linux {platform.release()}",
        "versions": [httpd_version(), f"mod_elastic {module}", *library_versions(),
                     *map(tool_version, programs)],
        "layout": "server and load share the only CPU" if run.server_cpu == run.load_cpu else
                  f"server on CPU {run.server_cpu}, load on CPU {run.load_cpu}"}


def httpd_version():
    return re.search(r"Apache/[\d.]+", tools.output_of(tools.httpd(), "-v")).group(0)


def tool_version(name):
    program, option = VERSIONS.get(name, (name, "-v"))
    # nginx and Varnish print to stderr.
    result = subprocess.run([tools.find(program), option], capture_output=True, text=True,
                            timeout=10, check=False)
    found = re.search(r"\d+(\.\d+)+", result.stdout + result.stderr)
    return f"{name} {found.group(0)}" if found else name


def library_versions():
    """The versions of zlib and brotli, from the libraries that the module links."""
    try:
        zlib = ctypes.CDLL("libz.so.1").zlibVersion
        zlib.restype = ctypes.c_char_p
        number = ctypes.CDLL("libbrotlienc.so.1").BrotliEncoderVersion()
    except OSError:
        return []
    return ["zlib " + zlib().decode(),
            f"brotli {number >> 24}.{number >> 12 & 0xfff}.{number & 0xfff}"]
