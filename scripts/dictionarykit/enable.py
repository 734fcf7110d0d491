"""`enable`: from a site's URL to a dictionary in force."""

import os
import shutil
import ssl
import sys
import time

from codeckit.dictionaries import field
from dictionarykit import (arguments, candidates, configuration, failure, files, httpd, inforce,
                           judge, making, report, response, sources, state, status, timer,
                           unprivileged, versioned, visit)

HELP = "make the dictionary of a site's public pages, and have httpd use it"

# What is kept of the command line for the next dictionary.
KEPT = ("site", "pages", "sitemap", "log", "most", "rate", "time", "accept_cookie",
        "accept_private", "largest", "spread", "cafile", "address")

# What to do about refusals that begin so.
HINTS = (
    (("sets the cookie",), ". Where a cookie that every visitor gets changes nothing of a page, "
                           "name it with --accept-cookie"),
    (("is private", "is no-store"), ". Where pages without cookies are for everyone nonetheless, "
                                    "use --accept-private"),
)


def add_arguments(parser):
    parser.add_argument("site", metavar="URL", help="the site, such as https://www.example.org/")
    for add in (arguments.add_sources, arguments.add_bounds, arguments.add_making):
        add(parser)
    state.add_folder(parser)


def order_of(args, without=()):
    """What to fetch; files are opened here, where privileges are."""
    try:
        context = ssl.create_default_context(cafile=args.cafile)
    except (OSError, ssl.SSLError) as problem:
        raise failure.Failed(f"{args.cafile}: {problem}") from None
    if not args.address:
        visit.check_address(*sources.origin(args.site)[1:])
    reach = visit.Reach(args.address or "", context)
    urls = []
    if args.pages:
        with open(args.pages, encoding="utf-8") as file:
            urls = sources.of_lines(file.read())
        if not urls:
            raise failure.Failed(f"{args.pages}: no URL is in it")
    log = open(args.log, "rb") if args.log else None
    return making.Order(
        args.site, reach, response.Accepted(frozenset(args.accept_cookie), args.accept_private),
        args.most, args.rate, args.time, urls, args.sitemap or "", args.log or "", log,
        list(without))


def fetch(order):
    """The pages, each fetched twice."""
    found = unprivileged.call(making.fetch, order)
    pages = [visit.Page(*page) for page in found["pages"]]
    if found["refused"]:
        print(report.refusals(found["refused"]) + "\n")
    if len(pages) < candidates.PAGES_LEAST:
        hint = "".join(text for begins, text in HINTS if any(
            reason.startswith(begins) for reason in found["refused"].values()))
        raise failure.Failed(f"pages that can be used: {len(pages)}; a dictionary takes at least "
                             f"{candidates.PAGES_LEAST} different ones{hint}")
    return pages


def train(order, pages, args, previous=None):
    made = unprivileged.call(making.train, order, pages, args.largest, args.spread, previous)
    made["rules"] = versioned.rules_of(made["rules"])
    return made


def check_gain(figures):
    share = 1 - figures["page_with"] / figures["page"]
    if share < judge.GAIN_LEAST:
        raise failure.Failed(
            f"pages would take {100 * share:.1f} % less than with brotli 5, and a dictionary has "
            f"to save {100 * judge.GAIN_LEAST:.0f} %: they have too little in common")


def confirm(args, pages, rules):
    print(report.pages(pages) + "\n\nWhat is in these pages becomes public; they were fetched "
          "without cookies, and what\ndiffered between two visits is left out.")
    for rule in rules:
        print(f"Beware: {rule.where}: {rule.text}\n  lets some addresses see more, perhaps this "
              "machine's. No page may be for them alone.")
    if args.yes or args.print:
        return
    print("Use these pages? [y/N] ", end="", flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise failure.Failed("nothing was changed")


def site_of(args, place, server):
    """What the configuration needs beside the dictionary."""
    store, headers = args.store, False
    if server:
        elsewhere = place.store_elsewhere()
        modules = server.modules()
        lacking = [name for name in httpd.MODULES if name not in modules]
        headers = "headers_module" not in modules
        if lacking or (headers and not os.path.exists(httpd.HEADERS_MODULE)):
            raise failure.Failed("httpd lacks " + ", ".join(lacking or ["headers_module"]))
        link = server.value_of("ElasticDictionaryLink", place.conf)
        if link and not os.path.basename(link[0]).startswith("elastic-dictionary-"):
            raise failure.Failed(f"{link[0]} names a dictionary already: remove that first")
        store = "" if elsewhere and elsewhere != args.store else args.store
    return configuration.Site(args.site, place.host, place.folder, args.url, store, headers)


def show(args, place, made):
    """--print: the dictionary is written, and nothing else touched."""
    os.makedirs(place.folder, exist_ok=True)
    name = files.write(place.folder, made["content"])
    site = site_of(args, place, None)
    print(f"\nWritten: {os.path.join(place.folder, name)}\n\n# The folder of "
          "ElasticDictionaryStore belongs to httpd's user, with mode 700.\n"
          + configuration.text_of(site, [name], field(made["content"]),
                                  [rule for rule, _ in made["rules"]]), end="")


def said_of(made):
    print("\n" + made["said"] + "\n\n" + report.verdict(made["figures"]))
    for rule, url in made["rules"]:
        print(report.plain(f"Each release is the dictionary of the next: {url}"))
    for url, reason in made["unruled"].items():
        print(report.plain(f"Has a version, but no rule: {url}: {reason}"))


def put(args, server, place, made, order):
    """In force; the state of the site."""
    site = site_of(args, place, server)
    made_store = bool(site.store) and place.make_store(site.store)
    try:
        name, seen = inforce.put(place, site, made["content"], made, order)
    except BaseException:
        if made_store:
            shutil.rmtree(site.store, ignore_errors=True)
        raise
    before = state.read_all(args.out).get(place.name, {})
    known = {"site": args.site, "args": {key: getattr(args, key) for key in KEPT}, "name": name,
             "url": args.url, "made": int(time.time()), "figures": made["figures"],
             "held": made["held"],
             "store": args.store if made_store else before.get("store", ""), "seen": seen,
             "in_store": site.store or place.store_elsewhere(),
             "sets_store": site.store, "confdir": server.folder, "apachectl": args.apachectl,
             "rules": len(made["rules"]), "renewed": None}
    state.write(args.out, place.name, known)
    status.show(args.out, known)
    return known


def print_seen(seen):
    print(f"\nIn force, and checked as a browser: {seen['used']} of {seen['pages']} pages came with "
          f"the dictionary, right to the byte,\nin {seen['bytes']:,} bytes; without it they take "
          f"{seen['bytes_without']:,} now.")


def run(args):
    arguments.check(args)
    server = None if args.print else httpd.Httpd(args.confdir, args.apachectl)
    place = inforce.Place(server, args.out, args.site)
    made_folders = []
    try:
        if server:
            server.configtest()
            if not server.is_running():
                raise failure.Failed("httpd does not run")
            made_folders = place.prepare()
            state.lock(args.out)
            site_of(args, place, server)
        rules = server.address_rules(place.host) if server else []
        order = order_of(args, [rule.location for rule in rules if rule.location])
        print(f"Fetching at most {args.most} pages of {args.site}, twice ...", flush=True)
        pages = fetch(order)
        confirm(args, pages, [rule for rule in rules if not rule.location])
        print("\nTrying dictionaries ...", flush=True)
        made = train(order, pages, args)
        said_of(made)
        check_gain(made["figures"])
        if args.print:
            show(args, place, made)
            return 0
        known = put(args, server, place, made, order)
    except BaseException:
        if place.folder in made_folders:
            shutil.rmtree(place.folder, ignore_errors=True)
        if args.out in made_folders:
            state.remove(args.out)
        raise
    print_seen(known["seen"])
    print(timer.turn_on(args.out))
    return 0
