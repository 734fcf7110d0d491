"""`renew`: the next dictionary, where it is better than the one in force or that is old."""

import argparse
import os
import time

from dictionarykit import (arguments, configuration, enable, failure, httpd, inforce, judge, report,
                           sources, state, status)

HELP = "make the next dictionary of each site, and keep it if it is better"

WEEK = 7 * 24 * 3600  # seconds between two runs
EXPIRING = configuration.LIFETIME - WEEK  # the age at which it would not last until the next one


def add_arguments(parser):
    arguments.add_site(parser)
    state.add_folder(parser)


def reason_for(figures, previous, age):
    """Why the new one replaces the previous one; None: it does not."""
    gain = 1 - figures["page_with"] / previous["page_with"]
    if gain >= judge.RENEWAL_LEAST:
        return f"pages take {100 * gain:.1f} % less than with the previous one"
    if age >= EXPIRING:
        return "the previous one was about to expire"
    return None


def renew(args, known):
    """What came of it."""
    options = argparse.Namespace(**known["args"], out=args.out, url=known["url"],
                                 store=known["sets_store"], yes=True, print=False,
                                 apachectl=known["apachectl"], confdir=known["confdir"])
    server = httpd.Httpd(options.confdir, options.apachectl)
    place = inforce.Place(server, args.out, options.site)
    previous = inforce.read(os.path.join(place.folder, known["name"]))
    place.prepare()
    server.configtest()
    rules = [rule.location for rule in server.address_rules(place.host) if rule.location]
    order = enable.order_of(options, rules)
    made = enable.train(order, enable.fetch(order), options, previous)
    print(made["said"] + "\n")
    enable.check_gain(made["figures"])
    reason = "the previous one was gone"
    if made["previous"]:
        reason = reason_for(made["figures"], made["previous"], time.time() - known["made"])
    if not reason:
        return ("kept: a new one would make pages "
                f"{report.gain(made['figures']['page_with'], made['previous']['page_with'])} "
                f"smaller, which is less than {100 * judge.RENEWAL_LEAST:.0f} %")
    enable.put(options, server, place, made, order)
    return f"renewed: {reason}"


def run(args):
    state.lock(args.out)
    code = 0
    for name, known in inforce.sites(args).items():
        try:
            said = renew(args, known)
        except (failure.Failed, sources.Unusable, OSError) as problem:
            code, said = 1, f"failed, and the previous one stays: {problem}"
        print(f"{known['site']}: {said}")
        known = state.read_all(args.out).get(name, known)
        known = {**known, "renewed": {"at": int(time.time()), "said": said}}
        state.write(args.out, name, known)
        status.show(args.out, known)
    return code
