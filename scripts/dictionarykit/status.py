"""`status`: which sites have a dictionary, what it saves, and how the last renewal went; the same
for httpd's status page. `disable`: takes away what `enable` has made."""

import os
import time

from dictionarykit import change, exchange, report, state, timer, unprivileged
from dictionarykit.exchange import Failed

SHOWN = "sites"  # the file in httpd's store whose lines the status page has


def sites(args, known):
    """Those that a command is for; Failed where there is none."""
    found = [site for site in known.sites
             if not args.site or exchange.origin(site.url) == exchange.origin(args.site)]
    if not found:
        who = f"{args.site} has no" if args.site else "No site has a"
        raise Failed(f"{who} dictionary in {args.out}")
    return found


def date(seconds):
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def renewal(site):
    return f"{date(site.renewed_at)}, {site.renewed}" if site.renewed else "none yet"


def show(place):
    """On httpd's status page. The store is httpd's user's, so it is written to as that user: root
    could be led elsewhere by a link."""
    def put(path, lines):
        if lines:
            state.replace(path, "".join(lines).encode(errors="replace"))
        else:
            state.remove(path)

    try:
        store = place.server.store()
        lines = [f"{site.url}: dictionary since {date(site.made)}; last renewal: {renewal(site)}\n"
                 for site in place.read().sites]
        if store and os.path.isdir(store):
            unprivileged.call(put, os.path.join(store, SHOWN), lines, uid=place.server.user())
    except Failed as problem:
        print(f"httpd's status page does not show it: {problem}")


def fault(place, site):
    """What is not as `enable` has left it; None: nothing."""
    path, conf = place.path(site.dictionary), place.server.conf_of()
    if not os.path.exists(path):
        return f"{path} is gone: enable the site again, or disable it"
    if not place.server.is_switched():
        return f"httpd does not read {conf}: run a2enconf elastic-dictionary, or disable the site"
    if not place.server.serves(path):
        return f"httpd does not serve it: is {conf} changed, or mod_elastic gone?"
    return None


def run(args):
    place = change.of_folder(args.out)
    code = 0
    for site in sites(args, place.read()):
        said = report.verdict(site.figures, site.options.spread).replace("\n", "\n  ")
        print(f"{site.url}\n  dictionary {site.dictionary}, {site.figures.dictionary:,} bytes, of "
              f"{date(site.made)}\n  {said}\n  last renewal: {renewal(site)}")
        found = fault(place, site)
        if found:
            code = 1
            print("  " + found)
    print(f"renewed {timer.status()}")
    return code


def disable(args):
    place = change.of_folder(args.out)
    known = place.read()
    gone = sites(args, known)
    try:
        place.server.configtest()
    except Failed:
        place.is_broken = True
    place.change(known.without(gone))
    show(place)
    for site in gone:
        print(f"{site.url} has no dictionary any more. Browsers that have it get ordinary codings.")
    return 0
