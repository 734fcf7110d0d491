"""What the runs found: a line for each, and the page docs/results/fire.md."""

import datetime
import json
import platform
import shlex
import subprocess
from pathlib import Path
from typing import NamedTuple

from .runs import STAGES

PAGE = """\
# Under fire

`scripts/check fire` puts httpd with the module under fire: a short form of five minutes, and with
`--long` one of a night. `scripts/check fire --list` says what each run does. The table is what it
saw; a failure is a body that is not what the client should have got, a status that nothing
explains, a crash, or something that is not given back.

    scripts/check fire {options}

{date}, {machine}, {httpd}, seed {seed}.

| run | asked | s | failed | |
|---|---|---|---|---|
{rows}
"""


class Row(NamedTuple):
    run: object
    count: int
    seconds: float
    failures: list
    figures: dict

    @property
    def said(self):
        return ", ".join(f"{name} {value}" for name, value in self.figures.items())

    def line(self):
        verdict = f"{len(self.failures)} FAILED" if self.failures else "ok"
        return f"{verdict:10} {self.run.name:24} {self.count:8} in {self.seconds:5.0f} s  " + self.said


def row(run, said, took, code):
    """Of what the stage printed; that it printed nothing of the kind is its failure."""
    last = said.strip().rpartition("\n")[2]
    try:
        found = json.loads(last)
        found = Row(run, found["count"], found["seconds"], found["failures"], found["figures"])
    except (ValueError, KeyError, TypeError):
        return Row(run, 0, took, [f"the stage ended with {code}: {last}"], {})
    if not found.count:
        found.failures.append("nothing was counted")
    return found


def write(path, rows, asked, httpd):
    cpus = Path("/proc/cpuinfo").read_text().split("\n\n")
    model = [line.partition(":")[2].strip() for line in cpus[0].split("\n") if "model name" in line]
    version = subprocess.run([httpd, "-v"], capture_output=True, text=True, check=True).stdout
    path.write_text(PAGE.format(
        options=shlex.join(asked.options), date=datetime.date.today(), seed=asked.seed,
        machine=f"{len(cpus) - 1} CPUs ({''.join(model)}), Linux {platform.release()}",
        httpd=version.splitlines()[0].partition(":")[2].strip(),
        rows="\n".join(f"| {row.run.name} | {row.count} {STAGES[row.run.stage][0]} "
                       f"| {row.seconds:.0f} | {len(row.failures)} | {row.said} |" for row in rows))
        + "".join(f"\n- {row.run.name}: {failure}" for row in rows for failure in row.failures[:5]))
