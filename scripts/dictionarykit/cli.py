"""The command line: subcommands, their options, and the exit status."""

import argparse
import contextlib
import os
import signal
import sys
import urllib.parse

from codeckit import libraries
from dictionarykit import check, enable, exchange, report, state
from dictionarykit.exchange import Failed, Refused
from precompresskit import encoders

DESCRIPTION = "A compression dictionary (RFC 9842) for a site's pages."
EPILOG = """Exit status: 0 done, or there was nothing to do; 1 it was not possible, and why is said;
2 wrong usage or a missing library; 130 interrupted. COMMAND --help has the options of each."""
STORES = ("/var/cache/apache2", "/var/cache/httpd")


def number(least, most, kind=int):
    def parse(text):
        with contextlib.suppress(ValueError):
            if least <= kind(text) <= most:
                return kind(text)
        raise argparse.ArgumentTypeError(f"'{text}': give a number from {least} to {most}")

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
    """The URL of a site, which must be one that browsers use dictionaries of."""
    if not check.is_secure(url(text)):
        raise argparse.ArgumentTypeError(f"{text}: browsers use dictionaries over https only")
    return text


def address(text):
    """(host, port or 0)."""
    with contextlib.suppress(ValueError):
        parts = urllib.parse.urlsplit("//" + text)
        if parts.hostname and not parts.path:
            return parts.hostname, parts.port or 0
    raise argparse.ArgumentTypeError(f"'{text}': give an address, with a port if need be")


SITE = ("site", url, "URL", "the site; without it, all")
OUT = ("--out", folder, "FOLDER", "where dictionaries are kept (%(default)s)")
# {subcommand: (its function, help, rows)}. A row is (name, type or None for a flag, label, help);
# most defaults are those of state.Options.
COMMANDS = {
    "enable": (enable.run, "make the dictionary of a site's public pages, and have httpd use it", (
        ("site", site_url, "URL", "the site, such as https://www.example.org/"),
        ("--pages", os.path.abspath, "FILE", "a file with a URL a line"),
        ("--sitemap", url, "URL", "a sitemap, or an index of them"),
        ("--most", number(1, 2000), "N", "visit so many pages at most (%(default)s)"),
        ("--rate", number(0.01, 1000, float), "N", "requests a second at most (%(default)s)"),
        ("--time", number(1, 86400), "SECONDS", "end the first visits to pages after half of this "
         "time, and the second ones after all of it once more (%(default)s)"),
        ("--accept-cookie", str, "NAME", "a cookie that every visitor gets, and that changes "
         "nothing of a page, is no reason to refuse it; may be repeated"),
        ("--accept-private", None, "", "nor is Cache-Control: private or no-store"),
        ("--largest", number(1, 8192), "KB", "the largest dictionary that is tried (%(default)s)"),
        ("--spread", number(2, 100000), "N", "pages that a reader sees while a dictionary lasts, "
         "over which its own bytes are spread (%(default)s)"),
        ("--cafile", os.path.abspath, "FILE", "certificates to trust instead of the system's"),
        ("--origin", url, "URL", "where httpd itself responds for the site, if a proxy is in front "
         "that does its TLS, such as http://127.0.0.1:8080"),
        ("--yes", None, "", "do not ask whether the pages are right"),
        ("--store", folder, "FOLDER", "ElasticDictionaryStore, where the configuration has none "
         "(%(default)s)"),
        ("--confdir", folder, "FOLDER", "httpd's configuration, with a folder conf-available or "
         "conf.d"),
        ("--apachectl", str, "COMMAND", "what takes -t and -k graceful (apache2ctl, apachectl or "
         "httpd)"), OUT)),
    "status": (enable.status, "show the dictionaries in force, what they save, and how the last "
               "renewal went", (SITE, OUT)),
    "renew": (enable.renew, "make the next dictionary of each site, and keep it if it is better", (
        SITE, OUT, ("--now", None, "", "replace the dictionary, though the next one is not "
                    "better"))),
    "disable": (enable.disable, "take the dictionary of a site, or of all, out of httpd, and leave "
                "nothing behind", (SITE, OUT)),
    "check": (check.run, "ask for a page as a browser does, and say what keeps its dictionary from "
              "being used", (
        ("url", url, "URL", "a page, or a file that is a dictionary for its next release"),
        ("--cafile", os.path.abspath, "FILE", "certificates to trust instead of the system's"),
        ("--resolve", address, "ADDRESS[:PORT]", "ask this address for the URL's host: the origin "
         "past a CDN, or one server of many")))}


def make_parser():
    parser = argparse.ArgumentParser(prog="elastic-dictionary", description=DESCRIPTION,
                                     epilog=EPILOG)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    store = next(filter(os.path.isdir, STORES), STORES[0]) + "/dictionaries"
    defaults = {**vars(state.Options()), "store": store, "out": state.FOLDER}
    for command, (run, text, rows) in COMMANDS.items():
        made = commands.add_parser(command, help=text, description=text)
        made.set_defaults(run=run)
        which = made.add_mutually_exclusive_group() if command == "enable" else made
        for name, kind, metavar, about in rows:
            more = {"help": about} if kind is None else {
                "help": about, "type": kind, "metavar": metavar}
            more["action"] = ("store_true" if kind is None else
                              "append" if name == "--accept-cookie" else "store")
            more["default"] = defaults.get(name[2:].replace("-", "_")) or None
            if (name, kind) == SITE[:2]:
                more["nargs"] = "?"
            (which if name in ("--pages", "--sitemap") else made).add_argument(name, **more)
    return parser


def main(words):
    def interrupt(*_):
        raise KeyboardInterrupt

    sys.stdout, sys.stderr = report.Screen(sys.stdout), report.Screen(sys.stderr)
    args = make_parser().parse_args(words)
    for one in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, interrupt)
    try:
        for name, load in (("brotli", libraries.load), ("zstd", libraries.load_dictionaries)):
            if not load(name):
                raise encoders.Missing(f"lib{name} is missing: install lib{name}1 (Debian) or "
                                       f"lib{name} (Fedora)")
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
