"""The campaign: see its --help."""

import argparse
import concurrent.futures
import datetime
import os
import shutil
import signal
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


def _arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/check fire", description="Puts httpd with the module under fire. The short "
        "form takes five minutes, the long one a night.")
    parser.add_argument("--builds", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--long", action="store_true", help="the long form")
    parser.add_argument("--list", action="store_true", help="the runs, and what they do")
    parser.add_argument("--report", nargs="?", type=Path, metavar="FILE",
                        const=ROOT / "docs" / "results" / "fire.md",
                        help="writes what was found to FILE (docs/results/fire.md)")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="runs whose name matches")
    parser.add_argument("--seed", default=None, help="of the random requests; another each day")
    parser.add_argument("--cases", type=int, metavar="N",
                        help="answers of each differential run, however long they take")
    parser.add_argument("--jobs", type=int, default=1, metavar="N",
                        help="runs at a time (default: 1); servers of their own wait for each "
                             "other's CPU, not for each other")
    parser.add_argument("--minutes", type=float, metavar="N",
                        help="all runs together take no longer, each by its share")
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
        short = f"{run.short.seconds} s" if run.short else "-"
        print(f"{run.name:24} {short:>6}   long: up to {run.long.count} in {run.long.seconds} s")


def environment(build, mpm, stage_folder):
    """What the tests of that build are told, with its module where httpd's children can read it."""
    script = f'. "{build}/test-env" && env -0'
    found = subprocess.run(["sh", "-c", script], capture_output=True, check=True,
                           env={**os.environ, "ELASTIC_MPM": mpm}).stdout.decode()
    environ = dict(line.split("=", 1) for line in found.split("\0") if "=" in line)
    for name in ("ELASTIC_MODULE", "ELASTIC_ELASTICD"):
        copy = stage_folder / Path(environ[name]).name
        shutil.copy(environ[name], copy)
        copy.chmod(0o755)
        environ[name] = str(copy)
    environ["PYTHONPATH"] = f"{HERE.parent}:{HERE.parent / 'httpd'}"
    environ["PYTHONDONTWRITEBYTECODE"] = "1"
    return environ


def amounts(chosen, asked):
    """How much of each run; with `minutes` for all of them, its time by its share of theirs."""
    found = [run.long if asked.long else run.short for run in chosen]
    if asked.minutes is None:
        return found
    share = 60 * asked.minutes * asked.jobs / sum(amount.seconds for amount in found)
    return [runs.Amount(amount.count, amount.seconds * share) for amount in found]


def command_of(run, amount, asked, python):
    count = asked.cases if asked.cases and run.stage == "differential" else amount.count
    command = [python, "-m", "fire.stage", run.stage, "--count", str(count), "--seed", asked.seed,
               "--first", str(asked.first), "--failing", str(run.failing)]
    if not (asked.cases and run.stage == "differential"):
        command += ["--seconds", str(amount.seconds)]
    return command


def carry_out(run, amount, asked, folder):
    """The run's row of the report."""
    with tempfile.TemporaryDirectory(prefix="elastic-fire-") as name:
        stage_folder = Path(name)
        stage_folder.chmod(0o755)
        environ = environment(asked.builds / run.build, run.mpm, stage_folder)
        limit = None if asked.cases else amount.seconds + GRACE
        began = time.monotonic()
        process = subprocess.Popen(
            command_of(run, amount, asked, environ["ELASTIC_PYTHON"]), env=environ,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            said, _ = process.communicate(timeout=limit)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            process.send_signal(signal.SIGINT)
            try:
                said, _ = process.communicate(timeout=GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                said, _ = process.communicate()
        took = time.monotonic() - began
    (folder / f"{run.name}.log").write_text(said)
    return report.row(run, said, took, process.returncode)


def told(row):
    print("\n    ".join([report.line(row), *row.failures[:SHOWN]]), flush=True)
    return row


def main():
    asked = _arguments()
    if asked.list:
        show_list()
        return 0
    chosen = runs.chosen(asked.only, asked.long)
    if not chosen:
        sys.exit(f"fire: no run's name matches {asked.only}")
    asked.seed = asked.seed or datetime.date.today().isoformat()
    folder = asked.builds / "fire"
    folder.mkdir(exist_ok=True)
    print(f"seed {asked.seed}; what each run says is in {folder}", flush=True)
    with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
        tasks = [pool.submit(carry_out, run, amount, asked, folder)
                 for run, amount in zip(chosen, amounts(chosen, asked))]
        rows = [told(task.result()) for task in tasks]
    if asked.report:
        report.write(asked.report, rows, asked)
    return 1 if any(row.failures for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
