"""`disable`: takes away what `enable` has made."""

from dictionarykit import arguments, change, failure, status

HELP = "take the dictionary of a site, or of all, out of httpd, and leave nothing behind"


def add_arguments(parser):
    arguments.add_site(parser)


def run(args):
    place = change.of_folder(args.out)
    known = place.read()
    gone = arguments.sites(args, known)
    try:
        place.server.configtest()
    except failure.Failed:
        place.is_broken = True
    place.change(known.without(gone))
    status.show(place)
    for site in gone:
        print(f"{site.url} has no dictionary any more. Browsers that have it get ordinary codings.")
    return 0
