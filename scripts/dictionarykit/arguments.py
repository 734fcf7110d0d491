"""Options of commands, and what they may be."""

import argparse
import math
import os

from dictionarykit import failure, sources

# What would end a quoted argument of the configuration.
UNQUOTED = set('"\\\n\r')

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
    if not text or set(text) & UNQUOTED:
        raise argparse.ArgumentTypeError(f"'{text}': no quotes, backslashes or line ends")
    return text


def url_path(text):
    if not text.startswith("/") or not text.endswith("/"):
        raise argparse.ArgumentTypeError(f"'{text}': give a path such as /dictionaries/")
    return quotable(text)


def default_store():
    return next((store for store in STORES if os.path.isdir(store)), STORES[0]) + "/dictionaries"


def add_site(parser):
    parser.add_argument("site", nargs="?", metavar="URL", help="the site; without it, all")


def add_sources(parser):
    parser.add_argument("--pages", metavar="FILE", help="a file with a URL a line")
    parser.add_argument("--sitemap", metavar="URL", help="a sitemap, or an index of them")
    parser.add_argument("--log", metavar="FILE",
                        help="an access log, of which the most wanted pages are taken; may be .gz")


def add_bounds(parser):
    parser.add_argument("--most", type=number(1, 2000), default=200, metavar="N",
                        help="visit so many pages at most (%(default)s)")
    parser.add_argument("--rate", type=number(0.01, 1000, float), default=8, metavar="N",
                        help="requests a second at most (%(default)s)")
    parser.add_argument("--time", type=number(1, 86400), default=100, metavar="SECONDS",
                        help="begin no first visit to a page after half of this time, and no "
                             "second one after all of it once more (%(default)s)")
    parser.add_argument("--accept-cookie", action="append", default=[], metavar="NAME",
                        help="a cookie that every visitor gets, and that changes nothing of a "
                             "page, is no reason to refuse it; may be repeated")
    parser.add_argument("--accept-private", action="store_true",
                        help="nor is Cache-Control: private or no-store")
    parser.add_argument("--cafile", metavar="FILE",
                        help="certificates to trust instead of the system's")
    parser.add_argument("--address", metavar="IP",
                        help="connect to this address, not to what the name leads to here")


def add_making(parser):
    parser.add_argument("--yes", action="store_true", help="do not ask whether the pages are right")
    parser.add_argument("--print", action="store_true",
                        help="write the dictionary, and print the configuration to paste")
    parser.add_argument("--largest", type=number(1, 8192), default=512, metavar="KB",
                        help="the largest dictionary that is tried (%(default)s)")
    parser.add_argument("--spread", type=number(1, 100000), default=1000, metavar="N",
                        help="pages over which a dictionary's own bytes are spread, when "
                             "dictionaries are compared (%(default)s)")
    parser.add_argument("--url", type=url_path, default="/dictionaries/", metavar="PATH",
                        help="where dictionaries are on the site (%(default)s)")
    parser.add_argument("--store", type=quotable, default=default_store(), metavar="FOLDER",
                        help="ElasticDictionaryStore, where the configuration has none "
                             "(%(default)s)")
    parser.add_argument("--confdir", metavar="FOLDER",
                        help="httpd's configuration, with a folder conf-available or conf.d")
    parser.add_argument("--apachectl", metavar="COMMAND",
                        help="what takes -t and -k graceful (apache2ctl, apachectl or httpd)")


def check(options):
    """Ends the command where options do not fit."""
    try:
        scheme, host, _ = sources.origin(options.site)
    except sources.Unusable as problem:
        options.error(str(problem))
    if scheme != "https" and host not in LOOPBACK:
        raise failure.Failed(f"{options.site}: browsers use dictionaries over https only")
    if sum(map(bool, (options.pages, options.sitemap, options.log))) > 1:
        options.error("give one of --pages, --sitemap and --log")
    if set(options.out) & UNQUOTED:
        options.error(f"{options.out} cannot be written into a configuration")
    for name in ("pages", "log", "cafile"):
        if getattr(options, name):
            setattr(options, name, os.path.abspath(getattr(options, name)))
