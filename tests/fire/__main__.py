"""The campaign: see its --help."""

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from . import report, runs

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# A stage has this long beyond its bound, to start its servers and to stop them.
GRACE = 180

# Failures that are printed of each run; all of them are in its file.
SHOWN = 10


def arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/check fire", description="Puts httpd with the module under fire. The short "
        "form takes five minutes, the long one a night.")
    parser.add_argument("--builds", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--long", action="store_true", help="the long form")
    parser.add_argument("--list", action="store_true", help="the runs, and what they do")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="runs whose name matches")
    parser.add_argument("--share", type=float, default=1, metavar="S",
                        help="of each run's time (1): 0.1 for a tenth of a night")
    parser.add_argument("--report", nargs="?", type=Path, metavar="FILE",
                        const=ROOT / "docs" / "results" / "fire.md",
                        help="writes what was found to FILE (docs/results/fire.md)")
    parser.add_argument("--seed", default=datetime.date.today().isoformat(),
                        help="of the random requests; another each day")
    parser.add_argument("--first", type=int, default=0, metavar="N",
                        help="the number of the first batch of requests, to see one again")
    asked = parser.parse_args()
    asked.options = sys.argv[3:]  # what follows --builds
    return asked


def show_list():
    for name, (counted, text) in runs.STAGES.items():
        print(f"{name} ({counted}): {text}")
    print()
    for run in runs.RUNS:
        print(f"{run.name:24} {f'{run.short} s' if run.short else '-':>6}   long: {run.long} s")


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


def carry_out(run, seconds, asked, logs):
    """The run's row of the report."""
    plan = {"seconds": seconds, "seed": asked.seed, "first": asked.first, "failing": run.failing}
    with tempfile.TemporaryDirectory(prefix="elastic-fire-") as folder:
        os.chmod(folder, 0o755)
        environ = environment(asked.builds / run.build, run.mpm, folder)
        began = time.monotonic()
        # An interrupt, because then the stage stops its servers.
        done = subprocess.run(
            ["timeout", "--foreground", "-s", "INT", "-k", f"{GRACE}", f"{seconds + GRACE}",
             environ["ELASTIC_PYTHON"], "-m", "fire.stage", run.stage, json.dumps(plan)],
            env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True)
        took = time.monotonic() - began
    (logs / f"{run.name}.log").write_text(done.stdout)
    row = report.row(run, done.stdout, took, done.returncode)
    print("\n    ".join([row.line(), *row.failures[:SHOWN]]), flush=True)
    return row, environ["ELASTIC_HTTPD"]


def main():
    asked = arguments()
    if asked.list:
        show_list()
        return 0
    chosen = runs.chosen(asked.only, asked.long)
    if not chosen:
        sys.exit(f"fire: no run's name matches {asked.only}")
    logs = asked.builds / "fire"
    logs.mkdir(exist_ok=True)
    print(f"seed {asked.seed}; what each run says is in {logs}", flush=True)
    rows = []
    for run, seconds in chosen:
        row, httpd = carry_out(run, seconds * asked.share, asked, logs)
        rows.append(row)
    if asked.report:
        report.write(asked.report, rows, asked, httpd)
    return 1 if any(row.failures for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
