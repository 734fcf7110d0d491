"""Sanitizers for a server that was built without them: their runtime is loaded before its
libraries, and reports into a folder of the server."""

import os
import re

from . import env

_BETWEEN = "=" * 18 + "\n"  # before and after each report of ThreadSanitizer
_read = {}  # {file of reports: the number of bytes already read}


def make_folder(root):
    """A folder in which the children can write, too."""
    folder = root / "sanitizer"
    folder.mkdir()
    folder.chmod(0o755)
    if env.IS_ROOT:
        user = env.child_user()
        os.chown(folder, user.pw_uid, user.pw_gid)


def environ(root):
    """The variables that a server in `root` needs; none without a sanitizer."""
    if not env.PRELOAD:
        return {}
    log = f"log_path={root}/sanitizer/report"
    return {"LD_PRELOAD": env.PRELOAD,
            "ASAN_OPTIONS": f"detect_leaks=0:abort_on_error=0:{log}",
            "UBSAN_OPTIONS": f"print_stacktrace=1:halt_on_error=1:{log}",
            "TSAN_OPTIONS": f"report_thread_leaks=0:report_signal_unsafe=0:exitcode=0:{log}"}


def httpd(root):
    """httpd's command line, for use by other programs."""
    return " ".join(["env", *(f"{name}={value}" for name, value in environ(root).items()),
                     env.HTTPD])


def _counts(part):
    """A data race counts if its address is static in the module, or from its malloc()."""
    if "WARNING: ThreadSanitizer: data race" in part:
        place = part.partition("Location is")[2].partition("\n\n")[0]
        return "(mod_elastic.so+" in place
    return part.strip() and not part.startswith("ThreadSanitizer: reported ")


def of_module(report):
    """The parts of a report that count. ThreadSanitizer does not see how httpd and APR, built
    without it, pass a pool's memory between threads."""
    if "ThreadSanitizer" not in report:
        return [report] if report else []
    return [part for part in report.split(_BETWEEN) if _counts(part)]


# In a frame of the module: its file, a function that others call, or a source.
_FRAME = re.compile(r"mod_elastic|\bel_|\bsrc/(?:core|engines|host|httpd)/")


def leaks(report):
    """The direct leaks of LeakSanitizer's report with a frame of the module in their stack."""
    return [part for part in report.split("\n\n") if "Direct leak" in part and _FRAME.search(part)]


def reports(root):
    """The reports since the last call; their processes may still run."""
    found = []
    for file in sorted((root / "sanitizer").iterdir()):
        data = file.read_bytes()
        found += of_module(data[_read.get(file, 0):].decode(errors="replace"))
        _read[file] = len(data)
    return found
