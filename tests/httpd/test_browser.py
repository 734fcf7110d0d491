"""Dictionaries in a real Chromium: which ones it keeps, and which responses it gets with them."""

import base64
import hashlib
import itertools
import json
import re
import subprocess
import typing

import pytest

from kit import at, bodies, env
from kit.chromium import CHROMIUM, Chromium
from kit.dictionary import DICT, PAGE, PINNED, WEEK, field, name_of, start, store_of

pytestmark = [pytest.mark.skipif(not env.HAS_ZSTD, reason="needs libzstd"),
              pytest.mark.package("chromium-headless-shell"),
              pytest.mark.skipif(not CHROMIUM, reason="needs Debian's chromium-headless-shell")]

OTHER = DICT[:20_000] + b"<p>another release</p>" + DICT[20_000:]

# --- Chromium and this server, after the published tests of browsers (web-platform-tests,
# fetch/compression-dictionary). Cases that this server never sends are left out: malformed fields,
# patterns of other origins, types that are not raw, ids that are too long.

LARGE = bodies.text(1_200_000) + DICT
# All characters that an id may have.
CHARACTERS = "".join(map(chr, range(32, 127)))
QUOTED = '"' + re.sub(r'(["\\])', r"\\\1", CHARACTERS) + '"'

# {name: (the rule beside match, other settings of the dictionary, the Dictionary-ID of requests
# that name it; None: no request does)}. The dictionary is /by/NAME/dict.html, for pages below
# /of/NAME.
RULES = {
    "plain": ("", "", "-"),
    "id": ('id="v 1"', "", '"v 1"'),
    "longest": (f'id="{"a" * 1024}"', "", f'"{"a" * 1024}"'),
    "characters": (f"id={QUOTED}", "", QUOTED),
    "identity": ("", "Elastic Off", "-"),
    **{coding: ("", f"ElasticCodings {coding}", "-") for coding in ("gzip", "br", "zstd")},
    "expired": ("", "Header set Age 604801", None),
    "zero": ("", 'Header set Cache-Control "max-age=0"', None),
    "document": ('match-dest="document"', "", None),
    "script": ('match-dest="script"', "", None),
    "dictionary": ('match-dest="compression-dictionary"', "", None),
}
DIFFERENCES = ("dcz", "dcb")
ALL = 'Header set Access-Control-Allow-Origin "*"'


def by(name, rule, *more):
    return at(f"by/{name}", f"ElasticDictionary {rule}", WEEK, ALL, *more)


SITE = PINNED + \
    'LogFormat "%U%q %{Sec-Fetch-Dest}i %{Sec-Fetch-Mode}i %{Sec-Fetch-Site}i ' \
    '%{Content-Encoding}o %{elastic-dictionary}n %{Available-Dictionary}i %{Dictionary-ID}i" ' \
    "fields\n" \
    "CustomLog {root}/fields.log fields\n" + "".join(
        by(name, f'match="/of/{name}/*" {rule}', more) for name, (rule, more, _) in RULES.items()) \
    + by("last", 'match="/of/last/*"') + by("second", 'match="/of/plain/*" id="second"') \
    + by("chain", 'match="/by/chained/*"') + by("chained", 'match="/of/chained/*"') \
    + by("dcb", 'match="/of/dcb/*"') \
    + f"""AliasMatch ^/of/[^/]*/(.*)$ {{docs}}/$1
<Location /of>
    Header set Cache-Control "no-store"
    {ALL}
</Location>
<Location /of/dcb>
    RequestHeader edit Accept-Encoding ", dcz" ""
</Location>
""" + "RedirectMatch ^/moved/(.*)$ /of/plain/$1\n" + "".join(
        at(f"clear/{name}", f'Header set Clear-Site-Data "\\"{name}\\""')
        for name in ("cache", "cookies", "storage")) + "".join(
        at(f"link/{name}", "ElasticDictionaryLink /by/plain/dict.html",
           f'Header set Content-Security-Policy "{policy}"') for name, policy in {
               "open": "default-src *", "permitted": "connect-src *:*/by/ *:*/of/",
               "refused": "connect-src *:*/of/ *:*/by/last/"}.items())


class Seen(typing.NamedTuple):
    """The fields of a request and its response that httpd logged; "-": absent."""

    dest: str
    mode: str
    site: str
    coding: str
    note: str
    dictionary: str
    id: str


class Visitor:
    """A visitor with a fresh browser, at a page of the site."""

    numbers = itertools.count()

    def __init__(self, server, browser, path="/empty.html", origin="http://localhost"):
        self.server, self.page = server, browser.page()
        self.origin = f"{origin}:{server.tls_port if 'https' in origin else server.port}"
        self.page.open(self.origin + path)

    def seen(self, path):
        """Returns the last request for the path."""
        lines = []

        def look():
            text = (self.server.root / "fields.log").read_text()
            lines[:] = re.findall(rf"(?m)^{re.escape(path)} (.*)$", text)
            return lines

        self.server.wait_for(look, 30, f"a request for {path}")
        return Seen(*re.sub(r"\\(.)", r"\1", lines[-1]).split(" ", 6))

    def get(self, path, body=DICT, cache="default"):
        """Fetches the path by a script."""
        text = self.page.run(f"fetch({path!r}, {{cache: '{cache}'}}).then(answer => answer.text())")
        assert text.encode() == body

    def ask(self, path, moved="", origin=""):
        """Fetches a page by a script; `moved`: a URL that redirects there."""
        number = next(self.numbers)
        self.get(f"{origin}{moved or path}/page.html?{number}", PAGE)
        return self.seen(f"{path}/page.html?{number}")

    def add(self, kind, **attributes):
        """Adds an element to the page, which loads something."""
        self.page.run(f"document.head.append(Object.assign(document.createElement('{kind}'), "
                      f"{json.dumps(attributes)}))")

    def await_difference(self, path, body=DICT, **more):
        """Waits until the browser has the dictionary: it stores one when it has time."""
        found = []

        def ask():
            found.append(self.ask(path, **more))
            return found[-1].dictionary == field(body)

        self.server.wait_for(ask, 30, f"a dictionary for {path}")
        assert found[-1].coding in DIFFERENCES, found[-1]
        return found[-1]

    def names_none(self, path):
        """Requests for the path name no dictionary, even after the browser got a later one."""
        self.get("/by/last/dict.html")
        self.await_difference("/of/last")
        return self.ask(path).dictionary == "-"


@pytest.fixture(scope="module")
def site(httpd_shared):
    return start(httpd_shared, SITE, {
        "empty.html": "", "other.html": OTHER, "large.html": LARGE,
        "base.html": '<base href="/by/plain/">'}, tls=True, h2=env.possible("h2"))


@pytest.fixture(scope="module")
def browser(site, tmp_path_factory):
    """Trusts the site's certificate: Chromium uses no dictionaries with one that it does not
    trust."""
    key = subprocess.run(["openssl", "pkey", "-in", site.root / "tls.pem", "-pubout", "-outform",
                          "der"], check=True, capture_output=True).stdout
    pin = base64.b64encode(hashlib.sha256(key).digest()).decode()
    with Chromium(tmp_path_factory.mktemp("profile"),
                  f"--ignore-certificate-errors-spki-list={pin}") as made:
        yield made


@pytest.fixture
def visitor(site, browser):
    return Visitor(site, browser)


def test_differences_are_decoded_whatever_becomes_of_the_server(httpd, tmp_path):
    server = start(httpd, SITE, {"empty.html": ""})

    def forget(body):
        for file in store_of(server).glob(name_of(body) + "*"):
            file.unlink()

    with Chromium(tmp_path / "profile") as browser:
        visitor = Visitor(server, browser)
        assert visitor.ask("/of/plain").coding not in DIFFERENCES
        visitor.get("/by/plain/dict.html")
        visitor.await_difference("/of/plain")
        for reload in (server.graceful, server.restart):
            reload()
            assert visitor.ask("/of/plain").coding == "dcz"
        # The dictionary changes; the browser has the previous one and may use it.
        server.write("dict.html", OTHER)
        assert visitor.ask("/of/plain").coding == "dcz"
        visitor.get("/by/plain/dict.html", OTHER, "no-cache")
        forget(DICT)
        visitor.await_difference("/of/plain", OTHER)
        forget(OTHER)
        assert visitor.ask("/of/plain").coding not in DIFFERENCES


@pytest.mark.parametrize("name", RULES)
def test_what_becomes_a_dictionary(visitor, name):
    visitor.get(f"/by/{name}/dict.html")
    wanted = RULES[name][2]
    if wanted is None:
        assert visitor.names_none(f"/of/{name}")
    else:
        assert visitor.await_difference(f"/of/{name}").id == wanted


def test_a_large_dictionary(visitor):
    visitor.get("/by/plain/large.html", LARGE)
    visitor.await_difference("/of/plain", LARGE)


def test_the_newest_dictionary_is_named(visitor):
    visitor.get("/by/plain/dict.html")
    visitor.await_difference("/of/plain")
    visitor.get("/by/second/other.html", OTHER)
    assert visitor.await_difference("/of/plain", OTHER).id == '"second"'


def test_a_dictionary_stays_in_the_browsers_cache(visitor):
    """Vary names fields that the browser itself sets for dictionaries."""
    for _ in range(2):
        visitor.get("/by/plain/dict.html")
        visitor.await_difference("/of/plain")
    first, second = visitor.page.run(
        f"performance.getEntriesByName('{visitor.origin}/by/plain/dict.html')"
        ".map(entry => entry.transferSize)")
    assert first > 0 and second == 0


def test_a_dictionary_may_itself_come_as_a_difference(visitor):
    visitor.get("/by/chain/dict.html")
    visitor.await_difference("/by/chained")
    visitor.get("/by/chained/other.html?new", OTHER)
    assert visitor.seen("/by/chained/other.html?new").coding in DIFFERENCES
    visitor.await_difference("/of/chained", OTHER)


@pytest.mark.parametrize("dest", ["document", "script"])
def test_a_destination_of_its_own(visitor, dest):
    visitor.get(f"/by/{dest}/dict.html")
    assert visitor.names_none(f"/of/{dest}")
    path = f"/of/{dest}/page.html?{next(visitor.numbers)}"
    if dest == "script":
        visitor.add("script", src=path)
    else:
        visitor.page.open(visitor.origin + path)
        assert "what is new here" in visitor.page.run("document.body.innerText")
    seen = visitor.seen(path)
    assert (seen.dest, seen.dictionary) == (dest, field(DICT)) and seen.coding in DIFFERENCES


@pytest.mark.parametrize("path, attributes", [
    ("/link/open/empty.html", None), ("/link/permitted/empty.html", None),
    ("/empty.html", {"href": "/by/plain/dict.html"}), ("/base.html", {"href": "dict.html"})])
def test_a_page_links_to_its_dictionary(site, browser, path, attributes):
    visitor = Visitor(site, browser, path)
    if attributes:
        visitor.add("link", rel="compression-dictionary", **attributes)
    visitor.await_difference("/of/plain")
    seen = visitor.seen("/by/plain/dict.html")
    assert (seen.mode, seen.site) == ("cors", "same-origin")
    assert seen.dest in ("empty", "compression-dictionary")  # the former before Chromium 156


def test_a_policy_forbids_to_fetch_it(site, browser):
    assert Visitor(site, browser, "/link/refused/empty.html").names_none("/of/plain")


def test_another_origin_has_differences_where_cors_lets_it_read(site, browser):
    visitor = Visitor(site, browser, origin="http://127.0.0.1")
    other = f"http://localhost:{site.port}"
    visitor.add("link", rel="compression-dictionary", href=f"{other}/by/plain/dict.html",
                crossOrigin="anonymous")
    seen = visitor.await_difference("/of/plain", origin=other)
    assert (seen.mode, seen.site) == ("cors", "cross-site")
    assert visitor.ask("/of/plain").dictionary == "-"  # the dictionary of its own origin
    path = f"/of/plain/page.html?{next(visitor.numbers)}"
    visitor.add("script", src=other + path)
    seen = visitor.seen(path)
    assert (seen.mode, seen.dictionary) == ("no-cors", "-") and seen.coding not in DIFFERENCES


def test_what_a_redirect_leads_to_is_a_difference(visitor):
    visitor.get("/by/plain/dict.html")
    visitor.await_difference("/of/plain", moved="/moved")


@pytest.mark.parametrize("what, is_gone", [("cache", True), ("cookies", True), ("storage", False)])
def test_the_site_clears_what_browsers_have(visitor, what, is_gone):
    visitor.get("/by/plain/dict.html")
    visitor.await_difference("/of/plain")
    visitor.get(f"/clear/{what}/empty.html", b"")
    assert (visitor.ask("/of/plain").dictionary == "-") == is_gone


def test_differences_by_https(site, browser):
    visitor = Visitor(site, browser, origin="https://localhost")
    visitor.get("/by/id/dict.html")
    assert visitor.await_difference("/of/id").id == '"v 1"'


@pytest.mark.dcb
def test_a_browser_decodes_brotli_differences(visitor):
    visitor.get("/by/dcb/dict.html")
    assert visitor.await_difference("/of/dcb").coding == "dcb"
