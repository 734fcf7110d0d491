"""Responses that are differences by brotli from a dictionary that the client has (RFC 9842)."""

import pytest

from kit import at, bodies, check
from kit.dictionary import decoded, field, learn, make_store

pytestmark = pytest.mark.dcb

DICT = bodies.html(60_000)
PAGE = DICT[:30_000] + b"<p>what is new here</p>" + DICT[30_000:]
STREAM = """\
head('Content-Type: text/html')
with open(os.environ['DOCUMENT_ROOT'] + '/page.html', 'rb') as page:
    body = page.read()
for start in range(0, len(body), 7000):
    out(body[start:start + 7000])
"""
CONFIG = """
Elastic On
ElasticControl off
ElasticDictionaryStore {root}/dictionaries
""" + at("d", 'ElasticDictionary match="/*"', 'Header set Cache-Control "public, max-age=604800"') \
    + at("streams", "ElasticWholeBody 0")


@pytest.fixture(scope="module")
def server(httpd_shared):
    made = httpd_shared(CONFIG, start=False, tls=True, files={"dict.html": DICT, "page.html": PAGE},
                        cgi={"page.cgi": STREAM})
    make_store(made)
    made.start()
    learn(made)
    return made


def ask(server, path, ae, dictionary=DICT, protocol="http/1.1"):
    return server.get(path, ae=ae, protocol=protocol,
                      headers={"Available-Dictionary": field(dictionary)})


@pytest.mark.smoke
@pytest.mark.protocols("http/1.1", "tls")
@pytest.mark.parametrize("path", ["/page.html", "/streams/page.html", "/page.cgi",
                                  "/streams/page.cgi"])
def test_a_page_is_a_difference_whole_and_streamed(server, tmp_path, path, protocol):
    learn(server, protocol=protocol)  # an origin of its own
    answer = ask(server, path, "br, dcb", protocol=protocol)
    assert decoded(answer, DICT, tmp_path, "dcb") == PAGE
    assert len(answer.raw) < 1000
    assert answer.varies and answer.has_token("Vary", "Available-Dictionary")
    notes = server.notes(answer)
    assert (notes["elastic-coding"], notes["elastic-engine"], notes["elastic-dictionary"]) == \
        ("dcb", "brotli", "used")
    assert 5 <= int(notes["elastic-level"]) <= 9


@pytest.mark.parametrize("ae", ["br", "br, dcb;q=0", "br;q=1, dcb;q=0.5"])
def test_who_does_not_ask_for_it_gets_another_coding(server, ae):
    check.encoded(ask(server, "/page.html", ae), "br", PAGE)


def test_who_has_another_dictionary_gets_another_coding(server):
    check.encoded(ask(server, "/page.html", "br, dcb", PAGE), "br", PAGE)


@pytest.mark.parametrize("ae, coding", [("gzip, dcb, dcz;q=0.5", "dcb"),
                                        ("gzip, dcb;q=0.5, dcz", "dcz")])
def test_a_client_says_which_difference_it_likes(server, tmp_path, ae, coding):
    answer = ask(server, "/page.html", ae)
    assert decoded(answer, DICT, tmp_path, coding) == PAGE
