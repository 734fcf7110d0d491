"""A page and its dictionary as Chromium asks for them."""

import http.client
import ssl
import typing
import urllib.parse

from codeckit import decoders, libraries
from dictionarykit import fields, sources, visit
from dictionarykit.failure import Failed
from dictionarykit.response import Response

BODY_MOST = 64 << 20  # bytes
ENCODINGS = "gzip, br, zstd"
DECODERS = {"": bytes, "identity": bytes, "gzip": decoders.gunzip, "br": decoders.brotli,
            "zstd": decoders.zstd}
NAVIGATION = {"Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate",
              "Sec-Fetch-Site": "none", "Sec-Fetch-User": "?1", "Upgrade-Insecure-Requests": "1"}


class Answer(typing.NamedTuple):
    """A response, and the URL to which redirects led."""

    url: str
    response: Response

    def coding(self):
        return ", ".join(self.response.values("content-encoding")).strip().lower()

    def body(self):
        """Without its coding; ValueError: it does not decode, or a browser would not."""
        coding = self.coding()
        if coding not in DECODERS:
            raise ValueError(f"the coding is {coding}, which was not asked for")
        return DECODERS[coding](self.response.body)

    def body_or_none(self):
        try:
            return self.body()
        except ValueError:
            return None


class Browser:
    """`resolve`: (host, port or 0), the address to ask for the host of `url`, or None."""

    def __init__(self, url, cafile, resolve):
        self.origin, self.resolve = sources.origin(url), resolve
        self.context = ssl.create_default_context(cafile=cafile)
        # dcb where it can be decoded here.
        is_dcb = libraries.load_dictionaries("brotli decoder")
        self.codings = ENCODINGS + (", dcb" if is_dcb else "") + ", dcz"
        self.fields = NAVIGATION

    def once(self, url, asked):
        try:
            origin = sources.origin(url)
            at, port = self.resolve if self.resolve and origin == self.origin else ("", 0)
            connection = visit.Connection(origin, visit.Reach(at, self.context, port))
            try:
                connection.request("GET", visit.target_of(url), headers=asked)
                answer = connection.getresponse()
                found = tuple((name.lower(), value) for name, value in answer.getheaders())
                return Response(answer.status, found, answer.read(BODY_MOST))
            finally:
                connection.close()
        except (OSError, http.client.HTTPException) as problem:
            raise Failed(f"{url}: {problem or type(problem).__name__}") from None

    def follow(self, url, asked):
        for _ in range(visit.REDIRECTS_MOST + 1):
            answer = self.once(url, {"User-Agent": "elastic-dictionary", "Accept": "*/*", **asked})
            places = answer.values("location")
            if answer.status not in visit.REDIRECTS or not places:
                return Answer(url, answer)
            url = urllib.parse.urljoin(url, places[0]).partition("#")[0]
        raise Failed(f"{url}: redirects again and again")

    def ask(self, url, encodings=ENCODINGS, **more):
        """A page; underscores in the names of further fields are hyphens."""
        return self.follow(url, {"Accept-Encoding": encodings, **self.fields, **{
            name.replace("_", "-"): value for name, value in more.items()}})

    def ask_dictionary(self, url, page, encodings=ENCODINGS):
        """What a page links to as its dictionary."""
        asked = {"Accept-Encoding": encodings, "Sec-Fetch-Dest": "empty",
                 "Sec-Fetch-Mode": "cors", "Sec-Fetch-Site": "same-origin", "Referer": page}
        if sources.origin(url) != sources.origin(page):
            asked.update({"Origin": fields.origin_text(page), "Sec-Fetch-Site": "cross-site"})
        return self.follow(url, asked)

    def become(self, destination):
        """From now on what was a page is asked for as that."""
        if destination != "document":
            self.fields = {"Sec-Fetch-Dest": destination, "Sec-Fetch-Mode": "cors",
                           "Sec-Fetch-Site": "same-origin"}
