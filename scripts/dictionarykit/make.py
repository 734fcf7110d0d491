"""`make`: from the URLs to the configuration."""

import os
import urllib.parse

from dictionarykit import (arguments, candidates, configuration, failure, files, judge, report,
                           sources, visit)

HELP = "make the dictionary of a site's public pages, and print the configuration"


def add_arguments(parser):
    for add in (arguments.add_sources, arguments.add_bounds, arguments.add_making):
        add(parser)


def plain_urls(options):
    if not options.list:
        return options.urls
    with open(options.list, encoding="utf-8") as file:
        return options.urls + sources.of_lines(file.read())


def collect(options):
    """(URLs to visit, the visitor)."""
    urls = sources.unique(plain_urls(options))
    first = [url for url in (options.site, options.sitemap, *urls) if url][:1]
    if not first:
        raise sources.Unusable(f"{options.list}: no URL is in it")
    visitor = visit.Visitor(sources.origin(first[0]), options.rate, options.time)
    if options.sitemap:
        pages = sources.collect_sitemap(options.sitemap, visitor.fetch)
        urls += sources.spread(pages, max(options.pages - len(urls), 0))
    if options.log:
        paths = sources.read_log(options.log, options.clients, options.queries)
        urls += [urllib.parse.urljoin(options.site, path) for path in paths]
    return sources.unique(urls)[:options.pages], visitor


def fetch(options):
    urls, visitor = collect(options)
    pages, refused = visit.visit(visitor, urls, options.accepted)
    if refused:
        print(report.refusals(refused) + "\n")
    print(f"{len(pages)} of {len(urls)} pages were taken.")
    if len(pages) < candidates.PAGES_LEAST:
        raise failure.Failed(f"a dictionary takes at least {candidates.PAGES_LEAST} different pages")
    return pages


def judge_all(options, pages, previous):
    """(all that was judged, the previous one of them or None, the baseline, pages held back)."""
    parts = candidates.split(pages)
    held = [page.body for page in parts.held]
    without = judge.baseline(held, options.visit)
    judged = [judge.judge(candidate, held)
              for candidate in candidates.make(parts, options.largest << 10)]
    old = None
    if previous:
        content = files.read(options.out, previous)
        old = judge.judge(candidates.Candidate("the previous one", content), held)
    return judged, old, without, parts.held


def keep(options, best, old, visit_pages):
    """The name of the dictionary in force, which is the new one unless the old one is as good."""
    if old and not options.always and not judge.is_worth_renewing(best, old, visit_pages):
        print("\nThe previous one stays: who has it would save less in a visit than the new one "
              "takes to send.")
        return files.name_of(old.content)
    name = files.write(options.out, best.content)
    print(f"\nWritten: {os.path.join(options.out, name)}")
    gone = files.prune(options.out, options.keep)
    if gone:
        print("Removed: " + " ".join(gone))
    return name


def configure(options, name):
    site = configuration.site(options, name)
    if options.conf:
        files.replace(options.conf, site.encode())
        print(f"Written: {options.conf}")
    print("\n" + configuration.server(options) + "\n# Where the site is configured, and "
          "compressed by Elastic On:\n" + site, end="")


def previous_of(options):
    """The name of the newest dictionary of the folder; None: there is none."""
    present = files.present(options.out) if options.out else []
    if present and not options.renew:
        raise failure.Failed(f"{options.out} has a dictionary already: --renew makes the next one")
    return present[0] if present else None


def run(options):
    arguments.check(options)
    previous = previous_of(options)
    pages = fetch(options)
    judged, old, without, held = judge_all(options, pages, previous)
    print("\n" + report.candidates(judged + ([old] if old else []), without))
    best = judge.best(judged, without)
    if not best:
        raise failure.Failed(f"no dictionary saves anything in a visit of {options.visit} pages")
    print("\n" + report.pages(held, best, without) + "\n\n" + report.verdict(
        best, without, judge.cpu_ratio(best.content, [page.body for page in held])))
    if options.out:
        configure(options, keep(options, best, old, options.visit))
    return 0
