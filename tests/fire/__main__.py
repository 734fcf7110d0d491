"""The campaign: see its --help."""

import argparse
import datetime
import fnmatch
import json
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from .stage import STAGES, Outcome

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

    @property
    def name(self):
        return "-".join([self.stage, self.mpm, *["asan"] * (self.build == "asan"),
                         *[f"{self.failing}%"] * bool(self.failing)])


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


def arguments():
    what = "".join(f"\n{name} ({counted}):\n    {text}" for name, (counted, text) in STAGES.items())
    names = "".join(f"\n{run.name:24} {run.short:>4} s   long: {run.long} s" for run in RUNS)
    parser = argparse.ArgumentParser(
        prog="scripts/check fire", description="Puts httpd with the module under fire. The short "
        "form takes five minutes, the long one a night.", epilog=f"Stages:{what}\n\nRuns:{names}",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--builds", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--long", action="store_true", help="the long form")
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
    seconds = asked.share * (run.long if asked.long else run.short)
    plan = {"stage": run.stage, "seconds": seconds, "seed": asked.seed, "first": asked.first,
            "failing": run.failing}
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


def main():
    asked = arguments()
    chosen = [run for run in RUNS if fnmatch.fnmatchcase(run.name, asked.only)
              and (asked.long or run.short)]
    if not chosen:
        sys.exit(f"fire: no run's name matches {asked.only}")
    logs = asked.builds / "fire"
    logs.mkdir(exist_ok=True)
    print(f"seed {asked.seed}; what each run says is in {logs}", flush=True)
    rows, failures = [], []
    for run in chosen:
        made = carry_out(run, asked, logs)
        said = ", ".join(f"{name} {value}" for name, value in made.figures.items())
        verdict = f"{len(made.failures)} FAILED" if made.failures else "ok"
        print(f"{verdict:10} {run.name:24} {made.count:8} in {made.seconds:5.0f} s  {said}",
              *made.failures[:10], sep="\n    ", flush=True)
        rows.append(f"| {run.name} | {made.count} {STAGES[run.stage][0]} | {made.seconds:.0f} "
                    f"| {len(made.failures)} | {said} |")
        failures += [f"\n- {run.name}: {failure}" for failure in made.failures[:5]]
    if asked.report:
        asked.report.write_text(REPORT.format(
            options=shlex.join(sys.argv[3:]),  # what follows --builds
            date=datetime.date.today(), machine=f"{os.cpu_count()} CPUs, {platform.platform()}",
            seed=asked.seed, rows="\n".join(rows)) + "".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
