"""One run of one experiment: its work directory, its processes and its results.

Everything is made in a temporary directory; results move to their place only when the run is
complete. However the run ends, its processes are ended and the directory is removed.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import math
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import types

from benchkit import corpus, stats, tools
from benchkit.machine_speed import MachineSpeed

PATIENCE = 5  # seconds that a process has to end after SIGTERM; httpd takes well under one


@dataclasses.dataclass(frozen=True)
class Scale:
    """How long a run takes: every leg is measured `rounds` times for `seconds`; where `least` is
    given, so many times may do, see rounds.interleaved().

    What else an experiment scales by is 0 where it takes all there is.
    """

    rounds: int
    seconds: float
    only: int = 0  # of files, sizes, rates: the first ones
    sites: int = 0
    pages: int = 4  # of each site
    stock: tuple = tuple(range(1, 10))  # levels of mod_deflate
    least: int = 0  # rounds


# Of cli.py's options, those that a run outside of the command line needs.
DEFAULTS = types.SimpleNamespace(pages=None, link=None, download=True)

# Those that this process began with: a run pins it to one of them, and others follow.
CPUS = sorted(os.sched_getaffinity(0))


class Run:
    """The context that an experiment works in; use it in a with statement.

    `budget` is how many seconds it is to take at most.
    """

    def __init__(self, name, scale, out, options=DEFAULTS, say=print, progress=None,
                 budget=math.inf):
        self.name = name
        self.scale = scale
        self.out = pathlib.Path(out)
        self.options = options
        self.pages, self.link, self.download = options.pages, options.link, options.download
        self.say = say
        self.progress = progress
        self.corpora = []  # rows of corpus.composition()
        self.tables = {}  # {file's name: caption, "" of what the report's page does not show}
        self.plots = {}  # {part: what plot.figure() says of it}
        self.machine = {"machine": "", "versions": [], "layout": []}  # machine.describe() says
        self.rounds = 0  # that were measured, of the part that has the most
        self.budget, self._started = budget, time.monotonic()
        self._names = 0
        self._part = (0.0, 1.0)  # (where the present part of the experiment begins, its share)
        self._parts = 0.0  # the sum of the parts' shares
        self._ends = contextlib.ExitStack()
        # With a single CPU nothing can be kept apart; the paragraph says so.
        self.server_cpu, self.load_cpu = CPUS[0], CPUS[-1]
        self.machine_speed = MachineSpeed({"server": self.server_cpu, "load": self.load_cpu})

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

    def folder(self, name):
        path = self.work / name
        path.mkdir()
        return path

    def new_name(self, kind):
        """A name that no other folder of the run has."""
        self._names += 1
        return f"{kind}-{self._names}"

    def add_corpus(self, name, bodies, origin):
        """Adds a row to the table of what is served."""
        self.corpora.append(corpus.composition(name, bodies, origin))

    def begin_part(self, share):
        """A part of the experiment begins that takes this share of its time; done() is of it."""
        self._part = self._parts, share
        self._parts += share

    def time_left(self):
        """Seconds until the present part is to be done, by the budget."""
        return self._started + sum(self._part) * self.budget - time.monotonic()

    def done(self, share):
        """Reports how much of the experiment, or of its part, is done, 0 to 1; no load runs now."""
        self.machine_speed.measure()
        if self.progress is not None:
            start, of_all = self._part
            self.progress.step(start + share * of_all)

    def still_running(self):
        """Reports in the midst of a long step that it goes on."""
        if self.progress is not None:
            self.progress.still_running()

    def at_end(self, function, *arguments):
        """Has a function called when the run ends, however it ends; the last comes first."""
        self._ends.callback(function, *arguments)

    def start(self, command, log, prefix=(), cpu=None):
        """Starts a server on the server's CPU; it ends with the run, and with this process.

        `prefix` is a command that runs another in its place, such as nsenter.
        """
        cpu = self.server_cpu if cpu is None else cpu
        argv = [*prefix, tools.find("taskset"), "-c", str(cpu), *command]
        setpriv = shutil.which("setpriv")
        if setpriv:
            # Even where this process is killed outright, the server ends.
            argv = [setpriv, "--pdeathsig", "TERM", *argv]
        with open(log, "ab") as output:
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=output, start_new_session=True)
        self._ends.callback(end_process, process)
        return process

    def start_until(self, ready, command, log, patience, cpu=None):
        """The same of a program that is needed: it runs and is `ready(its process)`, or BenchError
        has the last line that it printed.
        """
        process = self.start(command, log, cpu=cpu)
        tools.wait_for(lambda: ready(process) or process.poll() is not None, patience, 0.01)
        if process.poll() is not None or not ready(process):
            raise tools.BenchError(f"{pathlib.Path(command[0]).name} did not start: "
                                   + tools.last_line(log.read_text(errors="replace")))
        return process

    def load(self, command, timeout, prefix=()):
        """Runs a load generator on the other CPU and gives what it prints."""
        argv = [*prefix, tools.find("taskset"), "-c", str(self.load_cpu), *command]
        try:
            return tools.output_of(*argv, timeout=timeout)
        except subprocess.TimeoutExpired:
            raise tools.BenchError(f"{command[0]} did not end within {timeout:.0f} s") from None

    def name_of(self, part):
        """The name of a file of results, without its suffix: the experiment's, and a part's."""
        return f"{self.name}-{part}" if part else self.name

    def save_table(self, part, rows, caption=""):
        """Writes rows (dicts) as CSV; the columns are those of all rows, in order.

        What has a caption is shown by the report.
        """
        name = self.name_of(part)
        self.tables[name] = caption
        columns = dict.fromkeys(column for row in rows for column in row)
        with open(self.results / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(columns)
            # What is no number is empty, as what there is none of.
            table.writerows([["" if one != one else one for one in
                              (row.get(column, "") for column in columns)] for row in rows])

    def save_medians(self, part, rows, keys, figures, caption="medians"):
        """Writes the median of each figure for every group of `keys`."""
        self.save_table(part, [{**dict(zip(keys, key)), **middle} for key, middle in
                               stats.medians(rows, keys, figures).items()], caption)

    def save_text(self, name, text):
        (self.results / f"{name}.txt").write_text(text + "\n", encoding="utf-8")

    def publish(self):
        """Copies the results to their place, all or none of them; their paths."""
        pairs = [(path, self.out / f".{path.name}.part") for path in sorted(self.results.iterdir())]
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            for path, part in pairs:
                shutil.copy(path, part)
            return [part.rename(self.out / path.name) for path, part in pairs]
        except OSError as problem:
            for _, part in pairs:
                with contextlib.suppress(OSError):
                    part.unlink()
            raise tools.BenchError(f"the results cannot be written to {self.out}: "
                                   f"{problem.strerror}") from None


def end_process(process):
    """Ends a process and all of its group: by SIGTERM, and where that does not do by SIGKILL."""
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
    """Whether the group has a process that is no zombie (some systems' init reaps late)."""
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue  # ended since the listing
        state, _, of_group = text[text.rindex(")") + 2:].split()[:3]
        if int(of_group) == group and state not in "ZX":
            return True
    return False
