"""`enable`: from a site's URL to a dictionary in force; also what `renew` does of that."""

import dataclasses
import os
import ssl
import sys
import time

from dictionarykit import (arguments, candidates, change, failure, files, httpd, judge, making,
                           report, response, selfcheck, sources, state, status, stranger, timer,
                           unprivileged, versioned, visit)

HELP = "make the dictionary of a site's public pages, and have httpd use it"

# What to do about refusals that begin so.
HINTS = (
    (("sets the cookie",), ". Where a cookie that every visitor gets changes nothing of a page, "
                           "name it with --accept-cookie"),
    (("is private", "is no-store"), ". Where pages without cookies are for everyone nonetheless, "
                                    "use --accept-private"),
)


def add_arguments(parser):
    parser.add_argument("site", type=arguments.site_url, metavar="URL",
                        help="the site, such as https://www.example.org/")
    arguments.add_pages(parser)
    arguments.add_making(parser)
    arguments.add_folder(parser)


def order_of(site, options, reach, before=()):
    """What to fetch; files are opened here, where privileges are."""
    urls = []
    if options.pages:
        with open(options.pages, encoding="utf-8") as file:
            urls = sources.of_lines(file.read())
        if not urls:
            raise failure.Failed(f"{options.pages}: no URL is in it")
    return making.Order(
        site, reach, response.Accepted(frozenset(options.accept_cookie), options.accept_private),
        options.most, options.rate, options.time, urls, options.sitemap, list(before))


def context_of(options):
    try:
        return ssl.create_default_context(cafile=options.cafile or None)
    except (OSError, ssl.SSLError) as problem:
        raise failure.Failed(f"{options.cafile}: {problem}") from None


def fetch(order):
    """The pages, each fetched twice."""
    found = unprivileged.call(making.fetch, order, seconds=2 * order.seconds + 120)
    pages = [visit.Page(*page) for page in found["pages"]]
    if found["refused"]:
        print(report.refusals(found["refused"]) + "\n")
    if len(pages) < candidates.PAGES_LEAST:
        hint = "".join(text for begins, text in HINTS if any(
            reason.startswith(begins) for _, reason in found["refused"]))
        raise failure.Failed(f"pages that can be used: {len(pages)}; a dictionary takes at least "
                             f"{candidates.PAGES_LEAST} different ones{hint}")
    return pages


def train(order, pages, options, previous=None):
    """As making.train(), with typed figures and {URL: rule}."""
    made = unprivileged.call(making.train, order, pages, options.largest, options.spread, previous)
    made["rules"] = versioned.rules_of(made["rules"])
    for name in ("figures", "previous"):
        made[name] = made[name] and state.typed(state.Figures, made[name])
    return made


def gain_of(figures, options):
    return judge.gain(figures.page, figures.page_with, figures.transfer, options.spread)


def check_gain(figures, options):
    gain = gain_of(figures, options)
    if gain < judge.GAIN_LEAST:
        raise failure.Failed(
            f"a reader of {options.spread} pages would get {report.change(gain)} than with brotli "
            "5, the dictionary's own bytes counted, and it has to save "
            f"{100 * judge.GAIN_LEAST:.0f} %: the pages have too little in common, or "
            "readers see too few of them (--spread)")


def confirm(args, pages):
    print(report.pages(pages) + "\n\nWhat is in these pages becomes public; they were fetched "
          "without cookies, as by a stranger,\nand what differed between two visits is left out.")
    if not args.yes:
        print("Use these pages? [y/N] ", end="", flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise failure.Failed("nothing was changed")


def print_made(made, options):
    print(f"\n{made['said']}\n\n{report.verdict(made['figures'], options.spread)}")
    for url in made["rules"]:
        print(report.plain(f"Each release is the dictionary of the next: {url}"))
    for url, reason in made["unruled"]:
        print(report.plain(f"Has a version, but no rule: {url}: {reason}"))


def put(place, known, site, made, reach):
    """The new dictionary of `site` is in force, and checked; what was seen."""
    site = dataclasses.replace(
        site, dictionary=files.name_of(made["content"]), made=int(time.time()),
        figures=made["figures"], pages=made["urls"], rules=list(made["rules"].values()))

    def check():
        return unprivileged.call(
            selfcheck.check, site.url, reach, made["content"], made["held"], list(made["rules"]),
            seconds=selfcheck.AWAITED + 2 * selfcheck.CHECKED)

    seen = place.change(known.put(site), made["content"], check)
    status.show(place)
    return seen


def print_seen(seen):
    print(f"\nIn force, and checked as a browser: {seen['used']} of {seen['pages']} pages came "
          f"with the dictionary, right to the byte,\nin {seen['bytes']:,} bytes; without it they "
          f"take {seen['bytes_without']:,} now.")


def check_store(store, server):
    """httpd writes to it."""
    if not unprivileged.call(os.access, store, os.W_OK | os.X_OK, uid=server.user()):
        raise failure.Failed(f"httpd's user may not write to {store}: give it that folder, "
                             "with mode 700")
    if not os.statvfs(store).f_bavail:
        raise failure.Failed(f"{store}: no space is left on the device")


def with_store(known, server, wanted):
    """The state, with the store that the configuration has to set."""
    store = server.store() or wanted
    is_there = os.path.isdir(store)
    if is_there:
        check_store(store, server)
    if known.sites:
        return known
    if server.store():
        return dataclasses.replace(known, store="")
    return dataclasses.replace(known, store=wanted, made_store=not is_there)


def make_folder(folder):
    try:
        os.makedirs(folder, mode=0o755, exist_ok=True)
        os.chmod(folder, 0o755)
    except OSError as problem:
        raise failure.Failed(f"{folder} cannot be made: {problem.strerror}") from None


def server_of(args):
    """That of the sites in the folder, if there are any."""
    known = state.read(os.path.join(args.out, state.FILE))
    if known and known.sites:
        for name in ("confdir", "apachectl"):
            given, kept = getattr(args, name), getattr(known, name)
            if given not in ("", kept):
                raise failure.Failed(f"{args.out} is for the httpd of --{name} '{kept}': take "
                                     "another --out")
        return httpd.Httpd(known.confdir, known.apachectl)
    return httpd.Httpd(args.confdir, args.apachectl)


def run(args):
    options = arguments.options(args)
    context = context_of(options)
    state.check_secure(args.out)
    server = server_of(args)
    server.configtest()
    if not server.is_running():
        raise failure.Failed("httpd does not run")
    make_folder(args.out)
    place = change.open_place(args.out, server)
    try:
        known = with_store(place.read(), server, args.store)
        with stranger.Stranger(server, server.addresses(args.site), context) as reach:
            order = order_of(args.site, options, reach)
            print(f"Fetching at most {args.most} pages of {args.site}, twice ...", flush=True)
            pages = fetch(order)
            confirm(args, pages)
            print("\nTrying dictionaries ...", flush=True)
            made = train(order, pages, options)
            print_made(made, options)
            check_gain(made["figures"], options)
            site = state.Site(args.site, "", 0, options, made["figures"], [], [])
            seen = put(place, known, site, made, stranger.plain(reach))
    except BaseException:
        with change.uninterrupted():
            place.leave()
        raise
    print_seen(seen)
    print(timer.turn_on(args.out))
    return 0
