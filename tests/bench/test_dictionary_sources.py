"""scripts/dictionary: URLs of a file, a sitemap, a log and links; which responses are pages."""

import gzip

import pytest

from dictionarykit import exchange, sources, state


# --- which URLs


def test_urls_of_a_file_and_each_once():
    lines = sources.of_lines("# pages\nhttps://a/x\n\n  https://a/y#top \n")
    assert sources.unique([*lines, "https://a/y"]) == ["https://a/x", "https://a/y"]


@pytest.mark.parametrize("url", [
    "ftp://a/", "/path", "https://", "https://a:b/", "https://[a/", "https://a\n/",
    "https://a/\x1b",
    "https://u:p@a/", "https://u@a/", "https://a b/", 'https://a"/', "https://-/"])
def test_a_url_that_is_none(url):
    with pytest.raises(exchange.Refused):
        exchange.origin(url)


def test_an_origin_has_its_default_port():
    assert exchange.origin("https://a/x") == exchange.origin("https://A:443") == ("https", "a", 443)
    assert exchange.origin("https://b\u00fccher.example/")[1] == "xn--bcher-kva.example"
    urls = "https://A/", "http://a:81/", "https://[::1]:8443/"
    assert [exchange.host_field(url) for url in urls] == ["a", "a:81", "[::1]:8443"]
    assert sources.spread(list(range(10)), 3) == [0, 3, 6] and sources.spread([1, 2], 3) == [1, 2]


NAMESPACE = b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" ' \
            b'xmlns:image="i">'


def test_a_sitemap_and_an_index():
    bodies = {
        "i": b"<sitemapindex><sitemap><loc> a </loc></sitemap><sitemap><loc>b</loc></sitemap>"
             b"<sitemap><loc>c</loc></sitemap></sitemapindex>",
        "a": NAMESPACE + b"<url><loc>https://h/?x=1&amp;y=2</loc><image:image><image:loc>"
             b"https://h/i</image:loc></image:image></url><url><loc><![CDATA[https://h/2]]></loc>"
             b"</url>",
        "b": gzip.compress(b"<urlset><url><loc>https://h/2</loc></url></urlset>"), "c": b"broken"}
    assert sources.collect_sitemap("i", bodies.get) == ["https://h/?x=1&y=2", "https://h/2"]
    for broken in (b"<urlset/>", b"\x1f\x8bnothing", b""):
        with pytest.raises(exchange.Refused):
            sources.collect_sitemap("x", {"x": broken}.get)


def test_elements_of_a_page():
    found = sources.Markup("https://h/x/", b"""
        <a href="/a#top">a</a> <A class=x HREF='b?id=start'>b</A> <a href="c?id=1&do=edit">c</a>
        <a href="d.pdf">d</a> <a rel="nofollow" href="/e">e</a> <a href="mailto:x">f</a>
        <a href="//h/g.html">g</a> <a href="?sort=up">h</a> <a name="x">i</a>
        <a href="http://[">j</a> <a href=k/ class=x>k</a> <a href=/l>l</a>
        <!-- <a href="/m"> --> <script>"<a href='/n'>"</script>
        <script src="/a.js"></script><SCRIPT async src='b.js#x'></SCRIPT><script>1</script>
        <link rel="stylesheet" href="/c.css?v=1&amp;w=2"><link rel=icon href="/d.css">
        <link rel="modulepreload" href=/e.js><link rel="preload" as="style" href="/f.css">
        <link rel="preload" as="font" href="/g.css"><script src="data:,1"></script>
        <script src="https://cdn/h.js"></script>""")
    assert [url for url in found.links if sources.is_page(url)] == [
        "https://h/a", "https://h/x/b?id=start", "https://h/g.html", "https://h/x/k/",
        "https://h/l"]
    assert found.loaded == [
        f"https://h/{name}" for name in ("a.js", "x/b.js", "c.css?v=1&w=2", "e.js", "f.css")
    ] + ["https://cdn/h.js"]
    found = sources.Markup(
        "https://a/x", b"<base href='/b/'><base href='/c/'><LINK Rel=compression-dictionary HREF=d>"
        b"<link rel=stylesheet href=e><link rel=compression-dictionary><!-- <link "
        b"rel=compression-dictionary href=f> -->")
    assert found.dictionaries == ["https://a/b/d"]


# --- which pages

HTML = ("content-type", "text/html; charset=utf-8")
SESSION = ("set-cookie", "sid=1; path=/")
NO_STORE, PRIVATE = ("cache-control", "no-cache, no-store"), ("cache-control", "private, max-age=0")


@pytest.mark.parametrize("reason, status, fields, accepted", [
    ("has the status 404", 404, [HTML], {}),
    ("sets the cookie sid", 200, [HTML, SESSION], {}),
    ("sets the cookie b", 200, [HTML, ("set-cookie", "a=1"), ("set-cookie", "b=2")],
     {"accept_cookie": ["a"]}),
    ("is private", 200, [HTML, ("cache-control", "max-age=60"), ("cache-control", "Private")], {}),
    ("is private", 200, [HTML, ("cache-control", 'private="a, b", max-age=60')], {}),
    ("is no-store", 200, [HTML, NO_STORE], {}),
    ("has the type image/png", 200, [("content-type", "image/png")], {}),
    ("has the type (none)", 200, [], {}),
    ("is encoded, though not asked for", 200, [HTML, ("content-encoding", "gzip")], {}),
    (None, 200, [HTML, ("cache-control", "public, no-cache"), ("vary", "Cookie")], {}),
    (None, 200, [("content-type", "application/xhtml+xml")], {}),
    # What the operator accepts is not refused.
    *((None, 200, [HTML, SESSION, one], {"accept_cookie": ["sid"], "accept_private": True})
      for one in (NO_STORE, PRIVATE)),
    ("is private", 200, [HTML, SESSION, PRIVATE], {"accept_cookie": ["sid"]})])
def test_each_refusal_has_its_reason(reason, status, fields, accepted):
    answer = exchange.Response(status, tuple(fields), b"x")
    assert answer.refusal(state.Options(**accepted)) == reason
    assert answer._replace(body=b"").refusal(state.Options(**accepted)) == reason or "is empty"


# --- what `check` reads of fields


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
