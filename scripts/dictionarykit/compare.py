"""`compare`: what a release of a file saves as the dictionary of later ones."""

import os

from codeckit import dictionaries
from dictionarykit import failure, judge, report

HELP = "show what a release of a file saves as the dictionary of later ones; requests nothing"


def add_arguments(parser):
    parser.add_argument("release", metavar="FILE", help="the dictionary")
    parser.add_argument("later", nargs="+", metavar="LATER", help="what is sent with it")


def run(args):
    contents = []
    for path in (args.release, *args.later):
        with open(path, "rb") as file:
            contents.append(file.read())
    if not all(contents):
        raise failure.Failed("a file is empty")
    dictionary, *bodies = contents
    plain = {5: [dictionaries.brotli_size(body) for body in bodies],
             11: list(map(judge.transfer_of, bodies))}
    print(report.releases(list(map(os.path.basename, args.later)), bodies,
                          judge.sizes_with(dictionary, bodies), plain,
                          [judge.cpu_ratio(dictionary, [body]) for body in bodies]))
    return 0
