"""What `scripts/dictionary check` reads of fields and elements."""

import pytest

from dictionarykit import fields, markup
from dictionarykit.response import Response

PAGE = "https://a.example/x/page"


@pytest.mark.parametrize("text, found", [
    ('match="/a", id="q\\"\\\\"', {"match": '"/a"', "id": '"q\\"\\\\"'}),
    ('match="/a";x=1;y ,\tmatch="/b"', {"match": '"/b"'}),
    (" type=raw, n=-1.5, b=?0, c=:YQ==:, d", {
        "type": "raw", "n": "-1.5", "b": "?0", "c": ":YQ==:", "d": "?1"})])
def test_structured_fields(text, found):
    assert fields.members(text) == found


def test_strings_of_structured_fields():
    assert fields.string('"q\\"\\\\"') == 'q"\\' and fields.string("raw") is None


def test_lists_in_structured_fields():
    found = fields.members('match-dest=( "document"  "script";q=1 ), e=()')
    assert fields.strings(found["match-dest"]) == ["document", "script"]
    assert fields.strings(found["e"]) == [] and fields.strings("x") is None


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


@pytest.mark.parametrize("policies, forbidding", [
    ([], None), (["img-src 'none'"], None), (["default-src 'self'"], None),
    (["default-src 'none'; Connect-Src a.example"], None), (["connect-src https:"], None),
    (["connect-src *; connect-src 'none'"], None),
    (["default-src *", "connect-src 'none'"], "'none'"), (["default-src *, connect-src"], "'none'"),
    (["connect-src data: b.example"], "data: b.example"), (["connect-src *.example"], None)])
def test_what_a_policy_forbids(policies, forbidding):
    assert fields.forbidding(policies, "https://a.example/d") == forbidding


@pytest.mark.parametrize("pattern, url, covered", [
    ("/*", PAGE, True), ("/x/*", PAGE, True), ("/x/p*e", PAGE, True), ("/x/p*x", PAGE, False),
    ("*", "https://a.example/d/x?y", True), ("*", PAGE, False), ("/x.page", PAGE, False),
    ("/x/page", PAGE + "?a=b", True), ("/x/page?a=*", PAGE + "?a=b", True),
    ("/x/page?a", PAGE, False), ("https://a.example/x/*", PAGE, True),
    ("https://b.example/x/*", PAGE, False), ("/x/:name", PAGE, None), ("/x/{page}?", PAGE, None)])
def test_which_urls_a_pattern_covers(pattern, url, covered):
    assert fields.covers(pattern, "https://a.example/d/dict", url) is covered


def test_elements_of_a_page():
    found = markup.Markup(
        "https://a/x", b"<base href='/b/'><base href='/c/'><LINK Rel=compression-dictionary HREF=d>"
        b"<link rel=stylesheet href=e><link rel=compression-dictionary><!-- <link "
        b"rel=compression-dictionary href=f> --><meta http-equiv=Content-Security-Policy "
        b"content='default-src *'>")
    assert (found.dictionaries, found.policies) == (["https://a/b/d"], ["default-src *"])
