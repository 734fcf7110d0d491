"""The site as a browser gets it: over its own TLS, with the dictionary, decoded and compared."""

import urllib.parse

from codeckit import decoders, dictionaries
from dictionarykit import common, configuration, failure, sources, visit

AWAITED = 15  # seconds until httpd has reloaded
CHECKED = 300  # seconds, for slow pages
RATE = 50
VISITS_MOST = 5  # to a page that changes
PAUSE = 0.5  # seconds between these: some pages have the time, in seconds
PAGES_MOST = 10
ALL = "gzip, deflate, br, zstd"
DOCUMENT = {"User-Agent": visit.FIELDS["User-Agent"], "Accept": "text/html, */*;q=0.5",
            "Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Site": "none"}


def fields(codings, content=b""):
    """Of a browser that has a dictionary."""
    found = {**DOCUMENT, "Accept-Encoding": codings}
    if content:
        found["Available-Dictionary"] = dictionaries.field(content)
    return found


def decoded(answer, content=b""):
    """The body; Failed where it is no such body."""
    coding = "".join(answer.values("content-encoding")).strip().lower()
    body = answer.body
    try:
        if coding in dictionaries.HEADS:
            head = dictionaries.head(coding, content)
            if not body.startswith(head):
                raise ValueError("it is for another dictionary")
            decode = {"dcz": decoders.zstd, "dcb": decoders.brotli}[coding]
            return decode(body[len(head):], content)
        plain = {"": bytes, "identity": bytes, "gzip": decoders.gunzip, "br": decoders.brotli,
                 "zstd": decoders.zstd}
        return plain[coding](body)
    except (ValueError, KeyError) as problem:
        raise failure.Failed(f"a response of the coding '{coding}' is broken: {problem}") from None


class Check:
    def __init__(self, site, reach, content, link):
        self.visitor = visit.Visitor(sources.origin(site), RATE, AWAITED, reach)
        self.site, self.content, self.link = site, content, link

    def ask(self, url, found):
        try:
            return self.visitor.ask(url, sources.SITEMAP_MOST, found)
        except visit.Refused as problem:
            raise failure.Failed(f"{url}: {problem}") from None

    def await_link(self, url):
        """Until a page names the dictionary: httpd has reloaded by then."""
        wanted = f'<{self.link}>; rel="compression-dictionary"'
        try:
            while not any(wanted in value for value in
                          self.visitor.ask(url, visit.PAGE_MOST, fields(ALL)).values("link")):
                pass
        except visit.Refused as problem:
            raise failure.Failed(
                f"{url} does not name the dictionary after a reload ({problem}): is `Elastic On` "
                "in force there, and does httpd itself serve the site?") from None

    def check_dictionary(self):
        url = urllib.parse.urljoin(self.site, self.link)
        answer = self.ask(url, {**fields(ALL), "Sec-Fetch-Dest": "empty", "Sec-Fetch-Mode": "cors",
                                "Sec-Fetch-Site": "same-origin"})
        if answer.status != 200 or not answer.values("use-as-dictionary"):
            raise failure.Failed(
                f"{url} has the status {answer.status}"
                + ("" if answer.status != 200 else ", and is not given out as a dictionary"))
        if decoded(answer) != self.content:
            raise failure.Failed(f"{url} is not the dictionary")
        if f"max-age={configuration.LIFETIME}" not in "".join(answer.values("cache-control")):
            raise failure.Failed(f"{url} may not be stored: something else sets Cache-Control")

    def is_page(self, url, body):
        """Whether the body has what the page has at each visit, and nothing else if that never
        changes. What changes may be equal by chance, and then be another one in the body."""
        first = same = decoded(self.ask(url, fields("identity")))
        changes = False
        for number in range(VISITS_MOST):
            if number:
                self.visitor.sleep(PAUSE)
            found = decoded(self.ask(url, fields("identity")))
            changes = changes or found != first
            same = common.common(same, found)
            if body == first or changes and common.common(same, body) == same:
                return True
        return False

    def check_page(self, url):
        """(bytes with the dictionary, whether it was used, bytes without), heads counted."""
        # Of all codings, a busy server may prefer one that takes less of the CPU.
        answer = self.ask(url, fields("dcb, dcz", self.content))
        without = self.ask(url, fields(ALL))
        if answer.status != 200 or not self.is_page(url, decoded(answer, self.content)):
            raise failure.Failed(f"{url} is another page with the dictionary")
        used = "".join(answer.values("content-encoding")) in dictionaries.HEADS
        return (answer.head() + len(answer.body), used, without.head() + len(without.body))


def check(site, reach, content, link, pages, files=()):
    """{"pages", "used", "bytes", "bytes_without"}: of the site as it is sent now. `files` are URLs
    of versioned ones."""
    one = Check(site, reach, content, link)
    one.await_link(pages[0])
    one.visitor.until = one.visitor.clock() + CHECKED
    one.check_dictionary()
    found = [one.check_page(url) for url in pages[:PAGES_MOST]]
    used = [sizes for sizes in found if sizes[1]]
    if not used:
        raise failure.Failed("httpd did not use the dictionary for any page: is `Elastic On` in "
                             "force there? If so, the note elastic-dictionary in its log says why")
    for url in files:
        if not one.ask(url, fields(ALL)).values("use-as-dictionary"):
            raise failure.Failed(f"{url} is not given out as a dictionary")
    return {"pages": len(found), "used": len(used), "bytes": sum(sizes[0] for sizes in used),
            "bytes_without": sum(sizes[2] for sizes in used)}
