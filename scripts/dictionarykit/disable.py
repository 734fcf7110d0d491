"""`disable`: takes away what `enable` has made."""

import shutil

from dictionarykit import arguments, httpd, inforce, state, status, timer

HELP = "take the dictionary of a site, or of all, out of httpd, and leave nothing behind"


def add_arguments(parser):
    arguments.add_site(parser)
    state.add_folder(parser)


def run(args):
    state.lock(args.out)
    for known in inforce.sites(args).values():
        server = httpd.Httpd(known["confdir"], known["apachectl"])
        inforce.Place(server, args.out, known["site"]).remove()
        others = [one["store"] for one in state.read_all(args.out).values()]
        if known["store"] and known["store"] not in others:
            shutil.rmtree(known["store"], ignore_errors=True)
        status.show(args.out, known)
        print(f"{known['site']} has no dictionary any more. Browsers that have it get ordinary "
              "codings.")
    if not state.read_all(args.out):
        timer.turn_off(args.out)
        state.remove(args.out)
    return 0
