"""What the figures were measured on."""

import contextlib
import ctypes
import os
import platform
import re
import subprocess

from benchkit import tools


# name -> (program, its option) where these are not NAME -v
VERSIONS = {"h2load": ("h2load", "--version"), "caddy": ("caddy", "version"),
            "varnish": ("varnishd", "-V")}


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
    """A load generator or a server and its version."""
    program, option = VERSIONS.get(name, (name, "-v"))
    # wrk prints its version with its usage and a failure, nginx and Varnish on their error output.
    result = subprocess.run([tools.find(program), option], capture_output=True, text=True,
                            timeout=10, check=False)
    found = re.search(r"\d+(\.\d+)+", result.stdout + result.stderr)
    return f"{name} {found.group(0)}" if found else name


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


def module_version():
    """What the sources of the module under test say that they are."""
    text = (tools.ROOT / "configure.ac").read_text(encoding="utf-8")
    return "mod_elastic " + re.search(r"AC_INIT\(\[mod_elastic\], \[([^]]+)\]", text).group(1)


def heading(run, *load_tools, where=None):
    """The paragraph's first line: the experiment, and what it ran on."""
    return f"{run.name}. {describe(run, *load_tools, where=where)}"


def describe(run, *load_tools, where=None):
    """One sentence: processor, memory, system, programs and how the run was laid out.

    The report has them from run.machine, too.
    """
    hardware = (f"{os.cpu_count()} × {cpu_model()}, {memory_gigabytes():.0f} GB, {system_name()}, "
                f"Linux {platform.release()}")
    versions = [httpd_version(), module_version(), *library_versions(),
                *map(tool_version, load_tools)]
    layout = ["server and load share the only CPU" if run.server_cpu == run.load_cpu else
              f"server on CPU {run.server_cpu}, load on CPU {run.load_cpu}",
              where or (f"link {run.link}, MTU 1500" if run.link else "loopback")]
    of_length = f" of {run.scale.seconds:g} s a leg" if run.scale.seconds else ""
    count = run.rounds or run.scale.rounds
    rounds = "1 round" if count == 1 else f"{count} interleaved rounds"
    layout.append(f"{rounds}{of_length}, medians")
    run.machine = {"machine": hardware, "versions": versions, "layout": layout}
    return "; ".join([hardware, *versions, *layout]) + "."
