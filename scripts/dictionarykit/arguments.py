"""Options of commands, and what they may be."""

import argparse
import math
import os

from dictionarykit import failure, sources, state

# Where http counts as secure, too.
LOOPBACK = ("localhost", "127.0.0.1", "::1")

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


def quotable(text):
    if not text or state.UNQUOTED.search(text):
        raise argparse.ArgumentTypeError(f"{text!r}: no quotes, backslashes or line ends")
    return text


def folder(text):
    return os.path.realpath(quotable(text))


def url(text):
    try:
        sources.origin(text)
    except sources.Unusable as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None
    return text


def site_url(text):
    """Of a site that browsers use dictionaries of."""
    scheme, host, _ = sources.origin(url(text))
    if scheme != "https" and host not in LOOPBACK:
        raise argparse.ArgumentTypeError(f"{text}: browsers use dictionaries over https only")
    return text


def option(parser, name, kind, metavar, text):
    """One that may be left out; argparse converts defaults, too."""
    parser.add_argument(name, default="", metavar=metavar, help=text,
                        type=lambda given: kind(given) if given else "")


def default_store():
    return next((store for store in STORES if os.path.isdir(store)), STORES[0]) + "/dictionaries"


def add_folder(parser):
    parser.add_argument("--out", type=folder, default=state.FOLDER, metavar="FOLDER",
                        help="where dictionaries are kept (%(default)s)")


def add_site(parser):
    parser.add_argument("site", nargs="?", type=url, metavar="URL",
                        help="the site; without it, all")
    add_folder(parser)


def add_pages(parser):
    """What state.Options keeps, and of which the defaults are."""
    given = state.Options()
    which = parser.add_mutually_exclusive_group()
    option(which, "--pages", os.path.abspath, "FILE", "a file with a URL a line")
    option(which, "--sitemap", url, "URL", "a sitemap, or an index of them")
    parser.add_argument("--most", type=number(1, 2000), default=given.most, metavar="N",
                        help="visit so many pages at most (%(default)s)")
    parser.add_argument("--rate", type=number(0.01, 1000, float), default=given.rate, metavar="N",
                        help="requests a second at most (%(default)s)")
    parser.add_argument("--time", type=number(1, 86400), default=given.time, metavar="SECONDS",
                        help="end the first visits to pages after half of this time, and the "
                             "second ones after all of it once more (%(default)s)")
    parser.add_argument("--accept-cookie", action="append", default=[], metavar="NAME",
                        help="a cookie that every visitor gets, and that changes nothing of a "
                             "page, is no reason to refuse it; may be repeated")
    parser.add_argument("--accept-private", action="store_true",
                        help="nor is Cache-Control: private or no-store")
    parser.add_argument("--largest", type=number(1, 8192), default=given.largest, metavar="KB",
                        help="the largest dictionary that is tried (%(default)s)")
    parser.add_argument("--spread", type=number(2, 100000), default=given.spread, metavar="N",
                        help="pages that a reader sees while a dictionary lasts, over which its "
                             "own bytes are spread (%(default)s)")
    option(parser, "--cafile", os.path.abspath, "FILE",
           "certificates to trust instead of the system's")


def add_making(parser):
    parser.add_argument("--yes", action="store_true", help="do not ask whether the pages are right")
    parser.add_argument("--store", type=folder, default=default_store(), metavar="FOLDER",
                        help="ElasticDictionaryStore, where the configuration has none "
                             "(%(default)s)")
    option(parser, "--confdir", folder, "FOLDER",
           "httpd's configuration, with a folder conf-available or conf.d")
    option(parser, "--apachectl", str, "COMMAND",
           "what takes -t and -k graceful (apache2ctl, apachectl or httpd)")


def options(args):
    """What is kept of them for the next dictionary."""
    return state.Options(**{name: getattr(args, name)
                            for name in state.Options.__dataclass_fields__})


def sites(args, known):
    """Those that a command is for; Failed where there is none."""
    found = known.sites if known else []
    if args.site:
        found = [site for site in found
                 if sources.origin(site.url) == sources.origin(args.site)]
    if not found:
        who = f"{args.site} has no" if args.site else "No site has a"
        raise failure.Failed(f"{who} dictionary in {args.out}")
    return found
