"""The command: see its --help."""

import argparse
import json
import sys

from conformance import checks

KEPT, BROKEN, SKIPPED = "kept", "broken", "not asked"


def verdicts(target):
    """{check: (KEPT, BROKEN or SKIPPED, why)}."""
    found = {}
    for check in checks.CHECKS:
        try:
            wrong = check.ask(target)
        except checks.NotAsked as why:
            found[check] = SKIPPED, str(why)
        except (OSError, ValueError) as problem:
            found[check] = BROKEN, f"{type(problem).__name__}: {problem}"
        else:
            found[check] = (BROKEN, wrong) if wrong else (KEPT, "")
    return found


def arguments():
    parser = argparse.ArgumentParser(
        prog="tests/conformance/run",
        description="Asks a server what HTTP says of compression: negotiation, Vary, entity tags, "
                    "HEAD, ranges, bodies of requests, dictionaries. Ends with 1 where a MUST is "
                    "broken. What needs a path that is not given is not asked.")
    parser.add_argument("--base", required=True, metavar="URL", help="such as http://127.0.0.1:80")
    parser.add_argument("--page", default="/index.html", metavar="PATH",
                        help="a static page of some KB (default: %(default)s)")
    for name, text in (("upload", "answers a POST with the bytes that it read"),
                       ("events", "sends something at once, and the rest a second later"),
                       ("no-transform", "has Cache-Control: no-transform"),
                       ("encoded", "comes with Content-Encoding: gzip from its origin"),
                       ("dictionary", "has Use-As-Dictionary, for the page")):
        parser.add_argument(f"--{name}", default="", metavar="PATH", help=text)
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args()


def main():
    asked = vars(arguments())
    as_json = asked.pop("json")
    found = verdicts(checks.Target(**asked))
    if as_json:
        print(json.dumps({check.name: {"level": check.level, "section": check.section,
                                       "verdict": verdict, "why": why}
                          for check, (verdict, why) in found.items()}, indent=1))
    else:
        for check, (verdict, why) in found.items():
            print(f"{verdict:<10} {check.level:<7} {check.section:<18} {check.name}: {check.text}"
                  + (f": {why}" if why else ""))
    return int(any(verdict == BROKEN and check.level == checks.MUST
                   for check, (verdict, _) in found.items()))


if __name__ == "__main__":
    sys.exit(main())
