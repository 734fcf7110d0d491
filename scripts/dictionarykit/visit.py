"""Pages as a visitor without cookies gets them: one after another, slowly, from one origin, and
each twice. This is done without privileges."""

import time
import typing
import urllib.parse

from dictionarykit import exchange, pieces, robots, sources
from dictionarykit.failure import Failed, Refused

PAGE_MOST = 1 << 20  # bytes; larger ones are rare, and have their own way to be fast
PAGES_LEAST = 8  # so that two are held back, and two lead the choice of others
REFUSED_MOST = 41  # that are named of a list which has more than are visited
BYTES_MOST = 64 << 20  # of all pages, in the memory that there is for them
REDIRECTS_MOST = 3
KNOWN_MOST = 50_000  # URLs that links lead to
AGENT = "elastic-dictionary"
FIELDS = {"User-Agent": AGENT, "Accept": "text/html, */*;q=0.5", "Accept-Encoding": "identity"}


class Page(typing.NamedTuple):
    url: str
    body: bytes  # that may be in a dictionary
    whole: bytes = b""  # as it came
    head: int = 0  # bytes of its header


class Order(typing.NamedTuple):
    """Which pages, and how they are asked for."""

    site: str
    options: object  # state.Options
    reach: exchange.Reach
    urls: list = []  # of these alone
    before: list = []  # pages of the dictionary in force, which are looked at first


class Visitor:
    """Asks for pages of one origin, `rate` times a second at most, and stops after `seconds`.

    `clock` and `sleep` are those of the module time unless a test has others.
    """

    def __init__(self, origin, rate, seconds, reach=exchange.Reach(), clock=time.monotonic,
                 sleep=time.sleep):
        self.origin, self.reach = origin, reach
        self.pause = 1 / rate
        self.clock, self.sleep = clock, sleep
        self.until = clock() + seconds
        self.next = clock()
        self.robots = robots.EVERYTHING

    def ask(self, url, most, fields=FIELDS):
        """The response, when the next request may go out; `most` bytes of body at most."""
        now = self.clock()
        start = max(now, self.next)
        if start >= self.until:
            raise Refused("the time was over")
        if start > now:
            self.sleep(start - now)
        self.next = start + self.pause
        return exchange.get(url, self.reach, fields, most, self.until - self.clock())

    def follow(self, url, most, options=None, redirects=REDIRECTS_MOST):
        """(the URL to which redirects lead, its response)."""
        for _ in range(redirects + 1):
            if exchange.origin(url) != self.origin:
                raise Refused("is of another origin")
            if not self.robots.allow(url):
                raise Refused("robots.txt forbids it")
            answer = self.ask(url, most)
            found = exchange.redirect_of(url, answer)
            if not found:
                return url, answer
            reason = answer.header_refusal(options)
            if reason:
                raise Refused(reason)
            url = found
        raise Refused("redirects again and again")

    def fetch(self, url):
        """The body of a sitemap."""
        try:
            answer = self.follow(url, sources.SITEMAP_MOST)[1]
        except Refused as problem:
            raise Refused(f"{url}: {problem}") from None
        if answer.status != 200:
            raise Refused(f"{url}: has the status {answer.status}")
        return answer.body

    def read_robots(self, site):
        """RFC 9309 §2.3.1: what is not there allows everything, what cannot be had nothing."""
        url = urllib.parse.urljoin(site, "/robots.txt")
        try:
            answer = self.follow(url, PAGE_MOST, redirects=robots.REDIRECTS_MOST)[1]
        except Refused as problem:
            raise Failed(f"{url}: {problem}") from None
        if answer.status >= 500 or 200 < answer.status < 400:
            raise Failed(f"{url}: has the status {answer.status}, which forbids everything")
        if answer.status == 200:
            self.robots = robots.parse(answer.body.decode("utf-8", "replace"), AGENT)
            self.pause = max(self.pause, self.robots.delay)


def take(visitor, url, options, pages):
    """The page behind a URL; Refused where it is none, or one of `pages`, {body: page}."""
    found, answer = visitor.follow(url, PAGE_MOST, options)
    reason = answer.refusal(options)
    if reason:
        raise Refused(reason)
    if answer.body in pages:
        raise Refused("is the same as " + pages[answer.body].url)
    return Page(found, answer.body, answer.body, answer.head())


def visit(visitor, urls, options, most=None):
    """(pages, {URL: why it was refused}). Of equal pages the first one stays. `most`: links are
    followed, to so many pages."""
    pages, refused, waiting, known = {}, {}, list(urls), set(urls)
    while waiting and (most is None or len(pages) < most
                       and len(known) - len(waiting) < 3 * most):
        url = waiting.pop(0)
        try:
            page = take(visitor, url, options, pages)
        except Refused as problem:
            refused[url] = str(problem)
            continue
        pages[page.body] = page
        for link in sources.Markup(page.url, page.body).links if most else ():
            if link not in known and len(known) < KNOWN_MOST and sources.is_page(link) \
                    and exchange.origin(link) == visitor.origin:
                known.add(link)
                waiting.append(link)
    return list(pages.values()), refused


def again(visitor, pages, options):
    """The same once more: (pages without what has changed meanwhile, {URL: why refused})."""
    found, refused = [], {}
    for page in pages:
        try:
            same = pieces.common(page.body, take(visitor, page.url, options, {}).body)
            if len(same) < pieces.COMMON_LEAST * len(page.body):
                raise Refused("is another page at each visit")
            found.append(page._replace(body=same))
        except Refused as problem:
            refused[page.url] = str(problem)
    return found, refused


def choose(order, visitor):
    """URLs to visit; None: links are to be followed."""
    if order.urls:
        return sources.unique(order.urls)
    if order.options.sitemap:
        return sources.collect_sitemap(order.options.sitemap, visitor.fetch)
    pages = []
    for sitemap in visitor.robots.sitemaps[:sources.SITEMAPS_MOST] or [
            urllib.parse.urljoin(order.site, "/sitemap.xml")]:
        try:
            pages += sources.collect_sitemap(sitemap, visitor.fetch)
        except Refused:
            continue
    return sources.unique(pages) if len(pages) >= PAGES_LEAST else None


def first_visit(order, visitor):
    urls, options = choose(order, visitor), order.options
    if urls is None:
        starts = list(dict.fromkeys([order.site, *order.before]))
        return visit(visitor, starts, options, options.most)
    good, bad = [], []  # so that of a sitemap as many are taken as are wanted
    for url in urls:
        try:
            is_good = exchange.origin(url) == visitor.origin and visitor.robots.allow(url)
        except Refused:
            is_good = False
        (good if is_good else bad).append(url)
    # A page that the operator does not list any more is not looked at.
    before = [] if order.urls else order.before[:options.most]
    known = set(before)
    others = sources.spread([url for url in good if url not in known], options.most - len(before))
    return visit(visitor, before + others + bad[:REFUSED_MOST], options)


def fetch(order):
    """{"pages", "refused"}: each page was fetched twice, and has what both have in common."""
    options = order.options
    visitor = Visitor(exchange.origin(order.site), options.rate, options.time / 2, order.reach)
    visitor.read_robots(order.site)
    pages, refused = first_visit(order, visitor)
    total, within = 0, []
    for page in pages:
        total += len(page.whole)
        if total <= BYTES_MOST:
            within.append(page)
    visitor.until = visitor.clock() + options.time
    pages, others = again(visitor, within, options)
    return {"pages": pages, "refused": list({**refused, **others}.items())}
