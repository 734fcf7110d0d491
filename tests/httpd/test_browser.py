"""A real Chromium and its dictionaries: what it has, and what becomes of that."""

import hashlib

import pytest

from kit import at, bodies, env
from kit.browser import CHROMIUM, Browser
from kit.dictionary import make_store, store_of

pytestmark = [pytest.mark.skipif(not env.HAS_ZSTD, reason="needs libzstd"),
              pytest.mark.skipif(not CHROMIUM, reason="needs Debian's chromium-headless-shell")]

DICT = bodies.html(60_000)
PAGE = DICT[:40_000] + b"<p>what is new here</p>" + DICT[40_000:]
OTHER = DICT[:20_000] + b"<p>another release</p>" + DICT[20_000:]

CONFIG = """
Elastic On
ElasticControl off
ElasticDictionaryStore {root}/dictionaries
Header unset ETag
Header unset Last-Modified
""" + at("d", 'ElasticDictionary match="/pages/*"',
         'Header set Cache-Control "public, max-age=604800"') \
    + at("pages", 'Header set Cache-Control "private, no-store"')


@pytest.fixture
def server(httpd):
    made = httpd(CONFIG, files={"dict.html": DICT, "page.html": PAGE}, start=False)
    make_store(made)
    return made.start()


def page(browser):
    """The coding of the page, which is what it should be; past the browser's cache."""
    answer = browser.get("/pages/page.html", reload=True)
    assert (answer["status"], answer["text"].encode()) == (200, PAGE), answer["status"]
    return answer["coding"]


def becomes(server, browser):
    """A browser writes a dictionary when it finds time."""
    server.wait_for(lambda: page(browser) == "dcz", 60, "a difference")


def forget(server, body):
    """The folder does not have it any more."""
    for file in store_of(server).glob(hashlib.sha256(body).hexdigest() + "*"):
        file.unlink()


def test_chromium_decodes_differences_whatever_becomes_of_the_server(server, tmp_path):
    with Browser(server, tmp_path) as browser:
        assert page(browser) != "dcz"
        browser.get("/d/dict.html")
        becomes(server, browser)
        for reload in (server.graceful, server.restart):
            reload()
            assert page(browser) == "dcz"
        # There is another one: the browser has that of before, and may use it.
        server.write("dict.html", OTHER)
        assert page(browser) == "dcz"
        answer = browser.get("/d/dict.html", reload=True)
        assert answer["text"].encode() == OTHER
        forget(server, DICT)
        becomes(server, browser)
        forget(server, OTHER)
        assert page(browser) != "dcz"
