"""What is done without privileges: pages are fetched, dictionaries tried on them."""

import typing
import urllib.parse

from dictionarykit import (candidates, failure, judge, report, response, sources, versioned, visit)

AGENT = visit.FIELDS["User-Agent"]


class Order(typing.NamedTuple):
    """Which pages, and how they are asked for."""

    site: str
    reach: visit.Reach
    accepted: response.Accepted
    most: int  # pages
    rate: float
    seconds: float
    urls: list = []  # of these; or
    sitemap: str = ""  # or
    log: str = ""  # an access log, opened as `file`
    file: object = None
    without: list = []  # paths of which only some addresses may see what is below


class Rules:
    """Which URLs may be asked for."""

    def __init__(self, robots, order):
        self.robots, self.without = robots, order.without

    def refusal(self, url):
        path = urllib.parse.urlsplit(url).path or "/"
        if not self.robots.can_fetch(AGENT, url):
            return "robots.txt forbids it"
        if any(path.startswith(prefix) for prefix in self.without):
            return "httpd shows it to some addresses only"
        return None

    def allow(self, url):
        return not self.refusal(url)


def read_robots(visitor, site):
    """(robots.txt, sitemaps)."""
    try:
        answer = visitor.ask(urllib.parse.urljoin(site, "/robots.txt"), visit.PAGE_MOST)
    except visit.Refused as problem:
        raise failure.Failed(f"{site}: {problem}") from None
    text = answer.body.decode("utf-8", "replace") if answer.status == 200 else ""
    return sources.of_robots(text)


def of_sitemaps(visitor, sitemaps):
    """URLs of pages; none where there is no sitemap."""
    pages = []
    for sitemap in sitemaps:
        try:
            pages += sources.collect_sitemap(sitemap, visitor.fetch)
        except sources.Unusable:
            continue
    return sources.unique(pages)


def choose(order, visitor, sitemaps):
    """URLs to visit; None: links are to be followed."""
    if order.urls:
        return sources.unique(order.urls)
    if order.sitemap:
        return sources.collect_sitemap(order.sitemap, visitor.fetch)
    if order.log:
        paths = sources.read_log(order.log, order.file)
        return [urllib.parse.urljoin(order.site, path) for path in paths[:3 * order.most]]
    known = sitemaps or [urllib.parse.urljoin(order.site, "/sitemap.xml")]
    found = of_sitemaps(visitor, known)
    return found if len(found) >= candidates.PAGES_LEAST else None


def first_visit(order, visitor, robots, sitemaps):
    rules = Rules(robots, order)
    urls = choose(order, visitor, sitemaps)
    if urls is None:
        return visit.crawl(visitor, order.site, order.accepted, order.most, rules.allow)
    refused = {url: rules.refusal(url) for url in urls if not rules.allow(url)}
    urls = [url for url in urls if url not in refused]
    urls = urls[:order.most] if order.log else sources.spread(urls, order.most)
    pages, others = visit.visit(visitor, urls, order.accepted)
    return pages, {**refused, **others}


def fetch(order):
    """{"pages", "refused"}: each page was fetched twice, and has what both have in common."""
    visitor = visit.Visitor(sources.origin(order.site), order.rate, order.seconds / 2, order.reach)
    robots, sitemaps = read_robots(visitor, order.site)
    visitor.pause = max(visitor.pause, float(robots.crawl_delay(AGENT) or 0))
    pages, refused = first_visit(order, visitor, robots, sitemaps)
    visitor.until = visitor.clock() + order.seconds
    pages, others = visit.again(visitor, pages, order.accepted)
    return {"pages": pages, "refused": {**refused, **others}}


def figures_of(one, without):
    """For people and for the state: bytes, heads counted."""
    return {"page": without.page, "page_with": one.page, "transfer": one.transfer,
            "dictionary": len(one.content), "visit": judge.visit_of(without.page, without.page),
            "visit_with": judge.visit_of(without.page, one.page)}


def train(order, pages, largest, spread, previous=None):
    """{"content", "said", "figures", "held", "rules", "unruled", "previous"}. Its own bytes are
    spread over so many pages; `previous` is the content of the dictionary in force."""
    parts = candidates.split(pages)
    without = judge.baseline(parts.held)
    judged = [judge.judge(candidate, parts.held)
              for candidate in candidates.make(parts, largest << 10)]
    best = judge.best(judged, without, spread)
    if not best:
        raise failure.Failed("the pages have nothing in common")
    old = previous and judge.judge(candidates.Candidate("the one in force", previous), parts.held)
    visitor = visit.Visitor(sources.origin(order.site), order.rate, order.seconds, order.reach)
    rules, unruled = versioned.find(visitor, pages)
    return {"content": best.content, "held": [page.url for page in parts.held],
            "said": report.candidates(judged, without, old),
            "figures": figures_of(best, without), "unruled": unruled,
            "rules": [(url, rule.has_lifetime) for rule, url in rules],
            "previous": figures_of(old, without) if old else None}
