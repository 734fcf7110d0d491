"""The command line: scripts/bench NAME|all|report|check [--quick|--full] [--out DIR] …"""

import argparse
import errno
import importlib
import json
import pathlib
import pkgutil
import shlex
import shutil
import signal
import sys
import tempfile
import time
import traceback

from benchkit import (build, experiments, instructions, net, outcome, pages, readme, recheck,
                      report)
from benchkit.progress import Progress, duration
from benchkit.run import Run
from benchkit.tools import ROOT, BenchError, need_libraries

# `all` goes from the short and certain to the long.
ORDER = ("control", "static-vs-dynamic", "small-files", "lan-packets", "context-reuse", "content",
         "levels", "peers", "servers", "once", "dictionary", "p95", "spike", "system-b", "day",
         "frontier", "flood", "modes")

RECORD = "run.json"  # of a run of all
MOVED, OTHER_PAGES = 3, 4  # exit statuses of `check`; 1 and 2 are errors
KEPT = ROOT / "docs" / "results" / "results.json"
MEGABYTE = 1 << 20
LEAST_FREE = 16 * MEGABYTE  # what the servers' folders, the results and the report come to


def experiment_names():
    found = {module.name.replace("_", "-") for module in
             pkgutil.iter_modules(experiments.__path__)}
    return [name for name in ORDER if name in found] + sorted(found.difference(ORDER))


def load_experiment(name):
    return importlib.import_module("benchkit.experiments." + name.replace("-", "_"))


def alone(scale):
    """The experiments that a run of all of them leaves out at this scale."""
    return [name for name in experiment_names()
            if scale in getattr(load_experiment(name), "ALONE", ())]


def planned(scale):
    """{experiment of a run of all of them: about how many seconds it takes}."""
    left_out = alone(scale)
    return {name: load_experiment(name).SECONDS[scale] for name in experiment_names()
            if name not in left_out}


def summaries():
    lines = [f"  {name:<20} {load_experiment(name).SUMMARY}" for name in experiment_names()]
    without = ", ".join(alone("quick"))
    lines += ["  all                  every one of them, and one report"
              + (f"; a quick one leaves out {without}" if without else ""),
              "  readme               the tables of README.md, from the kept results",
              "  report               the report of the results in --out, made again",
              "  check [NAME...]      whether figures of the kept results come out again: a "
              "sample's bytes,\n                       or by name, or with --out of what is "
              "there, every finding",
              "  instructions         what a response takes in httpd, counted by valgrind"]
    return "experiments:\n" + "\n".join(lines)


def make_parser():
    parser = argparse.ArgumentParser(
        prog="bench", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Reproduces published experiments on this machine: a table of every raw "
                    "figure,\na plot, a paragraph and verdicts for each, and one HTML page.",
        epilog=summaries())
    parser.add_argument("name", metavar="NAME", nargs="?",
                        choices=[*experiment_names(), "all", "check", "instructions", "readme",
                                 "report"],
                        help="the experiment, one of those below; without it they are listed")
    parser.add_argument("checked", nargs="*", metavar="NAME",
                        help="check: experiments, instead of a sample")
    scales = parser.add_mutually_exclusive_group()
    for scale, text in (("quick", "coarse figures; all in 19 minutes"),
                        ("full", "more rounds, where figures vary; all in three hours at most"),
                        ("smoke", "seconds: shows that everything works, and measures nothing")):
        scales.add_argument(f"--{scale}", dest="scale", action="store_const", const=scale,
                            default="normal", help=text)
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR",
                        help="where the results go (default: build/bench/NAME)")
    parser.add_argument("--resume", action="store_true",
                        help="all: go on with the run in --out that was interrupted")
    parser.add_argument("--page", type=pathlib.Path, metavar="FILE",
                        help="report: where the page goes (default: report.html in --out)")
    parser.add_argument("--kept", type=pathlib.Path, metavar="FILE", default=KEPT,
                        help="check: the JSON of a report (default: docs/results/results.json)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE",
                        help="instructions: write the figures to FILE, too")
    parser.add_argument("--baseline", type=pathlib.Path, metavar="FILE",
                        help="instructions: print the differences from those of a FILE of --json")
    parser.add_argument("--pages", type=pathlib.Path, metavar="DIR|FILE",
                        help="serve the files of DIR, or the pages whose URLs FILE lists, "
                             "instead of the built-in ones")
    parser.add_argument("--link", metavar="RATE",
                        help="put a link of this rate, such as 1gbit, and MTU 1500 between load "
                             "and server (as root, in a network namespace)")
    parser.add_argument("--access-log", type=pathlib.Path, metavar="FILE",
                        help="spike, day: take the demand's curve from an access log")
    parser.add_argument("--price-cpu-hour", type=float, metavar="PRICE", default=0.044,
                        help="content, servers: of an hour of one CPU (default: %(default)s)")
    parser.add_argument("--price-gb", type=float, metavar="PRICE", default=0.09,
                        help="content, servers: of a gigabyte of traffic (default: %(default)s)")
    parser.add_argument("--no-download", dest="download", action="store_false",
                        help="use only those Debian packages of pages that are here already")
    parser.add_argument("--install", action="store_true",
                        help="install what is missing, by apt, as root; also without a NAME")
    return parser


def parse_arguments(arguments):
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.name is None and set(arguments) - {"--install"}:
        parser.error("name an experiment, or all")
    if options.pages is not None and not options.pages.exists():
        parser.error(f"--pages {options.pages}: there is no such directory or file")
    if options.access_log is not None and not options.access_log.is_file():
        parser.error(f"--access-log {options.access_log}: there is no such file")
    if not set(options.checked) <= set(experiment_names() if options.name == "check" else ()):
        parser.error("check takes names of experiments, and the others none")
    if options.price_cpu_hour < 0 or options.price_gb < 0:
        parser.error("prices are not negative")
    options.download &= options.scale != "smoke"
    options.arguments, options.begun = arguments, None
    if options.resume and options.name != "all":
        parser.error("--resume goes on with a run of all")
    return options


def command_of(arguments, name="all"):
    """The command of one experiment of a run; without --out, because a report is read elsewhere."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--out")
    parser.add_argument("--resume", action="store_true")
    rest = parser.parse_known_args(arguments)[1]
    return shlex.join(["scripts/bench", *(name if one == "all" else one for one in rest)])


def interrupt(*_):
    raise KeyboardInterrupt


def say(text):
    print(text, file=sys.stderr, flush=True)


def run_experiment(name, options, out, progress):
    """Runs one experiment into the folder `out`; the paths of its results."""
    experiment = load_experiment(name)
    started = time.monotonic()
    progress.begin(name)
    # The same, for longer: rounds go on for as long as the budget has time.
    scale = experiment.SCALES.get(options.scale) or experiment.SCALES["full"]
    with Run(name, scale, out, options, progress.say, progress,
             experiment.SECONDS[options.scale]) as run:
        if options.pages is not None:
            run.pages = pages.collect(options.pages, run.folder("pages"))
        found = experiment.run(run)
        outcome.save(run, found, experiment, command_of(options.arguments, name),
                     time.monotonic() - started, options.begun)
        return run.publish()


def sentence(problem):
    """What went wrong, for people."""
    if isinstance(problem, OSError) and problem.errno == errno.ENOSPC:
        return f"no space is left on the device ({problem.filename or 'a temporary file'})"
    if isinstance(problem, (BenchError, OSError)):
        return str(problem)
    return f"a fault of the bench itself: {type(problem).__name__}: {problem}"


def run_one(options):
    out = options.out or ROOT / "build" / "bench" / options.name
    seconds = load_experiment(options.name).SECONDS[options.scale]
    started = time.monotonic()
    paths = run_experiment(options.name, options, out, Progress({options.name: seconds}))
    page = report.write(out, [options.name], {})
    print((out / f"{options.name}.txt").read_text(encoding="utf-8"), end="")
    say(f"{duration(time.monotonic() - started)}; results: {' '.join(map(str, paths))}; "
        f"report: {page}")


def begin(options, out):
    """The record of a run of all: a new one, or with --resume that of the run to go on with.

    Its `begun` is in the results of its experiments, too.
    """
    path = out / RECORD
    arguments = [one for one in options.arguments if one != "--resume"]
    if options.resume and path.exists():
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["arguments"] != arguments:
            raise BenchError(f"{out} has a run of: {command_of(record['arguments'])}")
        return record
    out.mkdir(parents=True, exist_ok=True)
    record = {"arguments": arguments, "begun": time.time(), "problems": {}}
    path.write_text(json.dumps(record), encoding="utf-8")
    return record


def run_all(options):
    """Every experiment; one that fails is named, and the others run on.

    What each has measured is kept as soon as it is done. The exit status is 1 where one crashed,
    or none could be run; that a program is missing is no crash.
    """
    out = options.out or ROOT / "build" / "bench" / "all"
    record = begin(options, out)
    options.begun = record["begun"]
    times = planned(options.scale)
    done = {name for name in times if (saved := outcome.load(out, name)) is not None
            and saved.facts["begun"] == options.begun}
    for name in done:
        say(f"{name}: done before")
    progress = Progress({name: seconds for name, seconds in times.items() if name not in done})
    problems, crashed, started = {}, False, time.monotonic()
    for name in progress.plan:
        try:
            run_experiment(name, options, out, progress)
        except Exception as problem:  # the others can still run
            if not isinstance(problem, (BenchError, OSError)):
                traceback.print_exc()
            crashed |= not isinstance(problem, BenchError)
            problems[name] = sentence(problem)
            say(f"{name}: {problems[name]}")
    nothing = len(problems) == len(times)
    problems |= {name: f"a {options.scale} run of all leaves it out; scripts/bench {name} runs it "
                       "by itself" for name in alone(options.scale)}
    names = [*times, *alone(options.scale)]
    for line in report.summary(out, names, problems):
        print(line)
    (out / RECORD).write_text(json.dumps({**record, "problems": problems}), encoding="utf-8")
    say(f"{duration(time.monotonic() - started)}; report: {report.write(out, names, problems)}")
    return 1 if nothing or crashed else 0


def make_report(options):
    """The report of results that are there."""
    out = options.out or ROOT / "build" / "bench" / "all"
    path = out / RECORD
    problems = (json.loads(path.read_text(encoding="utf-8"))["problems"] if path.exists() else {})
    names = experiment_names()
    if not any(outcome.load(out, name) for name in names):
        raise BenchError(f"{out} has no results: run scripts/bench all, or give --out")
    say(f"report: {report.write(out, names, problems, options.page)}")


def check(options):
    """Whether kept figures come out again: a sample's bytes, or all findings of the given names;
    with --out, of the results that are there.
    """
    if not options.kept.exists():
        raise BenchError(f"there are no kept results in {options.kept}: give --kept")
    kept = json.loads(options.kept.read_text(encoding="utf-8"))["experiments"]
    names, of = options.checked, recheck.verdicts
    if options.out:
        names = names or experiment_names()
    elif not names:
        names, of = [*recheck.SAMPLE], recheck.sizes
        options.scale, options.download = "smoke", False
    with tempfile.TemporaryDirectory() as new:
        if not options.out:
            progress = Progress({name: load_experiment(name).SECONDS[options.scale]
                                 for name in names})
            for name in names:
                run_experiment(name, options, pathlib.Path(new), progress)
        fresh = report.finite(report.gather(options.out or new, names, {}))["experiments"]
    pairs = recheck.compare(kept, fresh, of)
    print("\n".join(pair.sentence for pair in pairs))
    moved = sum(pair.moved for pair in pairs)
    print(f"Of {len(pairs)} figures, moved: {moved}.")
    return MOVED if moved else 0


def ensure_module(options):
    """Builds the module where there is none; `all` has experiments that do without."""
    try:
        build.ensure(say)
    except BenchError as problem:
        if options.name != "all":
            raise
        say(f"bench: {problem}")


def ensure_space(options):
    """Says at once, not after a quarter of an hour, that the results have no room."""
    out = options.out or ROOT / "build" / "bench"
    for folder in (out, pathlib.Path(tempfile.gettempdir())):
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        free = shutil.disk_usage(there).free
        if free < LEAST_FREE:
            raise BenchError(f"no space is left: {there} has {free / MEGABYTE:.1f} MB free, and "
                             f"{LEAST_FREE / MEGABYTE:.0f} MB are needed")


def write_readme(options):
    path = ROOT / "README.md"
    path.write_text(readme.written(path.read_text(encoding="utf-8"),
                                   options.kept.read_text(encoding="utf-8")), encoding="utf-8")


def count_instructions(options):
    instructions.measure(options, say)


ACTIONS = {"all": run_all, "report": make_report, "check": check, "readme": write_readme,
           "instructions": count_instructions}


def main(arguments):
    options = parse_arguments(arguments)
    if options.name is None:
        print(f"usage: scripts/bench NAME [option...]; --help lists the options\n\n{summaries()}")
        return 0
    signal.signal(signal.SIGTERM, interrupt)
    try:
        if options.name != "readme":
            need_libraries()
        if not (options.name in ("report", "readme") or options.name == "check" and options.out):
            ensure_space(options)
            ensure_module(options)
        if options.link:
            net.enter_link(options.link)
        return ACTIONS.get(options.name, run_one)(options) or 0
    except (BenchError, OSError) as problem:
        say(f"bench: {sentence(problem)}")
        return OTHER_PAGES if isinstance(problem, recheck.OtherPages) else 1
    except KeyboardInterrupt:
        say("bench: interrupted; " + (
            "experiments that were done are kept, and --resume goes on with the others"
            if options.name == "all" else "nothing was kept"))
        return 130
