"""One run of one experiment: its work directory, processes and results, which move to their place
only when the run is complete. However it ends, nothing else is left."""

from __future__ import annotations

import contextlib
import csv
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from benchkit import corpus, tools
from benchkit.tools import say

SCALES = ("smoke", "quick", "normal")
PATIENCE = 5  # seconds for a process to end after SIGTERM; httpd takes well under one
SILENCE = 5  # seconds between two lines of progress

# The CPUs at the start; a run pins this process to one of them, and others follow.
CPUS = sorted(os.sched_getaffinity(0))


class Run:
    """The context of an experiment. `seconds` is its budget: rounds.interleaved() repeats its legs
    until that is used, at least `least` times."""

    def __init__(self, name, scale="normal", out=None, seconds=0.0, download=True, least=0):
        self.name, self.scale, self.seconds = name, scale, seconds
        self.out = None if out is None else pathlib.Path(out)
        self.download = download and scale != "smoke"
        self.least = least
        self.corpora = []  # rows of corpus.composition()
        self.raw = {}  # {part: rows}: what was measured
        self.tables = {}  # {file name: (caption, rows)} for the report
        self.plots = []  # the descriptions from plot.figure()
        self.rounds = 0
        self.started = self._told = time.monotonic()
        self._names = 0
        self._ends = contextlib.ExitStack()
        self.at_end = self._ends.callback  # for a function that runs however the run ends
        # A single CPU does both; the report says so.
        self.server_cpu, self.load_cpu = CPUS[0], CPUS[-1]

    def __enter__(self):
        work = tempfile.mkdtemp(prefix="elastic-bench-")
        self._ends.callback(shutil.rmtree, work, ignore_errors=True)
        os.chmod(work, 0o755)  # an httpd started as root reads it as another user
        self.work = pathlib.Path(work)
        self.results = self.folder("results")
        os.sched_setaffinity(0, {self.load_cpu})
        return self

    def __exit__(self, *problem):
        self._ends.close()

    def pick(self, smoke, quick, normal):
        """The value for the run's scale."""
        return dict(zip(SCALES, (smoke, quick, normal)))[self.scale]

    def folder(self, name):
        path = self.work / name
        path.mkdir()
        return path

    def new_name(self, kind):
        self._names += 1
        return f"{kind}-{self._names}"

    def add_corpus(self, name, bodies, origin):
        self.corpora.append(corpus.composition(name, bodies, origin))

    def progress(self, what=""):
        """Prints that the run continues, unless it did so recently."""
        now = time.monotonic()
        if now - self._told >= SILENCE:
            self._told = now
            say(f"{self.name}: {now - self.started:.0f} of about {self.seconds:.0f} s {what}")

    def start(self, command, log, prefix=(), cpu=None):
        """Starts a server on the server's CPU; it ends with the run, and with this process.
        `prefix` is a command that runs another in its place."""
        cpu = self.server_cpu if cpu is None else cpu
        argv = [*prefix, tools.find("taskset"), "-c", str(cpu), *command]
        setpriv = shutil.which("setpriv")
        if setpriv:
            # The server ends even if this process is killed.
            argv = [setpriv, "--pdeathsig", "TERM", *argv]
        with open(log, "ab") as output:
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=output, start_new_session=True)
        self._ends.callback(end_process, process)
        return process

    def start_until(self, ready, command, log, patience, cpu=None):
        """The same until it is `ready(its process)`; raises BenchError with the last line it
        printed."""
        process = self.start(command, log, cpu=cpu)
        tools.wait_for(lambda: ready(process) or process.poll() is not None, patience, 0.01)
        if process.poll() is not None or not ready(process):
            raise tools.BenchError(f"{pathlib.Path(command[0]).name} did not start: "
                                   + tools.last_line(log.read_text(errors="replace")))
        return process

    def load(self, command, timeout):
        argv = [tools.find("taskset"), "-c", str(self.load_cpu), *command]
        try:
            return tools.output_of(*argv, timeout=timeout)
        except subprocess.TimeoutExpired:
            raise tools.BenchError(f"{command[0]} did not end within {timeout:.0f} s") from None

    def name_of(self, part):
        """The name of a result file without suffix: the experiment's and a part's name."""
        return f"{self.name}-{part}" if part else self.name

    def save_table(self, part, rows, caption=""):
        """Keeps rows (dicts) that were measured: an experiment's find() and summaries() take
        nothing else."""
        self.raw[part] = rows
        self.write_table(part, rows, caption)

    def write_table(self, part, rows, caption):
        """Writes rows as CSV; the report shows those with a caption."""
        name = self.name_of(part)
        if caption:
            self.tables[name] = caption, rows
        columns = dict.fromkeys(column for row in rows for column in row)
        with open(self.results / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(columns)
            # NaN is empty, like a missing value.
            table.writerows([["" if one != one else one for one in
                              (row.get(column, "") for column in columns)] for row in rows])

    def publish(self):
        """Copies the results to their place, all or none of them."""
        pairs = [(path, self.out / f".{path.name}.part") for path in sorted(self.results.iterdir())]
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            for path, part in pairs:
                shutil.copy(path, part)
            for path, part in pairs:
                part.rename(self.out / path.name)
        except OSError as problem:
            for _, part in pairs:
                with contextlib.suppress(OSError):
                    part.unlink()
            raise tools.BenchError(f"the results cannot be written to {self.out}: "
                                   f"{problem.strerror}") from None


def end_process(process):
    """Ends a process and its group: by SIGTERM and, if that fails, SIGKILL."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            process.wait()
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
        if tools.wait_for(lambda: not group_runs(process.pid), PATIENCE):
            return


def group_runs(group):
    """True if the group has a process that is no zombie (some systems' init reaps late)."""
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # ended since the listing
            text = path.read_text(encoding="utf-8", errors="replace")
            state, _, of_group = text[text.rindex(")") + 2:].split()[:3]
            if int(of_group) == group and state not in "ZX":
                return True
    return False
