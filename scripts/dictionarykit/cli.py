"""The command line: subcommands, their options, and the exit status."""

import argparse
import contextlib
import math
import os
import signal
import sys
import urllib.parse

from codeckit import libraries
from dictionarykit import check, enable, exchange, report, state, status
from dictionarykit.failure import Failed, Refused
from precompresskit import encoders

DESCRIPTION = "A compression dictionary (RFC 9842) for a site's pages."
EPILOG = """Exit status: 0 done, or there was nothing to do; 1 it was not possible, and why is said;
2 wrong usage or a missing library; 130 interrupted. COMMAND --help has the options of each."""
STORES = ("/var/cache/apache2", "/var/cache/httpd")


def number(least, most, kind=int):
    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"'{text}': give a number from {least} to {most}")
        return value

    return parse


def folder(text):
    if not text or state.UNQUOTED.search(text):
        raise argparse.ArgumentTypeError(f"{text!r}: no quotes, backslashes or line ends")
    return os.path.realpath(text)


def url(text):
    try:
        exchange.origin(text)
    except Refused as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None
    return text


def site_url(text):
    """Of a site that browsers use dictionaries of."""
    if not check.is_secure(url(text)):
        raise argparse.ArgumentTypeError(f"{text}: browsers use dictionaries over https only")
    return text


def address(text):
    """(host, port or 0)."""
    try:
        parts = urllib.parse.urlsplit("//" + text)
        if parts.hostname and not parts.path:
            return parts.hostname, parts.port or 0
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"'{text}': give an address, with a port if need be")


# Of `enable`: (name, type, what it is, help); defaults are those of state.Options.
ENABLE = (
    ("--most", number(1, 2000), "N", "visit so many pages at most (%(default)s)"),
    ("--rate", number(0.01, 1000, float), "N", "requests a second at most (%(default)s)"),
    ("--time", number(1, 86400), "SECONDS", "end the first visits to pages after half of this "
     "time, and the second ones after all of it once more (%(default)s)"),
    ("--largest", number(1, 8192), "KB", "the largest dictionary that is tried (%(default)s)"),
    ("--spread", number(2, 100000), "N", "pages that a reader sees while a dictionary lasts, over "
     "which its own bytes are spread (%(default)s)"),
    ("--cafile", os.path.abspath, "FILE", "certificates to trust instead of the system's"),
    ("--confdir", folder, "FOLDER", "httpd's configuration, with a folder conf-available or "
     "conf.d"),
    ("--apachectl", str, "COMMAND", "what takes -t and -k graceful (apache2ctl, apachectl or "
     "httpd)"))

COMMANDS = (
    ("enable", enable.run, "make the dictionary of a site's public pages, and have httpd use it"),
    ("status", status.run, "show the dictionaries in force, what they save, and how the last "
                           "renewal went"),
    ("renew", enable.renew, "make the next dictionary of each site, and keep it if it is better"),
    ("disable", status.disable, "take the dictionary of a site, or of all, out of httpd, and leave "
                                "nothing behind"),
    ("check", check.run, "ask for a page as a browser does, and say what keeps its dictionary from "
                         "being used"))


def add_enable(command):
    command.add_argument("site", type=site_url, metavar="URL",
                         help="the site, such as https://www.example.org/")
    which = command.add_mutually_exclusive_group()
    which.add_argument("--pages", type=os.path.abspath, metavar="FILE",
                       help="a file with a URL a line")
    which.add_argument("--sitemap", type=url, metavar="URL", help="a sitemap, or an index of them")
    command.add_argument("--accept-cookie", action="append", default=[], metavar="NAME",
                         help="a cookie that every visitor gets, and that changes nothing of a "
                              "page, is no reason to refuse it; may be repeated")
    command.add_argument("--accept-private", action="store_true",
                         help="nor is Cache-Control: private or no-store")
    command.add_argument("--yes", action="store_true",
                         help="do not ask whether the pages are right")
    store = next(filter(os.path.isdir, STORES), STORES[0]) + "/dictionaries"
    command.add_argument("--store", type=folder, default=store, metavar="FOLDER",
                         help="ElasticDictionaryStore, where the configuration has none "
                              "(%(default)s)")
    for name, kind, metavar, text in ENABLE:
        default = getattr(state.Options(), name[2:], None) or None
        command.add_argument(name, type=kind, default=default, metavar=metavar, help=text)


def add_check(command):
    command.add_argument("url", type=url, metavar="URL",
                         help="a page, or a file that is a dictionary for its next release")
    command.add_argument("--cafile", metavar="FILE",
                         help="certificates of authorities to trust, in place of the system's")
    command.add_argument("--resolve", type=address, metavar="ADDRESS[:PORT]",
                         help="ask this address for the URL's host: the origin past a CDN, or one "
                              "server of many")


def make_parser():
    parser = argparse.ArgumentParser(prog="elastic-dictionary", description=DESCRIPTION,
                                     epilog=EPILOG)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, function, text in COMMANDS:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=function)
        if name == "check":
            add_check(command)
            continue
        if name == "enable":
            add_enable(command)
        else:
            command.add_argument("site", nargs="?", type=url, metavar="URL",
                                 help="the site; without it, all")
        if name == "renew":
            command.add_argument("--now", action="store_true",
                                 help="replace the dictionary, though the next one is not better")
        command.add_argument("--out", type=folder, default=state.FOLDER, metavar="FOLDER",
                             help="where dictionaries are kept (%(default)s)")
    return parser


def interrupt(*_):
    raise KeyboardInterrupt


def run(words):
    args = make_parser().parse_args(words)
    for one in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, interrupt)
    try:
        if not libraries.load("brotli"):
            raise encoders.Missing("libbrotlienc is missing: install libbrotli1 (Debian) or "
                                   "libbrotli (Fedora)")
        if not libraries.load_dictionaries("zstd"):
            raise encoders.Missing("libzstd is missing: install libzstd1 (Debian) or libzstd "
                                   "(Fedora)")
        return args.run(args)
    except encoders.Missing as problem:
        code, text = 2, problem
    except (Failed, OSError) as problem:
        code, text = 1, problem
    except KeyboardInterrupt:
        code, text = 130, "interrupted; what was begun is taken back"
    sys.stdout.flush()
    print(f"elastic-dictionary: {text}", file=sys.stderr)
    return code


def main(words):
    with contextlib.redirect_stdout(report.Screen(sys.stdout)), \
            contextlib.redirect_stderr(report.Screen(sys.stderr)):
        return run(words)
