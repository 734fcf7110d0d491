"""What the runs found: a line for each, and the page docs/results/fire.md."""

import datetime
import json
import platform
import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from . import runs


@dataclass
class Row:
    run: object
    count: int = 0
    seconds: float = 0.0
    failures: list = field(default_factory=list)
    figures: dict = field(default_factory=dict)


def row(run, said, took, code):
    """Of what the stage printed; that it printed nothing of the kind is its failure."""
    last = said.strip().splitlines()[-1] if said.strip() else ""
    try:
        found = json.loads(last)
        made = Row(run, found["count"], found["seconds"], found["failures"], found["figures"])
    except (ValueError, KeyError, TypeError):
        return Row(run, 0, took, [f"the stage ended with {code}: {last}"])
    if not made.count:
        made.failures.append("nothing was counted")
    return made


def _figures(row):
    return ", ".join(f"{name} {value}" for name, value in row.figures.items())


def line(row):
    verdict = f"{len(row.failures)} FAILED" if row.failures else "ok"
    rate = row.count / row.seconds if row.seconds else 0
    return f"{verdict:10} {row.run.name:24} {row.count:8} in {row.seconds:5.0f} s " \
           f"({rate:.0f}/s)  {_figures(row)}"


_HEAD = """\
# Under fire

`scripts/check fire` puts httpd with the module under fire: a short form of five minutes, and with
`--long` one of a night. `scripts/check fire --list` says what each run does. The tables are what it
saw; a failure is a body that is not what the client should have got, a status that nothing
explains, a crash, or something that is not given back.

    scripts/check fire {options}

"""


def _machine():
    text = Path("/proc/cpuinfo").read_text()
    name = next((line.partition(":")[2].strip() for line in text.splitlines()
                 if line.startswith("model name")), platform.machine())
    return f"{text.count('processor	')} CPUs ({name}), Linux {platform.release()}"


def _httpd():
    from kit import env
    said = subprocess.run([env.HTTPD, "-v"], capture_output=True, text=True, check=False).stdout
    return said.splitlines()[0].partition(":")[2].strip() if said else "httpd"


def write(path, rows, asked):
    text = [_HEAD.format(options=shlex.join(asked.options)),
            f"{datetime.date.today()}, {_machine()}, {_httpd()}, seed {asked.seed}; other work on "
            "the machine.\n\n"]
    for stage, (counted, what) in runs.STAGES.items():
        found = [row for row in rows if row.run.stage == stage]
        if not found:
            continue
        text.append(f"## {stage.capitalize()}\n\n{what[0].upper() + what[1:]}.\n\n"
                    f"| run | {counted} | s | failures | |\n|---|---|---|---|---|\n")
        text += [f"| {row.run.name} | {row.count} | {row.seconds:.0f} | {len(row.failures)} "
                 f"| {_figures(row)} |\n" for row in found]
        text += [f"\n- {row.run.name}: {failure}" for row in found for failure in row.failures[:5]]
        text.append("\n\n" if any(row.failures for row in found) else "\n")
    path.write_text("".join(text).rstrip() + "\n")
