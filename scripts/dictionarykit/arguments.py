"""Options of commands, and what they may be."""

import argparse
import math
import os

from dictionarykit import response, sources

# What would end a quoted argument of the configuration.
UNQUOTED = set('"\\\n\r')

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


def origin(text):
    try:
        sources.origin(text)
    except sources.Unusable as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None
    return text


def default_store():
    return next((store for store in STORES if os.path.isdir(store)), STORES[0]) + "/dictionaries"


def add_sources(parser):
    parser.add_argument("urls", nargs="*", metavar="URL", help="a page")
    parser.add_argument("--urls", dest="list", metavar="FILE", help="a file with a URL a line")
    parser.add_argument("--sitemap", metavar="URL")
    parser.add_argument("--log", metavar="FILE",
                        help="an access log, of which the most wanted pages are taken; may be .gz")
    parser.add_argument("--site", type=origin, metavar="URL",
                        help="the site whose log it is, such as https://www.example.org")
    parser.add_argument("--clients", type=number(1, 1000), default=2, metavar="N",
                        help="how many clients have asked for a page of the log (%(default)s)")
    parser.add_argument("--queries", action="store_true",
                        help="take URLs of the log with queries, too")


def add_bounds(parser):
    parser.add_argument("--pages", type=number(1, 2000), default=60, metavar="N",
                        help="visit so many at most (%(default)s)")
    parser.add_argument("--rate", type=number(0.01, 1000, float), default=5, metavar="N",
                        help="requests a second at most (%(default)s)")
    parser.add_argument("--time", type=number(1, 86400), default=300, metavar="SECONDS",
                        help="visit for so long at most (%(default)s)")
    parser.add_argument("--accept-cookie", action="append", default=[], metavar="NAME",
                        help="a cookie that every visitor gets, and that changes nothing of a "
                             "page, is no reason to refuse it; may be repeated")
    parser.add_argument("--accept-no-store", action="store_true",
                        help="nor is Cache-Control: no-store")


def add_making(parser):
    parser.add_argument("--visit", type=number(2, 10000), default=10, metavar="N",
                        help="pages that a visitor sees while he has it (%(default)s)")
    parser.add_argument("--largest", type=number(1, 8192), default=512, metavar="KB",
                        help="the largest dictionary that is tried (%(default)s)")
    parser.add_argument("--out", metavar="FOLDER",
                        help="where the dictionary is written; without it there are tables only")
    parser.add_argument("--url", type=url_path, default="/dictionaries/", metavar="PATH",
                        help="where the folder is on the site (%(default)s)")
    parser.add_argument("--match", type=quotable, default="/*", metavar="PATTERN",
                        help="for which URLs the dictionary is (%(default)s)")
    parser.add_argument("--store", type=quotable, default=default_store(), metavar="FOLDER",
                        help="ElasticDictionaryStore (%(default)s)")
    parser.add_argument("--conf", metavar="FILE",
                        help="write the site's part of the configuration to a file for Include")
    parser.add_argument("--renew", action="store_true",
                        help="make the next one, beside those of the folder")
    parser.add_argument("--keep", type=number(0, 1000), default=2, metavar="N",
                        help="previous ones that --renew leaves (%(default)s)")
    parser.add_argument("--always", action="store_true",
                        help="renew also where it does not pay for who has the previous one")


def check(options):
    """Ends the command where options do not fit each other."""
    if not (options.urls or options.list or options.sitemap or options.log):
        options.error("give URLs, --urls, --sitemap or --log")
    if options.log and not options.site:
        options.error("--log needs --site")
    if (options.renew or options.conf) and not options.out:
        options.error("--renew and --conf need --out")
    if options.out:
        if not os.path.isdir(options.out):
            options.error(f"{options.out} is not a directory")
        options.out = os.path.realpath(options.out)
        if set(options.out) & UNQUOTED:
            options.error(f"{options.out} cannot be written into a configuration")
    options.accepted = response.Accepted(frozenset(options.accept_cookie), options.accept_no_store)
