"""`renew`: the next dictionary, where it is better than the one in force, or that is old, or has
what is not on the site any more."""

import dataclasses
import time

from dictionarykit import (arguments, change, enable, failure, files, judge, report, sources,
                           status, stranger)

HELP = "make the next dictionary of each site, and keep it if it is better"

LIFETIME = 30 * 24 * 3600  # seconds for which browsers keep a dictionary
WEEK = 7 * 24 * 3600  # between two runs
EXPIRING = LIFETIME - WEEK  # the age at which it would not last until the next one


def add_arguments(parser):
    arguments.add_site(parser)
    parser.add_argument("--now", action="store_true",
                        help="replace the dictionary, though the next one is not better")


def reason_for(made, age, now=False):
    """Why the new one replaces the previous one; None: it does not."""
    if not made["previous"]:
        return "the previous one was gone"
    if made["is_gone"]:
        return "the previous one had text that is not on these pages any more"
    gain = 1 - made["figures"].page_with / made["previous"].page_with
    if gain >= judge.RENEWAL_LEAST:
        return f"pages take {100 * gain:.1f} % less than with the previous one"
    if not 0 <= age < EXPIRING:  # of the future, too, where a clock was wrong
        return "the previous one was about to expire"
    return "as was asked for" if now else None


def keep(place, known, site, made):
    """What is said of it is of today's pages."""
    previous, new = made["previous"], made["figures"]
    place.note(known.put(dataclasses.replace(site, figures=previous)))
    gain = enable.gain_of(previous, site.options)
    if gain < judge.GAIN_LEAST:
        raise failure.Failed(
            f"a reader of {site.options.spread} pages of today gets {report.change(gain)} with the "
            "dictionary in force, its own bytes counted, and a new one is not worth it either: "
            "`elastic-dictionary disable` takes it out")
    return ("kept: with a new one pages would take "
            f"{report.change(1 - new.page_with / previous.page_with)}, and less than "
            f"{100 * judge.RENEWAL_LEAST:.0f} % is not worth it")


def take_out(place, known, site):
    place.change(known.without([site]))
    raise failure.Failed("the dictionary had text that is not on these pages any more, a new one "
                         "is not worth it, and the site has none now")


def renew(args, place, site):
    """What came of it."""
    known, options = place.read(), site.options
    if not place.server.is_switched():
        raise failure.Failed("httpd does not read the configuration of elastic-dictionary any "
                             "more: run a2enconf elastic-dictionary, or disable the site")
    place.server.configtest()
    previous = files.read(place.path(site.dictionary))
    with stranger.Stranger(place.server, place.server.addresses(site.url),
                           enable.context_of(options)) as reach:
        order = enable.order_of(site.url, options, reach, site.pages)
        made = enable.train(order, enable.fetch(order), options, previous)
        print(made["said"] + "\n")
        reason = reason_for(made, time.time() - site.made, args.now)
        if reason and enable.gain_of(made["figures"], options) >= judge.GAIN_LEAST:
            enable.put(place, known, site, made, stranger.plain(reach))
            return f"renewed: {reason}"
    if made["is_gone"]:
        take_out(place, known, site)
    if made["previous"]:
        return keep(place, known, site, made)
    raise failure.Failed("the previous one was gone, and a new one is not worth it")


def run(args):
    place = change.of_folder(args.out)
    code = 0
    for site in arguments.sites(args, place.read()):
        try:
            said = renew(args, place, site)
        except (failure.Failed, sources.Unusable, OSError) as problem:
            code, said = 1, f"failed: {problem}"
        status.say(f"{site.url}: {said}", code)
        known = place.read()
        now = known.find(site.url)
        if now:
            place.note(known.put(dataclasses.replace(now, renewed_at=int(time.time()),
                                                     renewed=said)))
        status.show(place)
    return code
