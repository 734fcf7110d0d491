"""Pages as a visitor without cookies gets them: one after another, slowly, from one origin. Each is
fetched twice, and the common part is kept. Runs without privileges."""

import bisect
import collections
import contextlib
import re
import time
import typing
import urllib.parse

from dictionarykit import exchange, sources
from dictionarykit.exchange import Failed, Refused

PAGES_LEAST = 8  # two are held back, and two guide the choice of others
REFUSED_MOST = 41  # entries of a list that has more than are visited
BYTES_MOST = 64 << 20  # of all pages, in memory
REDIRECTS_MOST = 3
KNOWN_MOST = 50_000  # URLs that links lead to
# If more of a page differs between two visits, the rest is not typical either.
COMMON_LEAST = 0.5  # of its bytes
AGENT = "elastic-dictionary"
FIELDS = {"User-Agent": AGENT, "Accept": "text/html, */*;q=0.5", "Accept-Encoding": "identity"}


class Page(typing.NamedTuple):
    url: str
    body: bytes  # the part that a dictionary may contain
    whole: bytes = b""  # as received
    head: int = 0  # bytes of its header


class Order(typing.NamedTuple):
    """The pages to request, and how."""

    site: str
    options: object  # state.Options
    reach: exchange.Reach
    urls: list = []  # only these
    before: list = []  # pages of the dictionary in force, which come first


class Visitor:
    """Requests pages of one origin (None: of any), at most `rate` times a second, for `seconds`.

    Tests may replace `clock` and `sleep`, which are those of the module time.
    """

    def __init__(self, origin, rate, seconds, reach=exchange.Reach(), clock=time.monotonic,
                 sleep=time.sleep):
        self.origin, self.reach = origin, reach
        self.pause = 1 / rate
        self.clock, self.sleep = clock, sleep
        self.until = clock() + seconds
        self.next = clock()
        self.robots = sources.EVERYTHING

    def ask(self, url, most, fields=FIELDS):
        """The response, once the next request is due; at most `most` bytes of body."""
        now = self.clock()
        start = max(now, self.next)
        if start >= self.until:
            raise Refused("the time was over")
        if start > now:
            self.sleep(start - now)
        self.next = start + self.pause
        return exchange.get(url, self.reach, fields, most, self.until - self.clock())

    def follow(self, url, most, options=None, redirects=REDIRECTS_MOST, fields=FIELDS):
        """(the URL after redirects, its response)."""
        for _ in range(redirects + 1):
            if self.origin and exchange.origin(url) != self.origin:
                raise Refused("is of another origin")
            if not self.robots.allow(url):
                raise Refused("robots.txt forbids it")
            answer = self.ask(url, most, fields)
            found = exchange.redirect_of(url, answer)
            if not found:
                return url, answer
            reason = self.origin and answer.header_refusal(options)
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
        """RFC 9309 §2.3.1: a missing file allows everything, an unreachable one nothing."""
        url = urllib.parse.urljoin(site, "/robots.txt")
        try:
            answer = self.follow(url, exchange.PAGE_MOST, redirects=sources.REDIRECTS_MOST)[1]
        except Refused as problem:
            raise Failed(f"{url}: {problem}") from None
        if answer.status >= 500 or 200 < answer.status < 400:
            raise Failed(f"{url}: has the status {answer.status}, which forbids everything")
        if answer.status == 200:
            self.robots = sources.parse_robots(answer.body.decode("utf-8", "replace"), AGENT)
            self.pause = max(self.pause, self.robots.delay)


def take(visitor, url, options, pages):
    """The page of a URL; raises Refused if there is none, or if it is one of `pages`, {body:
    page}."""
    found, answer = visitor.follow(url, exchange.PAGE_MOST, options)
    reason = answer.refusal(options)
    if reason:
        raise Refused(reason)
    if answer.body in pages:
        raise Refused("is the same as " + pages[answer.body].url)
    return Page(found, answer.body, answer.body, answer.head())


def visit(visitor, urls, options, most=None):
    """(pages, {URL: why it was refused}). Of equal pages the first one stays. With `most`, follows
    links to that many pages."""
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
        known.add(page.url)  # a link may lead to the target of a redirect, too
        for link in sources.Markup(page.url, page.body).links if most else ():
            if link not in known and len(known) < KNOWN_MOST and sources.is_page(link) \
                    and exchange.origin(link) == visitor.origin:
                known.add(link)
                waiting.append(link)
    return list(pages.values()), refused


def tokens(body):
    """Splits into tokens; an element's tag and the text after it are one."""
    return re.findall(rb"<?[^<]+|<", body)


def extend(first, second, at, other, step):
    """The number of equal tokens from these places on, in one direction."""
    count = 0
    while 0 <= at < len(first) and 0 <= other < len(second) and first[at] == second[other]:
        at, other, count = at + step, other + step, count + 1
    return count


def anchors(first, second):
    """Pairs of places of tokens that both have once: the largest set in the same order in both."""
    once = [{token for token, count in collections.Counter(part).items() if count == 1}
            for part in (first, second)]
    places = {token: at for at, token in enumerate(second)}
    pairs = [(at, places[token]) for at, token in enumerate(first)
             if token in once[0] and token in once[1]]
    ends, chains, before = [], [], [None] * len(pairs)  # by patience sorting
    for number, (_, place) in enumerate(pairs):
        pile = bisect.bisect_left(ends, place)
        ends[pile:pile + 1], chains[pile:pile + 1] = [place], [number]
        before[number] = chains[pile - 1] if pile else None
    found, number = [], chains[-1] if chains else None
    while number is not None:
        found.append(pairs[number])
        number = before[number]
    return found[::-1]


def common(first, second):
    """The tokens of `first` that `second` has too, in the same order: equal tokens at both ends,
    and around tokens that both have once. Takes time of order n log n."""
    if first == second:
        return first
    one, other = tokens(first), tokens(second)
    begin = extend(one, other, 0, 0, 1)
    rest, others = one[begin:], other[begin:]
    end = extend(rest, others, len(rest) - 1, len(others) - 1, -1) if rest and others else 0
    middle, others = rest[:len(rest) - end], others[:len(others) - end]
    kept, at, place = [], 0, 0  # after the part taken from each
    for start, found in anchors(middle, others):
        if start < at or found < place:
            continue
        back = min(extend(middle, others, start - 1, found - 1, -1), start - at, found - place)
        ahead = extend(middle, others, start, found, 1)
        kept += middle[start - back:start + ahead]
        at, place = start + ahead, found + ahead
    return b"".join(one[:begin] + kept + rest[len(rest) - end:])


def again(visitor, pages, options):
    """Fetches the pages again: (pages without the parts that changed, {URL: why refused})."""
    found, refused = [], {}
    for page in pages:
        try:
            same = common(page.body, take(visitor, page.url, options, {}).body)
            if len(same) < COMMON_LEAST * len(page.body):
                raise Refused("is another page at each visit")
            found.append(page._replace(body=same))
        except Refused as problem:
            refused[page.url] = str(problem)
    return found, refused


def first_visit(order, visitor):
    urls, options = order.urls, order.options
    if not urls and options.sitemap:
        urls = sources.collect_sitemap(options.sitemap, visitor.fetch)
    elif not urls:
        for sitemap in visitor.robots.sitemaps[:sources.SITEMAPS_MOST] or [
                urllib.parse.urljoin(order.site, "/sitemap.xml")]:
            with contextlib.suppress(Refused):
                urls = urls + sources.collect_sitemap(sitemap, visitor.fetch)
        if len(urls) < PAGES_LEAST:  # links are followed
            starts = list(dict.fromkeys([order.site, *order.before]))
            return visit(visitor, starts, options, options.most)
    good, bad = [], []  # so that a sitemap gives as many as wanted
    for url in sources.unique(urls):
        try:
            is_good = exchange.origin(url) == visitor.origin and visitor.robots.allow(url)
        except Refused:
            is_good = False
        (good if is_good else bad).append(url)
    # Pages that the operator no longer lists are not visited.
    before = [] if order.urls else order.before[:options.most]
    known = set(before)
    others = sources.spread([url for url in good if url not in known], options.most - len(before))
    return visit(visitor, before + others + bad[:REFUSED_MOST], options)


def fetch(order):
    """{"pages", "refused"}: each page was fetched twice, and has the common part."""
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
