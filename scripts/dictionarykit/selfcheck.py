"""The site as a browser gets it: over its own TLS, with the dictionary, decoded and compared."""

import hashlib
import urllib.parse

from codeckit import decoders, dictionaries
from dictionarykit import common, exchange, failure, response, sources, visit

AWAITED = 15  # seconds until httpd has reloaded
CHECKED = 300  # seconds, for slow pages
RATE = 50
VISITS_MOST = 5  # to a page that changes
PAUSE = 0.5  # seconds between these: some pages have the time, in seconds
PAGES_MOST = 10
ALL = "gzip, deflate, br, zstd"
DOCUMENT = {"User-Agent": visit.AGENT, "Accept": "text/html, */*;q=0.5",
            "Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Site": "none"}
OF_PAGE = {"Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Site": "same-origin"}


def asking(codings, content=b""):
    """The fields of a browser that has a dictionary."""
    found = {**DOCUMENT, "Accept-Encoding": codings}
    if content:
        found["Available-Dictionary"] = dictionaries.field(content)
    return found


def decoded(answer, content=b""):
    """The body; Failed where it is no such body."""
    try:
        return decoders.decode("".join(answer.values("content-encoding")), answer.body, content,
                               exchange.BODY_MOST)
    except ValueError as problem:
        raise failure.Failed(f"a response is broken: {problem}") from None


class Check:
    def __init__(self, site, reach, content):
        self.visitor = visit.Visitor(sources.origin(site), RATE, AWAITED, reach)
        self.site, self.content = site, content

    def ask(self, url, found):
        try:
            return self.visitor.ask(url, sources.SITEMAP_MOST, found)
        except visit.Refused as problem:
            raise failure.Failed(f"{url}: {problem}") from None

    def await_link(self, page):
        """The dictionary's URL, when a page names it: httpd has reloaded by then."""
        digits = hashlib.sha256(self.content).hexdigest()[:32]
        try:
            while True:
                answer = self.visitor.ask(page, visit.PAGE_MOST, asking(ALL))
                links = response.linked(answer.values("link"))
                if len(links) > 1:
                    raise failure.Failed(f"{page} names {links[-1]}, too: remove that first")
                if links and links[0].endswith("/" + digits):
                    return urllib.parse.urljoin(page, links[0])
        except visit.Refused as problem:
            raise failure.Failed(
                f"{page} does not name the dictionary after a reload ({problem}): is `Elastic On` "
                "in force there, and may httpd's user write to ElasticDictionaryStore? Its error "
                "log says more") from None

    def check_dictionary(self, url):
        answer = self.ask(url, {**asking(ALL), **OF_PAGE})
        if answer.status != 200 or not answer.values("use-as-dictionary"):
            raise failure.Failed(f"{url} has the status {answer.status}, or is not given out as a "
                                 "dictionary")
        if decoded(answer) != self.content or not response.lifetime(answer):
            raise failure.Failed(f"{url} is another one, or may not be kept")

    def is_page(self, url, body):
        """Whether the body has what the page has at each visit, and nothing else if that never
        changes. What changes may be equal by chance, and then be another one in the body."""
        first = same = decoded(self.ask(url, asking("identity")))
        changes = False
        for number in range(VISITS_MOST):
            if number:
                self.visitor.sleep(PAUSE)
            found = decoded(self.ask(url, asking("identity")))
            changes = changes or found != first
            same = common.common(same, found)
            if body == first or changes and common.common(same, body) == same:
                return True
        return False

    def check_page(self, url):
        """(bytes with the dictionary, whether it was used, bytes without), heads counted."""
        # Of all codings, a busy server may prefer one that takes less of the CPU.
        answer = self.ask(url, asking("dcb, dcz", self.content))
        without = self.ask(url, asking(ALL))
        if answer.status != 200 or not self.is_page(url, decoded(answer, self.content)):
            raise failure.Failed(f"{url} is another page with the dictionary")
        used = "".join(answer.values("content-encoding")) in dictionaries.HEADS
        return (answer.head() + len(answer.body), used, without.head() + len(without.body))


def check(site, reach, content, pages, files=()):
    """{"pages", "used", "bytes", "bytes_without"}: of the site as it is sent now. `files` are URLs
    of versioned ones."""
    one = Check(site, reach, content)
    link = one.await_link(pages[0])
    one.visitor.until = one.visitor.clock() + CHECKED
    one.check_dictionary(link)
    found = [one.check_page(url) for url in pages[:PAGES_MOST]]
    used = [sizes for sizes in found if sizes[1]]
    if not used:
        raise failure.Failed("httpd did not use the dictionary for any page: is `Elastic On` in "
                             "force there? If so, the note elastic-dictionary in its log says why")
    for url in files:
        if not one.ask(url, asking(ALL)).values("use-as-dictionary"):
            raise failure.Failed(f"{url} is not given out as a dictionary")
    return {"pages": len(found), "used": len(used), "bytes": sum(sizes[0] for sizes in used),
            "bytes_without": sum(sizes[2] for sizes in used)}
