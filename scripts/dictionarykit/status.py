"""`status`: which sites have a dictionary, what it saves, and how the last renewal went."""

import os
import time

from dictionarykit import arguments, httpd, inforce, report, state, timer

HELP = "show the dictionaries in force, what they save, and how the last renewal went"


def add_arguments(parser):
    arguments.add_site(parser)
    state.add_folder(parser)


def date(seconds):
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def faults(folder, known):
    """What is not as `enable` has left it."""
    place = inforce.Place(httpd.Httpd(known["confdir"], known["apachectl"]), folder, known["site"])
    for path in (place.conf, os.path.join(place.folder, known["name"])):
        if not os.path.exists(path):
            yield f"{path} is gone: enable the site again, or disable it"


def run(args):
    found = inforce.sites(args)
    broken = False
    for known in found.values():
        figures = known["figures"]
        print(f"{known['site']}\n  dictionary {known['name']}, {figures['dictionary']:,} bytes, of "
              f"{date(known['made'])}\n  " + report.verdict(figures).replace("\n", "\n  "))
        renewed = known["renewed"]
        print("  last renewal: " + (f"{date(renewed['at'])}, {renewed['said']}" if renewed else
                                    "none yet"))
        for fault in faults(args.out, known):
            broken = True
            print("  " + fault)
    print(f"renewed {timer.status()}")
    return 1 if broken else 0
