"""scripts/compare: see its --help."""

import argparse
import fnmatch
import functools
import os
import sys

from kit import env

from . import comparison, report, sites
from .rows import ROWS


def _arguments():
    parser = argparse.ArgumentParser(
        prog="scripts/compare",
        description="Puts the same requests to httpd with the stock mod_deflate and mod_brotli, "
                    "and with mod_elastic under their names; prints where the answers differ. "
                    "Ends with 1 where a difference is not one of comparekit/expected.py, or one "
                    "of those does not occur.")
    parser.add_argument("--module", default=env.MODULE, metavar="FILE",
                        help="our mod_elastic.so (ELASTIC_MODULE)")
    parser.add_argument("--rows", default="*", metavar="PATTERN",
                        help="rows whose name matches, such as 'etags/*'")
    parser.add_argument("--all", action="store_true", help="rows without a difference too")
    parser.add_argument("--markdown", nargs="?", const="-", metavar="FILE",
                        help="tables in Markdown; with FILE, in place of those that it has, "
                             "as in docs/results/stock-and-ours.md")
    parser.add_argument("--stock-only", action="store_true", help="what stock says, and no more")
    return parser.parse_args()


def main():
    asked = _arguments()
    rows = [row for row in ROWS if fnmatch.fnmatchcase(row.name, asked.rows)]
    if not rows:
        sys.exit(f"compare: no row's name matches {asked.rows}")
    if asked.stock_only:
        asked.module = ""
    elif not os.path.exists(asked.module):
        print("compare: --module or ELASTIC_MODULE has to name mod_elastic.so", file=sys.stderr)
        return 2
    ours = functools.partial(sites.ours, module=asked.module) if asked.module else sites.stock
    results, troubles = comparison.compare(sites.stock, ours, rows)
    if asked.markdown == "-":
        print(report.markdown(results))
    elif asked.markdown:
        report.update(asked.markdown, results)
    else:
        print(*report.plain(results, asked.all or asked.stock_only), sep="\n")
        print(report.summary(results))
    for line in troubles:
        print(f"ours: {line}", file=sys.stderr)
    if asked.stock_only:
        return 0
    return 1 if troubles or any(result.surprise for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
