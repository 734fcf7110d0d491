"""What the figures were measured on."""

import contextlib
import ctypes
import os
import platform
import re
import subprocess

from benchkit import nginx, tools


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        found = re.search(r"^model name\s*:\s*(.+)$", file.read(), re.MULTILINE)
    return found.group(1).strip() if found else platform.machine()


def memory_gigabytes():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


def system_name():
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, AttributeError, KeyError):
        return platform.system()


def httpd_version():
    text = tools.output_of(tools.httpd(), "-v")
    return re.search(r"Apache/[\d.]+", text).group(0)


def tool_version(name):
    """The version of wrk, h2load, nginx or php-fpm, in the tool's words."""
    if name == "nginx":
        return nginx.version()
    if name == "php-fpm":
        return " ".join(tools.output_of(tools.find(name), "-v").split()[:2])
    option = {"wrk": "-v", "h2load": "--version"}[name]
    # wrk prints its version with its usage and a failure.
    text = subprocess.run([tools.find(name), option], capture_output=True, text=True,
                          timeout=10, check=False).stdout
    return " ".join(text.split()[:2])


def library_versions():
    """zlib's and brotli's versions, asked from the libraries that the module links."""
    versions = []
    with contextlib.suppress(OSError):
        version = ctypes.CDLL("libz.so.1").zlibVersion
        version.restype = ctypes.c_char_p
        versions.append("zlib " + version().decode())
    with contextlib.suppress(OSError):
        number = ctypes.CDLL("libbrotlienc.so.1").BrotliEncoderVersion()
        versions.append(f"brotli {number >> 24}.{number >> 12 & 0xfff}.{number & 0xfff}")
    return versions


def heading(run, *load_tools, where=None):
    """The paragraph's first line: the experiment, and what it ran on."""
    return f"{run.name}. {describe(run, *load_tools, where=where)}"


def describe(run, *load_tools, where=None):
    """One sentence: processor, memory, system, programs and how the run was laid out."""
    versions = library_versions() + [tool_version(name) for name in load_tools]
    parts = [f"{os.cpu_count()} × {cpu_model()}, {memory_gigabytes():.0f} GB, {system_name()}, "
             f"Linux {platform.release()}", httpd_version(), *versions]
    if run.server_cpu == run.load_cpu:
        parts.append("server and load share the only CPU")
    else:
        parts.append(f"server on CPU {run.server_cpu}, load on CPU {run.load_cpu}")
    parts.append(where or (f"link {run.link}, MTU 1500" if run.link else "loopback"))
    of_length = f" of {run.scale.seconds:g} s a leg" if run.scale.seconds else ""
    rounds = "1 round" if run.scale.rounds == 1 else f"{run.scale.rounds} interleaved rounds"
    parts.append(f"{rounds}{of_length}, medians")
    return "; ".join(parts) + "."
