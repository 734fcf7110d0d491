"""Pages as a visitor without cookies gets them: one after another, slowly, from one origin."""

import time
import typing

from dictionarykit import common, exchange, markup, response, robots, sources
from dictionarykit.exchange import Refused

PAGE_MOST = 1 << 20  # bytes; larger ones are rare, and have their own way to be fast
REDIRECTS_MOST = 3
KNOWN_MOST = 50_000  # URLs that links lead to
AGENT = "elastic-dictionary"
FIELDS = {"User-Agent": AGENT, "Accept": "text/html, */*;q=0.5", "Accept-Encoding": "identity"}


class Page(typing.NamedTuple):
    url: str
    body: bytes  # that may be in a dictionary
    whole: bytes = b""  # as it came
    head: int = 0  # bytes of its header


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

    def wait(self):
        """Until the next request may go out."""
        now = self.clock()
        start = max(now, self.next)
        if start >= self.until:
            raise Refused("the time was over")
        if start > now:
            self.sleep(start - now)
        self.next = start + self.pause

    def ask(self, url, most, fields=FIELDS):
        """The response; `most` bytes of body at most."""
        self.wait()
        return exchange.get(url, self.reach, fields, most, self.until - self.clock())

    def follow(self, url, most, accepted=response.Accepted(), redirects=REDIRECTS_MOST):
        """(the URL to which redirects lead, its response)."""
        for _ in range(redirects + 1):
            if sources.origin(url) != self.origin:
                raise Refused("is of another origin")
            if not self.robots.allow(url):
                raise Refused("robots.txt forbids it")
            answer = self.ask(url, most)
            found = exchange.redirect_of(url, answer)
            if not found:
                return url, answer
            reason = response.header_refusal(answer, accepted)
            if reason:
                raise Refused(reason)
            url = found
        raise Refused("redirects again and again")

    def fetch(self, url, most=sources.SITEMAP_MOST):
        """The body of a sitemap."""
        try:
            answer = self.follow(url, most)[1]
        except Refused as problem:
            raise sources.Unusable(f"{url}: {problem}") from None
        if answer.status != 200:
            raise sources.Unusable(f"{url}: has the status {answer.status}")
        return answer.body


def take(visitor, url, accepted, pages):
    """The page behind a URL; Refused where it is none, or one of `pages`, {body: page}."""
    found, answer = visitor.follow(url, PAGE_MOST, accepted)
    reason = response.refusal(answer, accepted)
    if reason:
        raise Refused(reason)
    if answer.body in pages:
        raise Refused("is the same as " + pages[answer.body].url)
    return Page(found, answer.body, answer.body, answer.head())


def visit(visitor, urls, accepted):
    """(pages, {URL: why it was refused}). Of equal pages the first one stays."""
    pages, refused = {}, {}
    for url in urls:
        try:
            page = take(visitor, url, accepted, pages)
            pages[page.body] = page
        except (Refused, sources.Unusable) as problem:
            refused[url] = str(problem)
    return list(pages.values()), refused


def again(visitor, pages, accepted):
    """The same once more: (pages without what has changed meanwhile, {URL: why refused})."""
    found, refused = [], {}
    for page in pages:
        try:
            body = take(visitor, page.url, accepted, {}).body
            same = common.common(page.body, body)
            if len(same) < common.COMMON_LEAST * len(page.body):
                raise Refused("is another page at each visit")
            found.append(page._replace(body=same))
        except (Refused, sources.Unusable) as problem:
            refused[page.url] = str(problem)
    return found, refused


def crawl(visitor, starts, accepted, most):
    """As visit(), of the pages to which links lead from `starts`."""
    pages, refused, waiting, known = {}, {}, list(starts), set(starts)
    while waiting and len(pages) < most and len(known) - len(waiting) < 3 * most:
        url = waiting.pop(0)
        try:
            page = take(visitor, url, accepted, pages)
        except (Refused, sources.Unusable) as problem:
            refused[url] = str(problem)
            continue
        pages[page.body] = page
        for link in markup.Markup(page.url, page.body).links:
            if link not in known and len(known) < KNOWN_MOST and sources.is_page(link) \
                    and sources.origin(link) == visitor.origin:
                known.add(link)
                waiting.append(link)
    return list(pages.values()), refused
