"""The commands. `enable`: from a site's URL to a dictionary in force. `renew`: makes the next one
if it is better, or if the one in force is old or has text that is gone from the site. `status`: the
sites with a dictionary, and its savings. `disable`: removes the results of `enable`."""

import dataclasses
import os
import ssl
import sys
import time

from dictionarykit import (change, check, exchange, httpd, making, report, sources, state, timer,
                           unprivileged, visit)
from dictionarykit.exchange import Failed

GAIN_LEAST = 0.05  # of a reader's bytes with brotli 5, all counted
RENEWAL_LEAST = 0.03  # of the bytes with the previous dictionary
LIFETIME = 30 * 24 * 3600  # seconds for which browsers keep a dictionary
EXPIRING = LIFETIME - 7 * 24 * 3600  # the age at which it would not last until the next renewal

SHOWN = "sites"  # the file in httpd's store whose lines the status page shows
HINT = (". Where a cookie that every visitor gets changes nothing of a page, name it with "
        "--accept-cookie; where pages without cookies are for everyone, though they are called "
        "private or no-store, use --accept-private")
HIDDEN = (". httpd answers strangers with 401 or 403, though this machine may see more: look for "
          "access rules such as Require local or Allow from")


def sites(args, known):
    """The sites of a command; raises Failed if there is none."""
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
    """Shows the sites on httpd's status page. The store belongs to httpd's user, so that user
    writes to it: a link could redirect root."""
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


def order_of(site, options, reach, before=()):
    """The order for the visit; files are opened here, with privileges."""
    urls = []
    if options.pages:
        with open(options.pages, encoding="utf-8") as file:
            urls = sources.of_lines(file.read())
        if not urls:
            raise Failed(f"{options.pages}: no URL is in it")
    return visit.Order(site, options, reach, urls, list(before))


def fetch(order):
    """The pages, each fetched twice."""
    found = unprivileged.call(visit.fetch, order, seconds=2 * order.options.time + 120)
    pages = [visit.Page(*page) for page in found["pages"]]
    if found["refused"]:
        print(report.refusals(found["refused"]) + "\n")
    if len(pages) < visit.PAGES_LEAST:
        begins = "sets the cookie", "is private", "is no-store"
        raise Failed(f"pages that can be used: {len(pages)}; a dictionary takes at least "
                     f"{visit.PAGES_LEAST} different ones"
                     + HINT * any(reason.startswith(begins) for _, reason in found["refused"])
                     + HIDDEN * any(reason.endswith((" 401", " 403"))
                                    for _, reason in found["refused"]))
    return pages


def train(order, pages, previous=None):
    """making.make_best() with typed figures."""
    made = unprivileged.call(making.make_best, order, pages, previous)
    for name in ("figures", "previous"):
        made[name] = made[name] and state.Figures(*made[name])
    return made


def reach_of(server, url, options):
    """How the site is reached: not through a proxy in front that terminates the site's TLS."""
    try:
        context = ssl.create_default_context(cafile=options.cafile or None)
    except (OSError, ssl.SSLError) as problem:
        raise Failed(f"{options.cafile}: {problem}") from None
    if not options.origin:
        return exchange.Reach(server.addresses(url), context)
    scheme, host, port = exchange.origin(options.origin)
    told = {} if url.startswith(scheme + ":") else {"X-Forwarded-Proto": exchange.origin(url)[0]}
    return exchange.Reach((host,), context, port, scheme, told)


def make(server, site, previous=None, confirm=lambda pages: None):
    """(the next dictionary of a site, how to reach the site as an ordinary visitor)."""
    reach = reach_of(server, site.url, site.options)
    with httpd.stranger(server, reach) as as_stranger:
        order = order_of(site.url, site.options, as_stranger, site.pages)
        pages = fetch(order)
        confirm(pages)
        made = train(order, pages, previous)
    print(f"{made['said']}\n\n{report.verdict(made['figures'], site.options.spread)}")
    for url in made["versioned"]:
        print(report.plain(f"Each release is the dictionary of the next: {url}"))
    for url, reason in made["unruled"]:
        print(report.plain(f"Has a version, but no rule: {url}: {reason}"))
    return made, reach


def check_gain(figures, options):
    gain = report.gain(figures, options.spread)
    if gain < GAIN_LEAST:
        raise Failed(
            f"a reader of {options.spread} pages would get {report.change(gain)} than with brotli "
            f"5, the dictionary's own bytes counted, and it has to save {100 * GAIN_LEAST:.0f} %: "
            "the pages have too little in common, or readers see too few of them (--spread)")


def put(place, known, site, made, reach):
    """Puts the new dictionary of `site` in force and checks it; returns the check's result."""
    site = dataclasses.replace(
        site, dictionary=state.name_of(made["content"]), made=int(time.time()),
        figures=made["figures"], pages=made["urls"], versioned=made["versioned"])
    seen = place.change(known.put(site), made["content"], lambda: unprivileged.call(
        check.check, reach, made["content"], made["held"], made["versioned"],
        seconds=check.AWAITED + 2 * check.CHECKED))
    show(place)
    return seen


def with_store(known, server, wanted):
    """The state with the store that the configuration must set. httpd writes to it."""
    own = server.store()
    store = own or wanted
    is_there = os.path.isdir(store)
    if is_there and not unprivileged.call(os.access, store, os.W_OK | os.X_OK, uid=server.user()):
        raise Failed(f"httpd's user may not write to {store}: give it that folder, with mode 700")
    if is_there and not os.statvfs(store).f_bavail:
        raise Failed(f"{store}: no space is left on the device")
    return known if known.sites else dataclasses.replace(
        known, store="" if own else store, made_store=not own and not is_there)


def enable(args, place):
    """Returns the check's result."""
    def confirm(pages):
        print(report.pages(pages) + "\n\nWhat is in these pages becomes public; they were fetched "
              "without cookies, as by a stranger,\nand what differed between two visits is left "
              "out.")
        if not args.yes:
            print("Use these pages? [y/N] ", end="", flush=True)
            if sys.stdin.readline().strip().lower() not in ("y", "yes"):
                raise Failed("nothing was changed")
        print("\nTrying dictionaries ...\n", flush=True)

    options = state.Options(**{name: value for name, value in vars(args).items()
                               if name in state.Options.__dataclass_fields__ and value is not None})
    known = with_store(place.read(), place.server, args.store)
    site = state.Site(args.site, "", 0, options, None, [], [])
    print(f"Fetching at most {args.most} pages of {args.site}, twice ...", flush=True)
    made, reach = make(place.server, site, confirm=confirm)
    check_gain(made["figures"], options)
    return put(place, known, site, made, reach)


def run(args):
    state.check_secure(args.out)
    known = state.read(os.path.join(args.out, state.FILE))
    of = known if known and known.sites else args  # the httpd of the sites in the folder
    for name in ("confdir", "apachectl"):
        if of is known and getattr(args, name) not in (None, getattr(known, name)):
            raise Failed(f"{args.out} is for the httpd of --{name} '{getattr(known, name)}': take "
                         "another --out")
    server = httpd.Httpd(of.confdir, of.apachectl)
    server.configtest()
    if not server.is_running():
        raise Failed("httpd does not run")
    try:
        os.makedirs(args.out, mode=0o755, exist_ok=True)
        os.chmod(args.out, 0o755)
    except OSError as problem:
        raise Failed(f"{args.out} cannot be made: {problem.strerror}") from None
    place = change.open_place(args.out, server)
    try:
        seen = enable(args, place)
    except BaseException:
        place.leave()
        raise
    print(f"\nIn force, and checked as a browser: {seen['used']} of {seen['pages']} pages came "
          f"with the dictionary, right to the byte,\nin {seen['bytes']:,} bytes; without it they "
          f"take {seen['bytes_without']:,} now.\n{timer.turn_on(args.out)}")
    return 0


def reason_for(made, age, now=False):
    """The reason to replace the previous dictionary by the new one; None: keep it."""
    if not made["previous"]:
        return "the previous one was gone"
    if made["is_gone"]:
        return "the previous one had text that is not on these pages any more"
    gain = 1 - made["figures"].page_with / made["previous"].page_with
    if gain >= RENEWAL_LEAST:
        return f"pages take {100 * gain:.1f} % less than with the previous one"
    if not 0 <= age < EXPIRING:  # also from the future, after a wrong clock
        return "the previous one was about to expire"
    return "as was asked for" if now else None


def next_one(args, place, site):
    """Returns the result as text."""
    known, spread = place.read(), site.options.spread
    if not place.server.is_switched():
        raise Failed("httpd does not read the configuration of elastic-dictionary any more: run "
                     "a2enconf elastic-dictionary, or disable the site")
    place.server.configtest()
    made, reach = make(place.server, site, state.read_file(place.path(site.dictionary)))
    previous, new = made["previous"], made["figures"]
    reason = reason_for(made, time.time() - site.made, args.now)
    if reason and report.gain(new, spread) >= GAIN_LEAST:
        put(place, known, site, made, reach)
        return f"renewed: {reason}"
    if made["is_gone"]:
        place.change(known.without([site]))
        raise Failed("the dictionary had text that is not on these pages any more, a new one is "
                     "not worth it, and the site has none now")
    if not previous:
        raise Failed("the previous one was gone, and a new one is not worth it")
    # The figures shown for the one in force are those of today's pages.
    state.write(place.file, known.put(dataclasses.replace(site, figures=previous)))
    gain = report.gain(previous, spread)
    if gain < GAIN_LEAST:
        raise Failed(f"a reader of {spread} pages of today gets {report.change(gain)} with the "
                     "dictionary in force, its own bytes counted, and a new one is not worth it "
                     "either: `elastic-dictionary disable` takes it out")
    return ("kept: with a new one pages would take "
            f"{report.change(1 - new.page_with / previous.page_with)}, and less than "
            f"{100 * RENEWAL_LEAST:.0f} % is not worth it")


def renew(args):
    place = change.of_folder(args.out)
    code = 0
    for site in sites(args, place.read()):
        failed = False
        try:
            said = next_one(args, place, site)
        except (Failed, OSError) as problem:
            code, failed, said = 1, True, f"failed: {problem}"
        sys.stdout.flush()
        # Failures go to the recipient of cron's mail.
        print(f"{site.url}: {said}", file=sys.stderr if failed else sys.stdout, flush=True)
        known = place.read()
        now = known.find(site.url)
        if now:
            state.write(place.file, known.put(dataclasses.replace(
                now, renewed_at=int(time.time()), renewed=said)))
        show(place)
    return code


def status(args):
    place = change.of_folder(args.out)
    code = 0
    for site in sites(args, place.read()):
        said = report.verdict(site.figures, site.options.spread).replace("\n", "\n  ")
        print(f"{site.url}\n  dictionary {site.dictionary}, {site.figures.dictionary:,} bytes, of "
              f"{date(site.made)}\n  {said}\n  last renewal: {renewal(site)}")
        path, conf, fault = place.path(site.dictionary), place.server.conf_of(), ""
        if not os.path.exists(path):
            fault = f"{path} is gone: enable the site again, or disable it"
        elif not place.server.is_switched():
            fault = (f"httpd does not read {conf}: run a2enconf elastic-dictionary, or disable the "
                     "site")
        elif not place.server.serves(path):
            fault = f"httpd does not serve it: is {conf} changed, or mod_elastic gone?"
        if fault:
            code = 1
            print("  " + fault)
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
