"""Sanitizers in a server that was built without them: their runtime is loaded before its libraries,
and reports into a folder of the server."""

import os

from . import env

_BETWEEN = "=" * 18 + "\n"  # before and after each report of ThreadSanitizer


def make_folder(root):
    """Where the children write, too."""
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


def of_module(report):
    """The parts of a report that count. ThreadSanitizer does not see how httpd and APR, which are
    built without it, pass the memory of a pool from thread to thread; what is static in the module,
    or from its malloc(), counts."""
    if "ThreadSanitizer" not in report:
        return [report]
    return [part for part in report.split(_BETWEEN)
            if "Location is" in part and "mod_elastic" in part.partition("Location is")[2]
            or "WARNING" in part and "data race" not in part]


def reports(root):
    """Those since the last call."""
    found = []
    for file in sorted((root / "sanitizer").iterdir()):
        found += of_module(file.read_text(errors="replace"))
        file.unlink()
    return found
