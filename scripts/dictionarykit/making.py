"""What is done without privileges: pages are fetched, dictionaries tried on them."""

import typing
import urllib.parse

from dictionarykit import (candidates, exchange, failure, judge, pieces, report, response, robots,
                           sources, versioned, visit)

BYTES_MOST = 64 << 20  # of all pages


class Order(typing.NamedTuple):
    """Which pages, and how they are asked for."""

    site: str
    reach: exchange.Reach
    accepted: response.Accepted
    most: int  # pages
    rate: float
    seconds: float
    urls: list = []  # of these; or
    sitemap: str = ""
    before: list = []  # pages of the dictionary in force, which are looked at first


def read_robots(visitor, site):
    """RFC 9309 §2.3.1: what is not there allows everything, what cannot be had nothing."""
    url = urllib.parse.urljoin(site, "/robots.txt")
    try:
        answer = visitor.follow(url, visit.PAGE_MOST, redirects=robots.REDIRECTS_MOST)[1]
    except exchange.Refused as problem:
        raise failure.Failed(f"{url}: {problem}") from None
    if answer.status == 200:
        return robots.parse(answer.body.decode("utf-8", "replace"), visit.AGENT)
    if answer.status >= 500 or answer.status < 400:
        raise failure.Failed(f"{url}: has the status {answer.status}, which forbids everything")
    return robots.EVERYTHING


def of_sitemaps(visitor, sitemaps):
    """URLs of pages; none where there is no sitemap."""
    pages = []
    for sitemap in sitemaps:
        try:
            pages += sources.collect_sitemap(sitemap, visitor.fetch)
        except sources.Unusable:
            continue
    return sources.unique(pages)


def choose(order, visitor):
    """URLs to visit; None: links are to be followed."""
    if order.urls:
        return sources.unique(order.urls)
    if order.sitemap:
        return sources.collect_sitemap(order.sitemap, visitor.fetch)
    known = visitor.robots.sitemaps[:sources.SITEMAPS_MOST] or [
        urllib.parse.urljoin(order.site, "/sitemap.xml")]
    found = of_sitemaps(visitor, known)
    return found if len(found) >= candidates.PAGES_LEAST else None


def is_allowed(visitor, url):
    """So that of a sitemap as many pages are taken as are wanted; others are refused by name."""
    try:
        return sources.origin(url) == visitor.origin and visitor.robots.allow(url)
    except sources.Unusable:
        return False


def first_visit(order, visitor):
    urls = choose(order, visitor)
    if urls is None:
        return visit.crawl(visitor, [order.site, *order.before], order.accepted, order.most)
    good = {url: None for url in urls if is_allowed(visitor, url)}
    bad = [url for url in urls if url not in good][:report.LINES_MOST + 1]
    # A page that the operator does not list any more is not looked at.
    before = [] if order.urls else order.before[:order.most]
    others = [url for url in good if url not in set(before)]
    chosen = before + sources.spread(others, order.most - len(before))
    return visit.visit(visitor, chosen + bad, order.accepted)


def within(pages):
    """As many as are read in the memory that there is for them."""
    total, found = 0, []
    for page in pages:
        total += len(page.whole)
        if total <= BYTES_MOST:
            found.append(page)
    return found


def fetch(order):
    """{"pages", "refused"}: each page was fetched twice, and has what both have in common."""
    visitor = visit.Visitor(sources.origin(order.site), order.rate, order.seconds / 2, order.reach)
    visitor.robots = read_robots(visitor, order.site)
    visitor.pause = max(visitor.pause, visitor.robots.delay)
    pages, refused = first_visit(order, visitor)
    visitor.until = visitor.clock() + order.seconds
    pages, others = visit.again(visitor, within(pages), order.accepted)
    return {"pages": pages, "refused": list({**refused, **others}.items())}


def figures_of(one, without):
    """As state.Figures."""
    return {"page": without.page, "page_with": one.page, "transfer": one.transfer,
            "dictionary": len(one.content)}


def train(order, pages, largest, spread, previous=None):
    """{"content", "urls", "said", "figures", "held", "rules", "unruled", "previous", "is_gone"}.
    The decision is for a reader of `spread` pages; `previous` is the dictionary in force."""
    parts = candidates.split(pages)
    without = judge.baseline(parts.held)
    judged = [judge.judge(candidate, parts.held)
              for candidate in candidates.make(parts, largest << 10)]
    best = judge.best(judged, without, spread)
    if not best:
        raise failure.Failed("the pages have nothing in common")
    text = pieces.Text(pages)
    best = judge.judge(candidates.Candidate(best.name, text.cut(best.content), best.urls),
                       parts.held)
    old = previous and judge.judge(candidates.Candidate("the one in force", previous), parts.held)
    visitor = visit.Visitor(sources.origin(order.site), order.rate, order.seconds, order.reach)
    rules, unruled = versioned.find(visitor, pages)
    return {"content": best.content, "urls": best.urls, "held": [page.url for page in parts.held],
            "said": report.candidates(judged, without, old),
            "figures": figures_of(best, without), "rules": rules, "unruled": unruled,
            "previous": figures_of(old, without) if old else None,
            "is_gone": bool(previous) and text.lacks(previous)}
