"""What `scripts/dictionary check` reads of fields and elements."""

import pytest

from dictionarykit import exchange, sources


@pytest.mark.parametrize("values, found", [
    (['</d>; rel="compression-dictionary"'], ["/d"]),
    (['</a,b>; rel=preload; as="x,y", </d> ;crossorigin; REL=Compression-Dictionary'], ["/d"]),
    (["</a>; rel=next", '</d>;title="a;b\\"";rel="x compression-dictionary y", </e>'], ["/d"]),
    (['</d>; title="rel=compression-dictionary"'], []), ([], [])])
def test_links(values, found):
    answer = exchange.Response(200, tuple(("link", value) for value in values), b"")
    assert answer.links() == found


DATE = ("date", "Thu, 26 Nov 2026 10:00:00 GMT")


@pytest.mark.parametrize("found, seconds", [
    ([("cache-control", "public, Max-Age=600")], 600),
    ([("cache-control", "max-age=60, no-cache")], 0),
    ([("cache-control", "max-age=60"), ("cache-control", "no-store")], 0),
    ([("cache-control", "max-age=60"), ("age", "50")], 10),
    ([("cache-control", "max-age=60"), ("age", "70")], 0),
    ([DATE, ("expires", "Thu, 26 Nov 2026 11:00:00 GMT")], 3600),
    ([DATE, ("expires", "Thu, 26 Nov 2026 11:00:00 GMT"), ("cache-control", "max-age=5")], 5),
    ([DATE, ("expires", "0")], 0), ([("cache-control", "public")], None), ([], None)])
def test_lifetimes(found, seconds):
    assert exchange.Response(200, tuple(found), b"").lifetime() == seconds


def test_elements_of_a_page():
    found = sources.Markup(
        "https://a/x", b"<base href='/b/'><base href='/c/'><LINK Rel=compression-dictionary HREF=d>"
        b"<link rel=stylesheet href=e><link rel=compression-dictionary><!-- <link "
        b"rel=compression-dictionary href=f> -->")
    assert found.dictionaries == ["https://a/b/d"]
