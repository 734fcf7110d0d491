"""The command line: sizing URL-or-folder, or sizing --pages URL-or-folder."""

import argparse
import pathlib
import platform
import re
import sys
import typing

from sizingkit import now, pages, plans, report, sent, setups

UNITS = {"kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9}


class Facts(typing.NamedTuple):
    given: str
    pages: int
    compressed: int
    source: str
    machine: str
    rate: float  # bit/s
    prices: tuple  # of a CPU hour, of a GB


def rate(text):
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(kbit/s|Mbit/s|Gbit/s)", text)
    if not found or not float(found[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is no rate such as 5Mbit/s")
    return float(found[1]) * UNITS[found[2]]


def amount(text):
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no price")
    return value


def count(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of pages")
    return value


def make_parser():
    parser = argparse.ArgumentParser(
        prog="elastic-sizing",
        description="Says what mod_elastic would change for a site's own pages, against what the "
                    "site sends now, or what mod_deflate and mod_brotli are configured to do: "
                    "bytes, CPU time, time, money.")
    parser.add_argument("given", nargs="?", metavar="URL|FOLDER", help="the site, or its files")
    parser.add_argument("--pages", metavar="URL|FOLDER", help="the same")
    parser.add_argument("--most", type=count, default=200, metavar="N",
                        help="look at no more pages than this (default: %(default)s)")
    parser.add_argument("--config", metavar="FILE",
                        help="httpd's configuration of today (default: what the site at the URL "
                             "sends; of a folder, this machine's configuration)")
    parser.add_argument("--rate", type=rate, default=5e6, metavar="RATE",
                        help="of the clients' lines (default: 5Mbit/s)")
    parser.add_argument("--price-cpu-hour", type=amount, default=0.044, metavar="PRICE",
                        help="what an hour of one CPU costs (default: %(default)s)")
    parser.add_argument("--price-gb", type=amount, default=0.09, metavar="PRICE",
                        help="what a gigabyte sent costs (default: %(default)s)")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("elastic-sizing.html"),
                        metavar="FILE", help="where the page goes (default: %(default)s)")
    return parser


def say(text):
    print(text, file=sys.stderr, flush=True)


def size(options, given):
    found = pages.collect(given, options.most, say)
    compressible = [page for page in found if page.is_compressible()]
    if not compressible:
        raise pages.Problem(f"{given} has no pages that would be compressed")
    today = sent.Today(found) if found[0].sent and not options.config else now.find(options.config)
    encoders = setups.Encoders(max(len(page.body) for page in found))
    sizes = plans.measure(found, today, encoders, say)
    facts = Facts(given, len(found), len(compressible), today.source,
                  platform.processor() or platform.machine(), options.rate,
                  (options.price_cpu_hour, options.price_gb))
    made = plans.make(sizes, options.rate, today)
    options.out.write_text(report.page(made, sizes, facts), encoding="utf-8")
    print(report.text(made, facts))
    say(f"page: {options.out}")


def main(arguments):
    parser = make_parser()
    options = parser.parse_args(arguments)
    if (options.given is None) == (options.pages is None):
        parser.error("give a URL or a folder, once")
    try:
        size(options, options.given or options.pages)
    except (pages.Problem, OSError) as problem:
        say(f"elastic-sizing: {problem}")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0
