"""The command line: a table of subcommands, and the exit status.

A subcommand is a module with HELP (a line), add_arguments(parser) and run(args), which returns the
exit status. To add one, write dictionarykit/NAME.py and a row of COMMANDS. What it raises of
Failed, sources.Unusable and OSError ends with the exit status 1 and the text.
"""

import argparse
import contextlib
import signal
import sys

from codeckit import libraries
from dictionarykit import check, disable, enable, renew, report, sources, status
from dictionarykit.failure import Failed
from precompresskit import encoders

COMMANDS = {"enable": enable, "status": status, "renew": renew, "disable": disable,
            "check": check}

DESCRIPTION = "A compression dictionary (RFC 9842) for a site's pages."

EPILOG = """Exit status: 0 done, or there was nothing to do; 1 it was not possible, and why is said;
2 wrong usage or a missing library; 130 interrupted. COMMAND --help has the options of each."""


def make_parser():
    parser = argparse.ArgumentParser(prog="elastic-dictionary", description=DESCRIPTION,
                                     epilog=EPILOG)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, module in COMMANDS.items():
        command = commands.add_parser(name, help=module.HELP, description=module.HELP)
        module.add_arguments(command)
        command.set_defaults(run=module.run, error=command.error)
    return parser


def check_libraries():
    if not libraries.load("brotli"):
        raise encoders.Missing("libbrotlienc is missing: install libbrotli1 (Debian) or libbrotli "
                               "(Fedora)")
    if not libraries.load_dictionaries("zstd"):
        raise encoders.Missing("libzstd is missing: install libzstd1 (Debian) or libzstd (Fedora)")


def interrupt(*_):
    raise KeyboardInterrupt


def main(words):
    with contextlib.redirect_stdout(report.Screen(sys.stdout)), \
            contextlib.redirect_stderr(report.Screen(sys.stderr)):
        return run(words)


def run(words):
    args = make_parser().parse_args(words)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)
    try:
        check_libraries()
        return args.run(args)
    except encoders.Missing as problem:
        status, text = 2, problem
    except (Failed, sources.Unusable, OSError) as problem:
        status, text = 1, problem
    except KeyboardInterrupt:
        status, text = 130, "interrupted; what was begun is taken back"
    sys.stdout.flush()
    print(f"elastic-dictionary: {text}", file=sys.stderr)
    return status
