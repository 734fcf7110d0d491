"""The command line: scripts/bench NAME [--quick|--full] [--out DIR] [--pages DIR] [--link RATE]."""

import argparse
import importlib
import pathlib
import pkgutil
import signal
import sys
import time

from benchkit import experiments, link
from benchkit.run import Run
from benchkit.tools import ROOT, BenchError


def experiment_names():
    found = pkgutil.iter_modules(experiments.__path__)
    return sorted(module.name.replace("_", "-") for module in found)


def load_experiment(name):
    return importlib.import_module("benchkit.experiments." + name.replace("-", "_"))


def summaries():
    lines = (f"  {name:<20} {load_experiment(name).SUMMARY}" for name in experiment_names())
    return "experiments:\n" + "\n".join(lines)


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(
        prog="bench", formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Reproduces a published experiment on this machine: a table of every raw "
                    "figure,\na plot and a paragraph.",
        epilog=summaries())
    parser.add_argument("name", metavar="NAME", choices=experiment_names(),
                        help="the experiment, one of those below")
    scale = parser.add_mutually_exclusive_group()
    scale.add_argument("--quick", dest="scale", action="store_const", const="quick",
                       default="normal", help="two to three minutes, coarse figures")
    scale.add_argument("--full", dest="scale", action="store_const", const="full",
                       help="the source's durations")
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR",
                        help="where the results go (default: build/bench/NAME)")
    parser.add_argument("--pages", type=pathlib.Path, metavar="DIR",
                        help="serve the files of DIR instead of the built-in ones")
    parser.add_argument("--link", metavar="RATE",
                        help="put a link of this rate, such as 1gbit, and MTU 1500 between load "
                             "and server (as root, in a network namespace)")
    options = parser.parse_args(arguments)
    if options.pages is not None and not options.pages.is_dir():
        parser.error(f"--pages {options.pages}: there is no such directory")
    return options


def interrupt(*_):
    raise KeyboardInterrupt


def say(text):
    print(text, file=sys.stderr, flush=True)


def run_experiment(options):
    """Runs the experiment; prints its paragraph and where the results are."""
    experiment = load_experiment(options.name)
    out = options.out or ROOT / "build" / "bench" / options.name
    scale = experiment.SCALES[options.scale]
    started = time.monotonic()
    with Run(options.name, scale, out, options.pages, options.link, say) as run:
        paragraph = experiment.run(run)
        run.save_text(options.name, paragraph)
        paths = run.publish()
    print(paragraph)
    say(f"{time.monotonic() - started:.0f} s; results: {' '.join(map(str, paths))}")


def main(arguments):
    options = parse_arguments(arguments)
    signal.signal(signal.SIGTERM, interrupt)
    try:
        if options.link:
            link.enter(options.link)
        run_experiment(options)
    except BenchError as problem:
        say(f"bench: {problem}")
        return 1
    except KeyboardInterrupt:
        say("bench: interrupted; nothing was kept")
        return 130
    return 0
