"""What httpd takes for the load on other machines than this one: control groups of both versions,
nested ones and none; said in the log and on the status page."""

import os
import pathlib
import tempfile
import threading
import time

import pytest

from kit import faults
from kit.driven import FILES, SHORT_INTERVAL, TOP

V2 = "29 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
V1 = ("32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n")
CPU = "sys/fs/cgroup/cpu,cpuacct/"

LIMITED = {"proc/self/cgroup": "0::/web\n", "proc/self/mountinfo": V2,
           "sys/fs/cgroup/web/cpu.max": "20000 100000\n"}
FREE = {**LIMITED, "sys/fs/cgroup/web/cpu.max": "max 100000\n",
        "sys/fs/cgroup/web/cpu.stat": "usage_usec 5\n"}
NESTED = {"proc/self/cgroup": "0::/pod/web/one\n", "proc/self/mountinfo": V2,
          "sys/fs/cgroup/pod/web/one/cpu.max": "60000 100000\n",
          "sys/fs/cgroup/pod/web/one/cpu.stat": "usage_usec 7\n",
          "sys/fs/cgroup/pod/web/cpu.max": "max 100000\n",
          "sys/fs/cgroup/pod/web/cpu.stat": "usage_usec 8\n",
          "sys/fs/cgroup/pod/cpu.max": "20000 100000\n"}
OLD = {"proc/self/cgroup": "4:cpu,cpuacct:/docker/abc\n0::/\n", "proc/self/mountinfo": V1,
       CPU + "docker/abc/cpu.cfs_quota_us": "20000\n",
       CPU + "docker/abc/cpu.cfs_period_us": "100000\n"}
OLD_NESTED = {"proc/self/cgroup": "4:cpu,cpuacct:/pod/web\n0::/\n", "proc/self/mountinfo": V1,
              CPU + "pod/web/cpu.cfs_quota_us": "-1\n",
              CPU + "pod/web/cpu.cfs_period_us": "100000\n",
              CPU + "pod/web/cpuacct.usage": "1\n",
              CPU + "pod/cpu.cfs_quota_us": "20000\n",
              CPU + "pod/cpu.cfs_period_us": "100000\n"}

BY_STAT = ("proc/stat", "cpu  {used} 0 0 {left} 0 0 0 0 0 0\n")
BY_V2 = ("sys/fs/cgroup/web/cpu.stat", "usage_usec {usec}\nuser_usec 5\n")
BY_POD = ("sys/fs/cgroup/pod/cpu.stat", "usage_usec {usec}\n")
BY_OLD = (CPU + "docker/abc/cpuacct.usage", "{nsec}\n")
BY_OLD_POD = (CPU + "pod/cpuacct.usage", "{nsec}\n")

# name: the machine, ElasticLoad, what is said, and the file with the load
MACHINES = {
    "no groups": ({}, "auto", "stat (no control group)", BY_STAT),
    "no groups, asked for": ({}, "cgroup", "stat (no control group has its CPU time)", BY_STAT),
    "v2": (LIMITED, "auto", "cgroup (v2, limit of 0.20 CPUs)", BY_V2),
    "v2 nested": (NESTED, "auto", "cgroup (v2, limit of 0.20 CPUs)", BY_POD),
    "v2 without a limit": (FREE, "auto", "stat (the control group has no limit)", BY_STAT),
    "v2, but not asked for": (LIMITED, "stat", "stat (as configured)", BY_STAT),
    "v1": (OLD, "auto", "cgroup (v1, limit of 0.20 CPUs)", BY_OLD),
    "v1 nested": (OLD_NESTED, "auto", "cgroup (v1, limit of 0.20 CPUs)", BY_OLD_POD),
}
LIMIT = 0.2  # CPUs


class Kernel:
    """Its files below a folder; one of them goes on, as busy as `busy` says."""

    def __init__(self, root, files, moving):
        self.root = root
        self.path, self.text = moving
        self.busy = 0.65
        self._used = self._left = 1e6  # µs
        self._then = time.monotonic()
        for name, text in {"proc/stat": "cpu  100 0 0 100 0 0 0 0 0 0\n", **files}.items():
            self.write(name, text)
        self._move()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(path.name + ".part")
        part.write_text(text)
        part.rename(path)

    def _move(self):
        now = time.monotonic()
        usec, self._then = (now - self._then) * 1e6 * LIMIT, now
        self._used += self.busy * usec
        self._left += (1 - self.busy) * usec
        self.write(self.path, self.text.format(
            used=int(self._used / 100), left=int(self._left / 100), usec=int(self._used),
            nsec=int(self._used * 1000)))

    def _run(self):
        while not self._end.wait(0.01):
            self._move()

    def close(self):
        self._end.set()
        self._thread.join()


@pytest.fixture
def on_machine(httpd, tmp_path):
    """A server on that machine, and its kernel."""
    made = []

    def start(files, load, moving):
        # Where httpd's children, who are nobody, may look.
        folder = tempfile.TemporaryDirectory(prefix="elastic-kernel-")
        os.chmod(folder.name, 0o755)
        kernel = Kernel(pathlib.Path(folder.name), files, moving)
        server = httpd("Elastic On\nElasticControl step\nElasticInterval 200ms\n"
                       f"ElasticLoad {load}", files=FILES, allow_log=[SHORT_INTERVAL],
                       environ={"KERNEL_ROOT": folder.name},
                       wrapper=faults.wrapper(faults.library(tmp_path, "kernel-root")))
        made.append((server, kernel, folder))
        return server, kernel

    yield start
    for server, kernel, folder in made:
        server.stop()
        kernel.close()
        folder.cleanup()


def wait_for(server, share, position):
    """The mean of a few samples is that load, and the position is there."""
    def there():
        return float(server.status()["ElasticPosition"]) * TOP == position
    server.wait_for(there, 30, f"position {position}")
    loads = []
    for _ in range(10):
        time.sleep(0.2)
        loads.append(float(server.status()["ElasticCPU"]))
    assert sum(loads) / len(loads) == pytest.approx(share, abs=0.12), loads


@pytest.mark.parametrize("name", MACHINES)
def test_the_load_is_what_is_said(on_machine, name):
    files, load, text, moving = MACHINES[name]
    server, kernel = on_machine(files, load, moving)
    assert server.status()["ElasticLoad"] == text
    assert server.log.lines("elastic: the load is read from " + text.replace("(", r"\(")
                            .replace(")", r"\)"))
    kernel.busy = 0.95
    wait_for(server, 0.95, 0)
    answer = server.get("/a.txt", ae="gzip")
    assert answer.body == FILES["a.txt"] and server.notes(answer)["elastic-level"] == "1"
    kernel.busy = 0.1
    wait_for(server, 0.1, TOP)


def test_a_limit_that_comes_is_noticed(on_machine):
    """Limits are looked at again every ten seconds."""
    server, kernel = on_machine(FREE, "auto", BY_STAT)
    assert server.status()["ElasticLoad"] == "stat (the control group has no limit)"
    kernel.write("sys/fs/cgroup/web/cpu.max", "20000 100000\n")
    server.wait_log(r"the load is now read from cgroup \(v2, limit of 0.20 CPUs\)", 20)
