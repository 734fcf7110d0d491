"""The campaign: see its --help."""

import argparse
import datetime
import fnmatch
import json
import os
import platform
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from .stage import STAGES, Outcome, Plan

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "results" / "fire.md"

# A stage has this long beyond its bound, to start its servers and to stop them.
GRACE = 180

MINUTE, HOUR = 60, 3600


class Run(NamedTuple):
    stage: str
    mpm: str
    short: float  # seconds in the short form; 0: not in it
    long: float
    build: str = "check"  # or asan: with ASan and UBSan
    failing: int = 0  # percent of all allocations, and of the compression libraries' calls
    kinds: tuple = Plan.kinds

    @property
    def name(self):
        return "-".join([self.stage, self.mpm, *["asan"] * (self.build == "asan"),
                         *[f"{self.failing}%"] * bool(self.failing),
                         *["stock"] * (self.kinds == ("stock",))])


RUNS = (
    Run("differential", "event", 40, 2 * HOUR),
    Run("differential", "worker", 15, HOUR),
    Run("differential", "prefork", 15, HOUR),
    Run("differential", "event", 20, HOUR, "asan"),
    Run("differential", "prefork", 0, HOUR, "asan"),
    Run("differential", "event", 40, HOUR, failing=25),
    Run("differential", "prefork", 30, HOUR, failing=5),
    Run("reloads", "event", 40, 2 * HOUR),
    Run("reloads", "prefork", 0, 30 * MINUTE),
    Run("aborts", "event", 30, 30 * MINUTE),
    Run("aborts", "worker", 0, 10 * MINUTE),
    Run("troubles", "event", 40, 30 * MINUTE),
)

# All at once; those of the stock modules show what httpd does alone.
SOAKS = tuple(Run("soak", mpm, 0, 90 * MINUTE, build, kinds=(kind,))
              for build, kind in (("check", "elastic"), ("asan", "elastic"), ("check", "stock"))
              for mpm in ("event", "prefork"))

REPORT = """\
# Under fire

`scripts/check fire` puts httpd with the module under fire: a short form of five minutes, and with
`--long` one of a night. `scripts/check fire --help` says what each run does. The table is what it
saw; a failure is a body that is not what the client should have got, a status that nothing
explains, a crash, or something that is not given back.

    scripts/check fire {options}

{date}, {machine}, seed {seed}.

| run | asked | s | failed | |
|---|---|---|---|---|
{rows}
"""


SOAK = """
## Soak

`scripts/check fire --soak` keeps six servers under a mixed load for 90 minutes, which takes a sixth
of a core: files, precompressed files, scripts, PHP, proxied pages, caches, HTTP/2, ranges,
conditions, compressed request bodies, dictionaries, clients that go away. Each has a cache in
shared memory or in redis, by turns. Each minute it is restarted gracefully with another of
{modes} modes, among them elasticd's, and with other levels and codings. Every body is compared with
what it must be.

    scripts/check fire {options}

{date}, {machine}, seed {seed}. It took {cpu:.2f} of a core.

| server | answers | lost | failed | |
|---|---|---|---|---|
{rows}

`lost` are requests without a whole answer, those that a client sent once more counted as one. At a
restart httpd closes connections that wait for another request; a client that has just sent one
gets no answer, and repeats it. `stock` are mod_deflate and mod_brotli in the same place.

Sizes are in KB: `parent` and `child` are private memory, `all pss` is the memory of all processes,
`shared` are mappings that they share. The table has the first and the last minute of the second
half, and what is gained in an hour of 60 restarts, with its interval of 95 %: Theil and Sen's
slope, of minutes with the same mode. What is flat has no more than its bound in the whole interval;
what is `unclear` may have more or less. What the server without this module gains is added to the
bound. LeakSanitizer goes through each child of the servers under ASan when it ends: a block of the
module that nobody holds is a failure.

{table}

{bounds}
"""


def arguments():
    what = "".join(f"\n{name} ({counted}):\n    {text}" for name, (counted, text) in STAGES.items())
    names = "".join(f"\n{run.name:24} {run.short:>4} s   long: {run.long} s" for run in RUNS)
    parser = argparse.ArgumentParser(
        prog="scripts/check fire", description="Puts httpd with the module under fire. The short "
        "form takes five minutes, the long one a night.", epilog=f"Stages:{what}\n\nRuns:{names}"
        f"\n\nOf --soak, all at once: {', '.join(run.name for run in SOAKS)}",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--builds", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--long", action="store_true", help="the long form")
    parser.add_argument("--soak", nargs="?", type=float, metavar="MINUTES", const=90,
                        help="six servers at once for MINUTES (90) instead, with a restart each "
                        "minute; fails where memory, descriptors or shared memory grow")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="runs whose name matches")
    parser.add_argument("--share", type=float, default=1, metavar="S",
                        help="of each run's time (1): 0.1 for a tenth of a night")
    parser.add_argument("--report", nargs="?", type=Path, metavar="FILE", const=PAGE,
                        help="writes what was found to FILE (docs/results/fire.md)")
    parser.add_argument("--seed", default=datetime.date.today().isoformat(),
                        help="of the random requests; another each day")
    parser.add_argument("--first", type=int, default=0, metavar="N",
                        help="the number of the first batch of requests, to see one again")
    return parser.parse_args()


def environment(build, mpm, folder):
    """What the tests of that build are told, with its module where httpd's children can read it."""
    said = subprocess.run(["sh", "-c", f'. "{build}/test-env" && env -0'], check=True,
                          env={**os.environ, "ELASTIC_MPM": mpm}, stdout=subprocess.PIPE).stdout
    environ = dict(line.split("=", 1) for line in said.decode().split("\0") if "=" in line)
    for name in ("ELASTIC_MODULE", "ELASTIC_ELASTICD"):
        environ[name] = shutil.copy(environ[name], folder)
        os.chmod(environ[name], 0o755)
    return {**environ, "PYTHONPATH": f"{HERE.parent}:{HERE.parent / 'httpd'}",
            "PYTHONDONTWRITEBYTECODE": "1"}


def carry_out(run, asked, logs):
    """What the run found; that it does not say so is its failure."""
    seconds = MINUTE * asked.soak if asked.soak else \
        asked.share * (run.long if asked.long else run.short)
    plan = {"stage": run.stage, "seconds": seconds, "seed": asked.seed, "first": asked.first,
            "failing": run.failing, "kinds": run.kinds, "minutes": str(logs / f"{run.name}.csv")}
    with tempfile.TemporaryDirectory(prefix="elastic-fire-") as folder:
        os.chmod(folder, 0o755)
        environ = environment(asked.builds / run.build, run.mpm, folder)
        # An interrupt, because then the stage stops its servers.
        done = subprocess.run(
            ["timeout", "--foreground", "-s", "INT", "-k", f"{GRACE}", f"{seconds + GRACE}",
             environ["ELASTIC_PYTHON"], "-m", "fire.stage", json.dumps(plan)],
            env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True)
    (logs / f"{run.name}.log").write_text(done.stdout)
    last = done.stdout.strip().rpartition("\n")[2]
    try:
        return Outcome(**json.loads(last))
    except (ValueError, TypeError):
        return Outcome(failures=[f"the stage ended with {done.returncode}: {last}"])


def soak(asked, chosen, logs):
    """The runs at once; (a row for each, failures, the tables)."""
    from . import flat  # with clients of packages that --help does without

    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    for run in chosen:
        (logs / f"{run.name}.csv").unlink(missing_ok=True)
    with ThreadPoolExecutor(len(chosen)) as pool:
        found = list(pool.map(lambda run: carry_out(run, asked, logs), chosen))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = sum(after[:2]) - sum(before[:2])
    judged = flat.judge_all({run.name: flat.read(logs / f"{run.name}.csv") for run in chosen})
    rows, failures = [], [f"\n- {failure}" for failure in flat.failures(judged)]
    for run, made in zip(chosen, found, strict=True):
        if run.name not in judged:
            made.failures.append(f"less than {flat.FEWEST} minutes were read")
        rows.append(row(run, made, lost=True))
        # Of the server's log, which is behind it, the page has nothing.
        failures += [f"\n- {run.name}: {failure.partition(' | ')[0]}"
                     for failure in made.failures[:10]]
    print(flat.table(judged), *failures, sep="\n", flush=True)
    if asked.report:
        place(asked.report, soak=SOAK.format(
            **said(asked), modes=len(flat.MODES), cpu=cpu / (time.monotonic() - began),
            rows="\n".join(rows), table=flat.table(judged), bounds=flat.bounds())
            + "".join(failures))
    return 1 if failures else 0


def place(page, fire=None, soak=None):
    text = page.read_text() if page.exists() else ""
    begin = text.find(SOAK.partition("`")[0])
    kept = (text, "") if begin < 0 else (text[:begin], text[begin:])
    page.write_text((kept[0] if fire is None else fire) + (kept[1] if soak is None else soak))


def said(asked):
    return {"options": shlex.join(sys.argv[3:]),  # what follows --builds
            "date": datetime.date.today(), "seed": asked.seed,
            "machine": f"{os.cpu_count()} CPUs, {platform.platform()}"}


def row(run, made, lost=False):
    """Of a table, and what is shown meanwhile."""
    figures = dict(made.figures)
    second = figures.pop("lost", 0) if lost else f"{made.seconds:.0f}"
    text = ", ".join(f"{name} {value}" for name, value in figures.items())
    verdict = f"{len(made.failures)} FAILED" if made.failures else "ok"
    print(f"{verdict:10} {run.name:24} {made.count:8} in {made.seconds:5.0f} s  {text}",
          *made.failures[:10], sep="\n    ", flush=True)
    count = made.count if lost else f"{made.count} {STAGES[run.stage][0]}"
    return f"| {run.name} | {count} | {second} | {len(made.failures)} | {text} |"


def main():
    asked = arguments()
    chosen = [run for run in (SOAKS if asked.soak else RUNS)
              if fnmatch.fnmatchcase(run.name, asked.only)
              and (asked.soak or asked.long or run.short)]
    if not chosen:
        sys.exit(f"fire: no run's name matches {asked.only}")
    logs = asked.builds / "fire"
    logs.mkdir(exist_ok=True)
    print(f"seed {asked.seed}; what each run says is in {logs}", flush=True)
    if asked.soak:
        return soak(asked, chosen, logs)
    rows, failures = [], []
    for run in chosen:
        made = carry_out(run, asked, logs)
        rows.append(row(run, made))
        failures += [f"\n- {run.name}: {failure}" for failure in made.failures[:5]]
    if asked.report:
        place(asked.report, fire=REPORT.format(**said(asked), rows="\n".join(rows))
              + "".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
