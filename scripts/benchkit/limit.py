"""A control group of the run's own with a limit of CPU time, by version 1 or 2 of the kernel's."""

import contextlib
import errno
import os
import pathlib

from benchkit import tools

ROOT = pathlib.Path("/sys/fs/cgroup")
OWN = pathlib.Path("/proc/self/cgroup")
PERIOD = 100_000  # microseconds; the kernel's default


def folder_of_this_process(hierarchy, text):
    """Where its group is, by the text of /proc/PID/cgroup; hierarchy "" is that of version 2.
    OSError where it is not in view, as it may be in a container: nothing could come back to it.
    """
    for _, names, path in (line.split(":", 2) for line in text.splitlines()):
        if hierarchy in names.split(","):
            folder = ROOT / hierarchy / path.lstrip("/")
            os.stat(folder / "cgroup.procs")
            return folder
    raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), str(ROOT / hierarchy))


class Group:
    """A group that may use so many CPUs; it is removed when the run ends."""

    def __init__(self, run, cpus):
        quota = round(cpus * PERIOD)
        # The time used is counted by a hierarchy of its own in version 1.
        files = ({"cpu": {"cpu.cfs_period_us": PERIOD, "cpu.cfs_quota_us": quota}, "cpuacct": {}}
                 if (ROOT / "cpu").is_dir() else {"": {"cpu.max": f"{quota} {PERIOD}"}})
        self.folders = {}  # {of this group: of this process's own}
        run.at_end(self.remove)
        try:
            own = OWN.read_text(encoding="utf-8")
            for hierarchy, settings in files.items():
                before = folder_of_this_process(hierarchy, own)
                folder = ROOT / hierarchy / f"elastic-bench-{os.getpid()}"
                folder.mkdir(exist_ok=True)  # both may be one
                self.folders[folder] = before
                for name, value in settings.items():
                    with open(folder / name, "r+", encoding="ascii") as file:  # makes none
                        file.write(str(value))
        except OSError as problem:
            raise tools.BenchError(
                f"no control group with a limit can be made: {problem}") from None

    @contextlib.contextmanager
    def holding(self, pids):
        """These processes are in the group meanwhile, and what they start stays there."""
        move(pids, self.folders)
        try:
            yield
        finally:
            move(pids, self.folders.values())

    def remove(self):
        for folder in self.folders:
            # Where it still holds a process that a server has started meanwhile, it stays.
            with contextlib.suppress(OSError):
                folder.rmdir()


def move(pids, folders):
    for folder in folders:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):  # it has ended
                (folder / "cgroup.procs").write_text(str(pid), encoding="ascii")
