"""A real Chromium and its dictionaries: what it has, and what becomes of that."""

import hashlib
import html
import json
import re
import shutil
import subprocess

import pytest

from kit import at, bodies, env
from kit.dictionary import make_store, store_of

CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
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

# Asks for the path in its own query, past the browser's cache, and says what came.
ASK = """<!DOCTYPE html><html><body><script>
const asked = new XMLHttpRequest();
asked.open("GET", location.search.slice(1), false);
asked.setRequestHeader("Cache-Control", "no-cache");
asked.send();
document.body.textContent = JSON.stringify(
    [asked.status, asked.getResponseHeader("Content-Encoding"), asked.responseText]);
</script></body></html>"""


@pytest.fixture
def server(httpd):
    made = httpd(CONFIG, files={"dict.html": DICT, "page.html": PAGE, "ask.html": ASK}, start=False)
    make_store(made)
    return made.start()


@pytest.fixture
def ask(server, tmp_path):
    """ask(path, body): the coding in which a browser gets the body, always of the same profile."""

    def ask(path, body):
        said = subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             f"--user-data-dir={tmp_path}", "--dump-dom",
             f"http://localhost:{server.port}/ask.html?{path}"],
            capture_output=True, text=True, timeout=120)
        found = re.search("<body>(.*)</body>", said.stdout, re.S)
        assert found, said
        status, coding, text = json.loads(html.unescape(found[1]))
        assert (status, text.encode()) == (200, body)
        return coding

    return ask


def test_chromium_decodes_differences_whatever_becomes_of_the_server(server, ask):
    def page():
        return ask("/pages/page.html", PAGE)

    def becomes_a_difference():
        """A browser writes a dictionary when it finds time."""
        server.wait_for(lambda: page() == "dcz", 60, "a difference")

    def forget(body):
        """The folder does not have it any more."""
        for file in store_of(server).glob(hashlib.sha256(body).hexdigest() + "*"):
            file.unlink()

    assert page() != "dcz"
    ask("/d/dict.html", DICT)
    becomes_a_difference()
    for reload in (server.graceful, server.restart):
        reload()
        assert page() == "dcz"
    # There is another one: the browser has that of before, and may use it.
    server.write("dict.html", OTHER)
    assert page() == "dcz"
    ask("/d/dict.html", OTHER)
    forget(DICT)
    becomes_a_difference()
    forget(OTHER)
    assert page() != "dcz"
