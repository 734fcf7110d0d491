"""What `scripts/dictionary check` reads of fields and elements."""

import pytest

from dictionarykit import fields
from dictionarykit.response import Response

PAGE = "https://a.example/x/page"


@pytest.mark.parametrize("text, found", [
    ('match="/a", id="q\\"\\\\"', {"match": ("string", "/a"), "id": ("string", 'q"\\')}),
    ('match="/a";x=1;y ,\tmatch="/b"', {"match": ("string", "/b")}),
    (" type=raw, n=-1.5, b=?0, c=:YQ==:, d", {
        "type": ("token", "raw"), "n": ("other", "-1.5"), "b": ("other", "?0"),
        "c": ("other", ":YQ==:"), "d": ("other", "?1")})])
def test_structured_fields(text, found):
    assert {key: tuple(value) for key, value in fields.members(text).items()} == found


def test_lists_in_structured_fields():
    found = fields.members('match-dest=( "document"  "script";q=1 ), e=()')
    assert [item.content for item in found["match-dest"].content] == ["document", "script"]
    assert found["e"] == ("list", [])


@pytest.mark.parametrize("text", [
    "", "?0", "match=", 'match="/a', 'match="/a",', 'match="/a" id="b"', 'match="é"', 'match=/a b',
    'Match="/a"', 'd=("a""b")', 'd=("a"', 'match="/a";'])
def test_what_is_no_structured_field(text):
    with pytest.raises(fields.Malformed):
        fields.members(text)


@pytest.mark.parametrize("values, found", [
    (['</d>; rel="compression-dictionary"'], ["/d"]),
    (['</a,b>; rel=preload; as="x,y", </d> ;crossorigin; REL=Compression-Dictionary'], ["/d"]),
    (["</a>; rel=next", '</d>;title="a;b\\"";rel="x compression-dictionary y", </e>'], ["/d"]),
    (['</d>; title="rel=compression-dictionary"'], []), ([], [])])
def test_links(values, found):
    assert fields.linked(values) == found


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
    assert fields.lifetime(Response(200, tuple(found), b"")) == seconds


@pytest.mark.parametrize("policies, url, forbidding", [
    ([], "https://b.example/d", None), (["img-src 'none'"], "https://b.example/d", None),
    (["default-src 'self'"], "https://a.example/d", None),
    (["default-src 'self'"], "https://b.example/d", "'self'"),
    (["default-src 'self'; Connect-Src b.example"], "https://b.example/d", None),
    (["connect-src *; connect-src 'none'"], "https://b.example/d", None),
    (["default-src *", "connect-src 'none'"], "https://a.example/d", "'none'"),
    (["default-src *, connect-src"], "https://a.example/d", "'none'"),
    (["connect-src https:"], "https://b.example/d", None),
    (["connect-src http://b.example"], "https://b.example/d", None),
    (["connect-src data: http://a.example:81"], "https://a.example/d", "data: http://a.example:81"),
    (["connect-src *.example"], "https://b.example/d", None),
    (["connect-src *.b.example"], "https://b.example/d", "*.b.example"),
    (["connect-src b.example:*/d/"], "https://b.example:8443/d/x", None),
    (["connect-src b.example/d"], "https://b.example/d/x", "b.example/d"),
    (["connect-src 'nonce-abc'"], "https://a.example/d", "'nonce-abc'")])
def test_what_a_policy_forbids(policies, url, forbidding):
    assert fields.forbidding(policies, url, PAGE) == forbidding


@pytest.mark.parametrize("pattern, url, covered", [
    ("/*", PAGE, True), ("/x/*", PAGE, True), ("/x/p*e", PAGE, True), ("/x/p*x", PAGE, False),
    ("*", "https://a.example/d/x?y", True), ("*", PAGE, False), ("/x.page", PAGE, False),
    ("/x/page", PAGE + "?a=b", True), ("/x/page?a=*", PAGE + "?a=b", True),
    ("/x/page?a", PAGE, False), ("https://a.example/x/*", PAGE, True),
    ("https://b.example/x/*", PAGE, False), ("/x/:name", PAGE, None), ("/x/{page}?", PAGE, None)])
def test_which_urls_a_pattern_covers(pattern, url, covered):
    assert fields.covers(pattern, "https://a.example/d/dict", url) is covered


def test_elements_of_a_page():
    found = fields.Elements(
        "<base href='/b/'><base href='/c/'><LINK Rel=compression-dictionary HREF=d>"
        "<link rel=stylesheet href=e><link rel=compression-dictionary><!-- <link "
        "rel=compression-dictionary href=f> --><meta http-equiv=Content-Security-Policy "
        "content='default-src *'>")
    assert (found.base, found.links, found.policies) == ("/b/", ["d"], ["default-src *"])
