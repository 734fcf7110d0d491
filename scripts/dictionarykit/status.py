"""`status`: which sites have a dictionary, what it saves, and how the last renewal went; the same
for httpd's status page."""

import contextlib
import os
import time

from dictionarykit import (arguments, configuration, failure, files, httpd, inforce, report, state,
                           timer, unprivileged)

HELP = "show the dictionaries in force, what they save, and how the last renewal went"
SHOWN = "sites"  # the file in httpd's store whose lines the status page has


def add_arguments(parser):
    arguments.add_site(parser)
    state.add_folder(parser)


def date(seconds):
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def renewal(known):
    renewed = known["renewed"]
    return f"{date(renewed['at'])}, {renewed['said']}" if renewed else "none yet"


def put(path, text):
    if text:
        files.replace(path, text.encode(errors="replace"))
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def show(folder, known):
    """On httpd's status page, the sites in the store of `known`. The store is httpd's user's, so it
    is written to as that user: root could be led elsewhere by a link."""
    store = known.get("in_store", "")
    lines = [f"{one['site']}: dictionary since {date(one['made'])}, until "
             f"{date(one['made'] + configuration.LIFETIME)}; last renewal: {renewal(one)}\n"
             for one in state.read_all(folder).values() if one.get("in_store") == store]
    if os.path.isdir(store):
        try:
            unprivileged.call(put, os.path.join(store, SHOWN), "".join(lines),
                              uid=httpd.Httpd(known["confdir"], known["apachectl"]).user())
        except failure.Failed as problem:
            print(f"httpd's status page does not show it: {problem}")


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
        print("  last renewal: " + renewal(known))
        for fault in faults(args.out, known):
            broken = True
            print("  " + fault)
    print(f"renewed {timer.status()}")
    return 1 if broken else 0
