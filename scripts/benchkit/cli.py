"""The command line: scripts/bench NAME…|all|report|regret|readme|instructions [--quick] …"""

import argparse
import contextlib
import errno
import importlib
import json
import pathlib
import signal
import textwrap
import time
import traceback

from benchkit import build, instructions, machine, readme, regret, report, results
from benchkit.experiments import ratios
from benchkit.run import SCALES, Run
from benchkit.tools import ROOT, BenchError, need_libraries, say

# `all` goes from the short and certain to the long.
ORDER = ("control", "static-vs-dynamic", "small-files", "lan-packets", "context-reuse", "content",
         "levels", "peers", "memory", "once", "dictionary", "p95", "spike", "system-b", "day",
         "load")
ALONE = ("first", "gain", "stores", "idle")  # not in `all` and in the kept run
COMMANDS = {
    "all": f"every one of them but {', '.join(ALONE)}, and one report",
    "instructions": "what a response takes in httpd, counted by valgrind",
    "report": "the report of the results in --out, made again",
    "recompute": "every finding and table again, of the rows in --out or of the stored ones",
    "regret": "what each leg of load takes to the best, in --out or stored",
    "readme": "the tables and the chart of README.md, from the stored results"}
KEPT = ROOT / "docs" / "results" / "results.json"
WIDTH = 79  # columns of the terminal's table
COLUMNS = (33, 26, 18)  # of the comparison, this figure, the source's or the aim


def load_experiment(name):
    if name in ratios.TABLE:
        return ratios.TABLE[name]
    return importlib.import_module("benchkit.experiments." + name.replace("-", "_"))


def listing():
    lines = {name: load_experiment(name).TITLE for name in (*ORDER, *ALONE)} | COMMANDS
    return "experiments:\n" + "\n".join(f"  {name:<18} {text}" for name, text in lines.items())


def make_parser():
    parser = argparse.ArgumentParser(
        prog="bench", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Repeats published experiments on this machine, and compares mod_elastic with\n"
                    "its peers: a table, a plot and every raw figure of each, and one HTML page.",
        epilog=listing())
    parser.add_argument("names", metavar="NAME", nargs="*",
                        help="experiments, or one command of those below; without any they are "
                             "listed")
    scales = parser.add_mutually_exclusive_group()
    for scale, text in (("quick", "coarse figures; all in a quarter of an hour"),
                        ("smoke", "seconds: shows that everything works, and measures nothing")):
        scales.add_argument(f"--{scale}", dest="scale", action="store_const", const=scale,
                            default="normal", help=text)
    parser.add_argument("--rounds", type=int, default=0, metavar="N",
                        help="at least so many rounds; exactly, of load and gain")
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR",
                        help="where the results go (default: build/bench/NAME)")
    parser.add_argument("--resume", action="store_true",
                        help="leave out what has results of this scale in --out")
    parser.add_argument("--page", type=pathlib.Path, metavar="FILE",
                        help="report: where the page goes (default: report.html in --out)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="instructions: write the figures to FILE, too, beside those of other "
                             "versions of httpd and libraries")
    parser.add_argument("--baseline", type=pathlib.Path, metavar="FILE",
                        help="instructions: print the differences from those of a FILE of --json, "
                             "and fail where one is more than 3 %%")
    parser.add_argument("--no-download", dest="download", action="store_false",
                        help="use only those Debian packages of pages that are here already")
    parser.add_argument("--install", action="store_true",
                        help="install what is missing, by apt, as root; also without a NAME")
    return parser


def parse_arguments(arguments):
    parser = make_parser()
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in (*ORDER, *ALONE, *COMMANDS)]
    if unknown:
        parser.error(f"there is no experiment {unknown[0]}")
    commands = [name for name in options.names if name in COMMANDS]
    if commands and len(options.names) > 1:
        parser.error(f"{commands[0]} stands alone")
    if not options.names and set(arguments) - {"--install"}:
        parser.error("name an experiment, or all")
    options.command = commands[0] if commands else ""
    options.names = list(ORDER) if options.command == "all" else options.names
    options.out = options.out or ROOT / "build" / "bench" / (
        options.command or "-".join(options.names))
    return options


def command_of(name, options):
    return " ".join(["scripts/bench", name,
                     *([f"--{options.scale}"] if options.scale != "normal" else []),
                     *([f"--rounds {options.rounds}"] if options.rounds else [])])


def sentence(problem):
    if isinstance(problem, OSError) and problem.errno == errno.ENOSPC:
        return f"no space is left on the device ({problem.filename or 'a temporary file'})"
    if isinstance(problem, (BenchError, OSError)):
        return str(problem)
    return f"a fault of the bench itself: {type(problem).__name__}: {problem}"


def run_experiments(options):
    """Runs and saves every named experiment; one that fails is reported, and the others
    continue."""
    problems, started = {}, time.monotonic()
    for name in options.names:
        kept = results.load(options.out, name) if options.resume else None
        if kept and kept["scale"] == options.scale:
            say(f"{name}: done before")
            continue
        try:
            experiment = load_experiment(name)
            seconds = dict(zip(SCALES, experiment.SECONDS))[options.scale]
            say(f"{name}: about {seconds:.0f} s")
            with Run(name, options.scale, options.out, seconds, options.download,
                     options.rounds) as run:
                results.save(run, experiment.run(run), experiment, command_of(name, options))
                run.publish()
        except Exception as problem:  # the others can still run
            if not isinstance(problem, (BenchError, OSError)):
                traceback.print_exc()
            problems[name] = sentence(problem)
            say(f"{name}: {problems[name]}")
        else:
            print(table(results.load(options.out, name)), flush=True)
    page = report.write(options.out, options.names, problems)
    print(f"\n{time.monotonic() - started:.0f} s; the report: {page}")
    return 1 if problems else 0


def table(facts):
    """The results of an experiment for a terminal of 80 columns, and its main sentence."""
    lines = ["", textwrap.fill(f"{facts['name']}: {facts['title']}", WIDTH), ""]
    rows = [("what is compared", "here", "source or aim", "")]
    rows += [(one["text"], one["here"], one["there"], one["outcome"]) for one in facts["findings"]]
    for what, here, there, outcome in rows:
        there = ", ".join(filter(None, (there, outcome)))
        cells = [textwrap.wrap(text, width) or [""]
                 for text, width in zip((what, here, there), COLUMNS)]
        for place in range(max(map(len, cells))):
            lines.append(" ".join(
                (cell[place] if place < len(cell) else "").ljust(width)
                for cell, width in zip(cells, COLUMNS)).rstrip())
    texts = [facts["means"], *facts["conditions"], f"Versions: {', '.join(facts['versions'])}."]
    return "\n".join([*lines, "", *(textwrap.fill(text, WIDTH) for text in texts)])


def kept_again(path):
    """(the experiments of a report's JSON, the same with findings and tables made of their rows);
    of those without rows the latter has none."""
    experiments = json.loads(path.read_text(encoding="utf-8"))["experiments"]
    raw = results.kept_rows(path)
    return experiments, {name: results.recomputed(facts, load_experiment(name), raw[name])
                         for name, facts in experiments.items() if name in raw}


def recompute(path):
    """Prints for each experiment if its figures are those of its rows; 1 if some are not."""
    failed, (experiments, again) = 0, kept_again(path)
    for name, facts in experiments.items():
        if name not in again:
            print(f"{name}: rows not kept")
            continue
        count, said = results.differences(facts, again[name])
        failed |= bool(said)
        print(f"{name}: {count} findings and rows of tables; {'; '.join(said) or 'all equal'}")
    return int(failed)


def write_readme():
    path, (experiments, again) = ROOT / "README.md", kept_again(KEPT)
    for name in readme.SOURCES:
        if name not in again:
            say(f"{name}: rows not kept; its stored tables are used")
    experiments |= again
    path.write_text(readme.written(path.read_text(encoding="utf-8"), experiments),
                    encoding="utf-8")
    readme.draw(experiments, KEPT.parent)


def run_command(options):
    need_libraries()
    if options.command == "readme":
        return write_readme()
    if options.command == "recompute":
        made = options.out / "report.json"
        return recompute(made if made.exists() else KEPT)
    if options.command == "report":
        return print(report.write(options.out, (*ORDER, *ALONE), {}, options.page))
    if options.command == "regret":
        facts = results.load(options.out, "load") or json.loads(
            KEPT.read_text(encoding="utf-8"))["experiments"]["load"]
        if not regret.rows_of(facts):
            raise BenchError(f"there is no run of load in {options.out} whose rounds are kept")
        return print(regret.page(facts), end="")
    build.ensure(say)
    if options.command == "instructions":
        return instructions.measure(options, say)
    with contextlib.nullcontext() if options.scale == "smoke" else machine.held_alone():
        return run_experiments(options)


def main(arguments):
    options = parse_arguments(arguments)
    if not options.names:
        print(f"usage: scripts/bench NAME... [option...]; --help lists the options\n\n{listing()}")
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return run_command(options) or 0
    except (BenchError, OSError) as problem:
        say(f"bench: {sentence(problem)}")
        return 1
    except KeyboardInterrupt:
        say("bench: interrupted; experiments that were done are kept, and --resume goes on with "
            "the others")
        return 130
