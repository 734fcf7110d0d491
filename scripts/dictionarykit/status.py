"""`status`: which sites have a dictionary, what it saves, and how the last renewal went; the same
for httpd's status page."""

import os
import sys
import time

from dictionarykit import arguments, change, failure, files, report, timer, unprivileged

HELP = "show the dictionaries in force, what they save, and how the last renewal went"
SHOWN = "sites"  # the file in httpd's store whose lines the status page has


def add_arguments(parser):
    arguments.add_site(parser)


def say(text, code):
    """What has failed goes to who gets cron's mail."""
    sys.stdout.flush()
    print(text, file=sys.stderr if code else sys.stdout, flush=True)


def date(seconds):
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def renewal(site):
    return f"{date(site.renewed_at)}, {site.renewed}" if site.renewed else "none yet"


def put(path, text):
    if text:
        files.replace(path, text.encode(errors="replace"))
    else:
        files.remove(path)


def show(place):
    """On httpd's status page. The store is httpd's user's, so it is written to as that user: root
    could be led elsewhere by a link."""
    try:
        known, store = place.read(), place.server.store()
        lines = [f"{site.url}: dictionary since {date(site.made)}; last renewal: {renewal(site)}\n"
                 for site in known.sites]
        if store and os.path.isdir(store):
            unprivileged.call(put, os.path.join(store, SHOWN), "".join(lines),
                              uid=place.server.user())
    except failure.Failed as problem:
        print(f"httpd's status page does not show it: {problem}")


def faults(place, site):
    """What is not as `enable` has left it."""
    if not os.path.exists(place.path(site.dictionary)):
        yield f"{place.path(site.dictionary)} is gone: enable the site again, or disable it"
    elif not place.server.is_switched():
        yield (f"httpd does not read {place.server.conf_of()}: run a2enconf elastic-dictionary, or "
               "disable the site")
    elif place.path(site.dictionary) not in place.server.served():
        yield f"httpd does not serve it: is {place.server.conf_of()} changed, or mod_elastic gone?"


def run(args):
    place = change.of_folder(args.out)
    broken = False
    for site in arguments.sites(args, place.read()):
        print(f"{site.url}\n  dictionary {site.dictionary}, {site.figures.dictionary:,} bytes, of "
              f"{date(site.made)}\n  "
              + report.verdict(site.figures, site.options.spread).replace("\n", "\n  "))
        print("  last renewal: " + renewal(site))
        for fault in faults(place, site):
            broken = True
            print("  " + fault)
    print(f"renewed {timer.status()}")
    return 1 if broken else 0
