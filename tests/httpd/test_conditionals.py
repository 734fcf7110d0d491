"""Entity tags of encoded bodies, conditional requests, and ranges, which always come from the
identity: one table of requests for every way to deliver a body."""

import functools
from typing import NamedTuple
from urllib.parse import quote, unquote

import pytest

from kit import at, check
from kit.counters import counted
from kit.origin import conditional
from kit.proxied import EACH as EACH_PROXIED
from kit.proxied import EACH_WAY, WAYS, config, start
from kit.precompressed import BODY, DATE, OLD, PRECOMPRESSED, add_set

pytestmark = pytest.mark.rules

SPAN, PART = "bytes=100-199", BODY[100:200]
SINCE = {"If-Modified-Since": DATE}
MADE = "7530-55443b7e3c000"  # like httpd's tags of files; "o" is not
FILE_ETAGS = {fields.replace(" ", "-").lower(): fields for fields in (
    "MTime", "Size", "INode Size", "INode MTime Size", "Digest", "Size Digest")}
CHAINS = ("BROTLI_COMPRESS;DEFLATE", "DEFLATE;BROTLI_COMPRESS")

# Answers 304 itself, unless asked for "cgi": mod_cgi leaves that to the script and to httpd.
TAGS = {"strong": '"cgi"', "weak": 'W/"cgi"', "bare": "cgi", "none": None, "open": '"a;b'}
CGI = f"""\
tags, mode = {TAGS!r}, os.environ['QUERY_STRING']
if mode == '304':
    head('Status: 304 Not Modified', 'ETag: "cgi"')
    sys.exit()
tag = tags.get(mode, '"' + mode + '"')
head('Content-Type: text/plain', 'Accept-Ranges: bytes',
     'Last-Modified: {DATE}', *(['ETag: ' + tag] if tag else []))
out(bodies.html(30000))
"""
# The query is the tag; httpd compares no tags if a script sends its own status.
ANY_TAG = """\
from urllib.parse import unquote
head({}'Content-Type: text/plain', 'ETag: "' + unquote(os.environ['QUERY_STRING']) + '"')
out(open(os.environ['KIT'] + '/docs/a.txt', 'rb').read())
"""

# Writes more than a pipe holds; mod_cgi (with prefork) waits for its end.
LONG = "head('Content-Type: text/plain', 'ETag: \"l\"')\nout('a line of a script ' * 20000)\n"

PLACES = {
    "weak": "Elastic On", "off": "", "suffix": "Elastic On\nElasticETag suffix",
    "keep": "Elastic On\nElasticETag keep", "remove": "Elastic On\nElasticETag remove",
    "only-gzip": "Elastic On\nElasticCodings gzip",
    "fixed": 'Elastic On\nHeader set Cache-Control "no-transform"',
    "precompressed": "Elastic On\nElasticPrecompressed On",
    **{f"typed-{name}": f"AddOutputFilterByType {name} text/plain"
       for name in ("ELASTIC", "DEFLATE", "BROTLI_COMPRESS", *CHAINS)},
    "typed-unlisted": "AddOutputFilterByType ELASTIC text/plain\nElasticTypes text/html",
    **{f"named-{chain}": f"SetOutputFilter {chain}" for chain in CHAINS},
    "beside": "AddOutputFilterByType SUBSTITUTE;DEFLATE text/plain",
    **{name: f"Elastic On\nFileETag {fields}" for name, fields in FILE_ETAGS.items()},
    "none": "Elastic On\nFileETag None",
    "size-suffix": "Elastic On\nElasticETag suffix\nFileETag Size",
}
# mod_file_cache finds files by their place below DocumentRoot, never through an Alias.
KEPT = {"kept.txt": "Elastic On",
        "kept-br.txt": "SetOutputFilter BROTLI_COMPRESS;DEFLATE\nSetEnv no-gzip 1",
        **{f"kept-{chain}.txt": f"SetOutputFilter {chain}" for chain in CHAINS}}

WEAK, STRONG = 'W/"{}-{}"', '"{}-{}"'


class Delivery(NamedTuple):
    path: str
    tag: str  # of an encoded body, made from the identity's tag without quotes and the coding
    codings: tuple = ("gzip", "br")
    kind: str = "file"  # or script, backend, precompressed


DELIVERIES = [
    Delivery("/weak/a.txt", WEAK), Delivery("/suffix/a.txt", STRONG),
    Delivery("/keep/a.txt", '"{}"'), Delivery("/kept.txt", WEAK),
    *(Delivery(f"/{name}/a.txt", WEAK) for name in (*FILE_ETAGS, "typed-ELASTIC",
                                                          "typed-unlisted")),
    Delivery("/typed-DEFLATE/a.txt", STRONG, ("gzip",)),
    Delivery("/typed-BROTLI_COMPRESS/a.txt", STRONG, ("br",)),
    Delivery("/weak/tag.cgi?strong", WEAK, kind="script"),
    Delivery("/suffix/tag.cgi?strong", STRONG, kind="script"),
    Delivery("/suffix-origin/x", STRONG, kind="backend"),
    *(Delivery(way.path(name), way.tag, way.codings, "backend")
      for way in WAYS for name in ("x", "made")),
    Delivery("/precompressed/a.txt", None, kind="precompressed"),
    # A rule that maps the URL maps none of the URLs with an extension.
    Delivery("/mapped/a.txt", None, kind="precompressed"),
]
CASES = [(delivery, coding) for delivery in DELIVERIES for coding in delivery.codings]
EACH = pytest.mark.parametrize("delivery,coding", CASES,
                               ids=lambda part: getattr(part, "path", part))


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    server = start(
        httpd_shared,
        "ElasticControl off\n" + "".join(at(*place) for place in PLACES.items())
        + at("handed", f'Elastic On\nSetHandler "proxy:{origin.url}"')
        + "AliasMatch ^/mapped/(a[.]txt)$ {docs}/$1\n"
        + "<Location /mapped>\n" + PLACES["precompressed"] + "\n</Location>\n"
        + "".join(f"CacheFile {{docs}}/{name}\n<Location /{name}>\n{lines}\n</Location>\n"
                  for name, lines in KEPT.items())
        + config(origin.url) + f"ProxyPass /off-origin/ {origin.url}/\n"
        + f"<Location /suffix-origin/>\n{PLACES['suffix']}\nProxyPass {origin.url}/\n</Location>\n",
        modules=["file_cache", "substitute"], tls=True, h2=True, start=False,
        cgi={"tag.cgi": CGI, "told.cgi": ANY_TAG.format(""), "deaf.cgi": ANY_TAG.format(
            "'Status: 200 OK', "), "long.cgi": LONG})
    add_set(server, "a.txt", "br", "gz")
    for name, body in (("a.html", BODY), ("small.txt", b"small"), ("a.bin", BODY),
                       *((name, BODY) for name in KEPT)):
        server.write(name, body, OLD)
    for name, tag, fields in (
            ("x", '"o"', {}), ("made", f'"{MADE}"', {}), ("weak", 'W/"o"', {}), ("dated", None, {}),
            ("made-weak", f'W/"{MADE}"', {}), ("vary", '"o"', {"Vary": "Cookie"})):
        origin.route(f"/{name}", conditional(BODY, tag, fields))
    for name in ("home", "home-br", "home-gzip"):
        origin.route(f"/tag/{name}", conditional(BODY, f'"{name}"'))
        origin.route(f"/weak-tag/{name}", conditional(BODY, f'W/"{name}"'))

    def any_tag(exchange):
        return f'"{unquote(exchange.path.partition("?")[2])}"'

    origin.route("/told", lambda e: conditional(BODY, any_tag(e))(e))
    origin.route("/deaf", lambda e: e.respond(200, {"ETag": any_tag(e)}, BODY))
    origin.route("/packed", lambda e: e.respond(304, {"ETag": '"o-gzip"'}, b""))
    origin.route("/open", lambda e: e.respond(200, {"ETag": '"a;b'}, BODY))
    origin.route("/whole", lambda e: e.respond(
        200, {"ETag": '"o"', "Accept-Ranges": "bytes"}, BODY))
    return server.start()


@pytest.fixture(scope="module")
def tag_of(server):
    """tag_of(path, coding) is the tag of the body in that coding; None: of the identity."""
    return functools.cache(lambda path, ae=None: server.get(path, ae=ae).headers.get("ETag"))


class Tags(NamedTuple):
    """The names that rows of the table may use in str.format."""

    coding: str
    other: str  # another coding
    own: str  # the identity's tag
    sent: str  # the tag of the body in the coding
    strong: str
    others: str  # the tag of the body in the other coding
    date: str = DATE


@pytest.fixture
def tags(tag_of, delivery, coding):
    other = {"gzip": "br", "br": "gzip"}[coding]
    own, sent, others = (tag_of(delivery.path, ae) for ae in (None, coding, other))
    return Tags(coding, other, own, sent, sent.removeprefix("W/"), others)


def check_answer(answer, delivery, tags, status, what):
    """`what` is the tag of a 304, or the coding of a 200; a part comes from the identity."""
    if status == 304:
        check.not_modified(answer, what)
        # A cache would store the identity's length, or compare it with its entry.
        assert "Content-Length" not in answer.headers
    elif status == 206:
        check.whole(answer, None, PART, 206)
        assert answer.headers["Content-Range"] == f"bytes 100-199/{len(BODY)}"
        assert answer.headers["ETag"] == tags.own
        assert answer.varies or delivery.kind == "backend"
    else:
        check.whole(answer, what, BODY)
        assert answer.varies, answer
    if delivery.kind != "precompressed" and what in (tags.coding, tags.other, tags.sent):
        assert "Accept-Ranges" not in answer.headers or tags.sent == tags.own, answer


# --- the tag of an encoded body


@pytest.mark.smoke
@EACH
def test_modes(server, tags, delivery, coding):
    answer = server.get(delivery.path, ae=coding)
    check_answer(answer, delivery, tags, 200, coding)
    assert answer.headers["ETag"] == tags.sent
    if delivery.kind == "precompressed":
        # Strong and different, even if size and time equal the file's. Ranges are available.
        assert tags.sent.startswith('"')
        assert tags.sent.endswith({"br": '.br"', "gzip": '.gz"'}[coding])
        assert answer.headers["Accept-Ranges"] == "bytes"
    else:
        assert tags.sent == delivery.tag.format(tags.own.strip('"'), coding)
    identity = server.get(delivery.path)
    check.plain(identity, BODY)
    assert identity.headers["ETag"].startswith('"') and len(tags.own) > 2
    if delivery.path != "/kept.txt":  # mod_file_cache does not announce ranges
        assert identity.headers["Accept-Ranges"] == "bytes"
    assert "ETag" not in server.get("/remove/a.txt", ae=coding).headers


@pytest.mark.parametrize("place,given,expected", [
    ("/weak/tag.cgi?", "weak", 'W/"cgi-{}"'), ("/suffix/tag.cgi?", "weak", 'W/"cgi-{}"'),
    ("/weak/tag.cgi?", "none", None), ("/suffix/tag.cgi?", "bare", "cgi"),
    # An open tag takes no suffix, so two codings would share it.
    *((place, "open", None)
      for place in ("/weak/tag.cgi?", "/suffix/tag.cgi?", "/remove/tag.cgi?", "/on/"))])
def test_tags_of_a_cgi(server, place, given, expected):
    identity = server.get(place + given)
    check.plain(identity, BODY)
    assert identity.headers.get("ETag") == TAGS.get(given, f'"{given}"')
    for coding in ("gzip", "br"):
        answer = server.get(place + given, ae=coding)
        check.encoded(answer, coding, BODY)
        assert answer.headers.get("ETag") == (expected and expected.format(coding))


# --- If-None-Match

# (the tag named, the coding that the request accepts, the answer)
IF_NONE_MATCH = [
    ("{sent}", "{coding}", 304, "{sent}"), ('"a,b" , {sent}', "{coding}", 304, "{sent}"),
    ('"x",{sent}, W/"y"', "{coding}", 304, "{sent}"),
    # A 304 to a tag of another strength may have that.
    ("{strong}", "{coding}", 304, None), ('W/"x",W/{strong} , "y"', "{coding}", 304, None),
    ("{own}", "{coding}", 304, "{own}"), ("{own}", None, 304, "{own}"),
    ('"x", {own}', "{coding}, {other};q=0.5", 304, "{own}"),
    # The client has a body that it could not use now.
    ("{sent}", None, 200, None), ("{sent}", "identity", 200, None),
    ("{sent}", "{coding};q=0", 200, None), ("{others}", "{coding}", 200, "{coding}"),
    ("{others}", "{coding}, {other}", 304, "{others}"),
    ('"other-{coding}"', "{coding}", 200, "{coding}"),
]


@pytest.mark.smoke
@EACH
@pytest.mark.parametrize("named,ae,status,what", IF_NONE_MATCH)
def test_what_was_sent_is_recognized(server, tags, delivery, coding, named, ae, status, what):
    named, ae, what = (text and text.format(**tags._asdict()) for text in (named, ae, what))
    if named == tags.own:
        status, what = 304, tags.own
    for method in ("GET", "HEAD") if status == 304 else ("GET",):
        answer = server.get(delivery.path, ae, {"If-None-Match": named}, method)
        check_answer(answer, delivery, tags, status, what)
        assert what or status == 200 or answer.headers["ETag"].removeprefix("W/") == tags.strong


# For a resource with the tag "t": the tag named, and the answer if gzip is accepted: 304, 200, or
# "own" if the owner of the tag decides.
FORMS = {
    'W/"t-gzip"': 304, '"t-gzip"': 304, '"x" ,W/"t-gzip", "y"': 304, 'x, W/"t-gzip"': 304,
    '"t"': "own", 'W/"t"': "own", '*': "own", '"T-gzip"': 200, '"t-br"': 200, '"t-gzip-gzip"': 200,
    '"t-dcz"': 200, '"xt-gzip"': 200, '"t-gunzip"': 200, '"t-gzip-gunzip"': 200,
    # Texts that are no tags (RFC 9110 §8.8.3).
    "t-gzip": 200, "W/t-gzip": 200, 'w/"t-gzip"': 200, 'W/ "t-gzip"': 200, '"t-gzip': 200,
    "'t-gzip'": 200, '"x,"t-gzip"': 200, 'W/"-gzip"': 200, '"': 200, "W/": 200,
}
# {answerer: whether it compares tags itself}
ANSWERERS = {
    "file": True, "/weak/told.cgi": True, "/weak/deaf.cgi": False,
    "/on/told": True, "/on/deaf": False, "/dropin/told": True, "/dropin/deaf": False}
# A word, numbers, digests like those of httpd and others, and the empty tag.
TEXTS = ["abc", "17", MADE, "2jmj7l5rSw0yVb/vlWAYkK/YBwk=", "d41d8cd98f00b204e9800998ecf8427e",
         "a b;c=1", "x-br"]


@pytest.mark.parametrize("answerer", ANSWERERS)
def test_one_rule_for_whoever_answers(server, tag_of, answerer):
    """Tags of all shapes compare weakly with those of the accepted codings."""
    if answerer == "file":
        paths = [f"/{name}/a.txt" for name in ("weak", "suffix", *FILE_ETAGS)]
        texts = {path: tag_of(path).strip('"') for path in paths}
    else:
        texts = {f"{answerer}?{quote(text)}": text
                 for text in ([MADE] if "cgi" in answerer else TEXTS)}
    for path, text in texts.items():
        def ask(form, ae="gzip"):
            named = form.replace("t", text).replace("T", "other")
            return connection.request(path, ae=ae, headers={"If-None-Match": named})

        with server.connect() as connection:
            for form, expected in FORMS.items():
                if expected == "own":
                    expected = 304 if ANSWERERS[answerer] else 200
                answer = ask(form)
                assert answer.status == expected, (path, form, answer)
                if expected == 304:
                    check.not_modified(answer)
                else:
                    check.encoded(answer, "gzip", BODY)
            for ae in (None, "gzip;q=0", "zstd"):
                answer = ask('W/"t-gzip"', ae)
                assert answer.status == 200 and answer.body == BODY, (path, ae, answer)


@pytest.mark.parametrize("place,weak", [
    ("/weak/tag.cgi?", ""), ("/on/tag/", ""), ("/on/weak-tag/", "W/"), ("/named/tag/", "")])
def test_a_tag_that_ends_so_by_itself(server, place, weak):
    """The tag is the page's own. By weak comparison it is also the tag of "home" in the coding, for
    clients that accept it."""
    for coding in ("gzip", "br"):
        def ask(name, named, ae=coding):
            return server.get(place + name, ae, {"If-None-Match": named})

        own, sent = f'{weak}"home-{coding}"', f'W/"home-{coding}-{coding}"'
        for named in (own, sent):
            check.not_modified(ask(f"home-{coding}", named), named)
        check.not_modified(ask("home", own), own)
        check.plain(ask("home", own, None), BODY)
        check.plain(ask("home", own, f"{coding};q=0"), BODY)


@pytest.mark.smoke
@pytest.mark.parametrize("path,ae,coding", [
    *((delivery.path, coding, coding) for delivery, coding in CASES),
    ("/weak/a.txt", "gzip, br", "br"), ("/weak/a.txt", "gzip, br;q=0.5", "gzip"),
    ("/weak/a.txt", None, None), ("/weak/a.txt", "gzip;q=0", None), ("/remove/a.txt", "br", "br"),
    ("/only-gzip/a.txt", "br", None), ("/weak/small.txt", "gzip", None),
    ("/weak/a.bin", "gzip", None), ("/off/a.txt", "gzip", None), ("/fixed/a.txt", "gzip", None),
    ("/kept-br.txt", "br", "br"), ("/kept-br.txt", "gzip", None),
    # For a 304, mod_filter skips the filters of AddOutputFilterByType unless it is told otherwise;
    # it knows their types.
    *((f"/typed-ELASTIC/a.{name}", ae, None) for name, ae in (("txt", None), ("html", "gzip"))),
    # If two filters could encode, the one that does decides.
    *((path, ae, coding) for chain, first in zip(CHAINS, ("br", "gzip"))
      for path in (f"/named-{chain}/a.txt", f"/typed-{chain}/a.txt", f"/kept-{chain}.txt")
      for ae, coding in (("gzip, br", first), ("gzip, br;q=0.5", "gzip"),
                         ("br, gzip;q=0.5", "br")))])
def test_where_no_tag_is_named_a_304_has_that_of_a_200(server, path, ae, coding):
    with server.connect() as connection:
        whole = connection.request(path, ae=ae)
        assert (whole.status, whole.coding) == (200, coding)
        for condition in ({"If-Modified-Since": whole.headers["Last-Modified"]},
                          {"If-None-Match": "*"}):
            for method in ("GET", "HEAD"):
                answer = connection.request(path, method, ae, condition)
                check.empty(answer, 304)
                check.same_header(answer, whole, "ETag", "Vary")


# {own} is the tag of /off/a.txt, and {beside} the one of /beside/a.txt in gzip.
@pytest.mark.smoke
@pytest.mark.parametrize("path,ae,fields,status,what", [
    # Codings that are not accepted or not enabled.
    ("/weak/a.txt", "gzip;q=0, br", {"If-None-Match": 'W/"{own}-gzip"'}, 200, "br"),
    ("/only-gzip/a.txt", "gzip, br", {"If-None-Match": 'W/"{own}-br"'}, 200, "gzip"),
    ("/off/a.txt", "gzip", {"If-None-Match": '"{own}-gzip"'}, 200, None),
    # The type of a 304 is unknown, and counts as listed. A tag with a coding's suffix is that of an
    # encoded body already.
    *((path, "gzip", fields, 304, tag) for path, tag in (
        ("/weak/tag.cgi?304", 'W/"cgi-gzip"'), ("/suffix/tag.cgi?304", '"cgi-gzip"'),
        ("/typed-ELASTIC/tag.cgi?304", 'W/"cgi-gzip"'),
        ("/on/packed", '"o-gzip"')) for fields in (SINCE, {"If-None-Match": tag})),
    # Of two that are named the first is answered.
    *(("/weak/tag.cgi?strong", "gzip, br", {"If-None-Match": f"{one}, {two}"}, 304, one)
      for one, two in (('W/"cgi-gzip"', 'W/"cgi-br"'), ('W/"cgi-br"', 'W/"cgi-gzip"'))),
    # A script's own tag ends in a coding's name.
    *((f"/{place}/tag.cgi?home", "br", {"If-None-Match": '"home-br"'}, 200, "br")
      for place in ("keep", "remove")),
    *((f"/{place}/tag.cgi?home", "br", {"If-Match": '"home-br"'}, 412, None)
      for place in ("weak", "suffix")),
    # mod_filter does not run the other module's filter for a 304, and does not show if ours would.
    ("/beside/a.txt", "gzip", {}, 200, "gzip"), ("/beside/a.txt", "gzip", SINCE, 304, '"{own}"'),
    ("/beside/a.txt", "gzip", {"If-None-Match": "{beside}"}, 304, "{beside}"),
    # A date identifies the representation where nothing is negotiated.
    *((path, "gzip", {"Range": SPAN, "If-Range": DATE}, 206, None)
      for path in ("/off/a.txt", "/off-origin/x", "/typed-ELASTIC/a.html"))])
def test_a_condition(server, tag_of, path, ae, fields, status, what):
    tags = {"own": tag_of("/off/a.txt").strip('"'), "beside": tag_of("/beside/a.txt", "gzip")}
    fields = {name: value.format(**tags) for name, value in fields.items()}
    answer = server.get(path, ae, fields)
    if status == 304:
        check.not_modified(answer, what.format(**tags))
    elif status == 206:
        check.plain(answer, PART, 206, varies=False)
    elif status == 412:
        assert answer.status == 412
    else:
        check.whole(answer, what, BODY)


def test_a_304_that_is_made_of_a_200_is_one_to_the_log_and_the_counters(server):
    sent = {"If-None-Match": 'W/"cgi-gzip"'}
    answer, grown = counted(server, lambda: server.get("/weak/tag.cgi?strong", "gzip", sent))
    check.not_modified(answer, 'W/"cgi-gzip"')
    assert server.reason(answer) == "status" and grown == {"status": 1}


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("path", ["/weak/a.txt", "/suffix/a.txt", "/on/made",
                                  "/precompressed/a.txt"])
def test_over_every_protocol(server, tag_of, path, protocol):
    sent = tag_of(path, "br")
    for fields in ({"If-None-Match": sent}, SINCE):
        for ask in (server.get, server.head):
            check.not_modified(ask(path, "br", fields, protocol=protocol), sent)
    if path.endswith("a.txt"):
        # A range request is about the identity.
        since = server.get(path, "br", {"Range": SPAN, **SINCE}, protocol=protocol)
        check.not_modified(since, tag_of(path))
    part = server.get(path, "br", {"Range": SPAN}, protocol=protocol)
    check.plain(part, PART, 206)
    assert server.reason(part) == "range"


# --- If-Match compares strongly


@pytest.mark.smoke
@pytest.mark.parametrize("place,match,status", [
    ("weak", '"{}"', 200), ("weak", '"other"', 412), ("weak", 'W/"{}"', 412),
    ("suffix", '"{}-gzip"', 200), ("suffix", 'W/"{}-gzip"', 412), ("suffix", '"{}-other"', 412),
    ("suffix", '"other-gzip"', 412), ("weak", 'W/"{}-gzip"', 412),
    *((place, '"x", "{}-br"', 200) for place in ("suffix", "weak", "keep", "remove")),
    ("only-gzip", '"{}-gzip"', 200), ("only-gzip", '"{}-br"', 412),
    ("weak", '"{}-dcz"', 412), ("off", '"{}-gzip"', 412),
    *((name, '"{}-gzip", "{}-br"', 200) for name in FILE_ETAGS), ("none", '"{}-gzip"', 412),
    # The first is too short to look like httpd's own; the second, of another body, does.
    ("size-suffix", f'"{{}}-gzip", "{MADE}-gzip"', 200)])
def test_if_match_takes_tags_that_clients_have_made_strong(server, tag_of, place, match, status):
    """Works in every mode for a file whose own tag is strong, and for every Accept-Encoding,
    because the condition is about a body that the client has."""
    own = tag_of(f"/{place}/a.txt")
    assert (own is None) == (place == "none")
    match = {"If-Match": match.format(*[(own or "").strip('"')] * 2)}
    for method in ("GET", "HEAD"):
        for ae in ("gzip", None):
            answer = server.get(f"/{place}/a.txt", ae, match, method)
            assert answer.status == status, answer
            if (method, status) == ("GET", 200):
                check.whole(answer, ae, BODY)


def test_a_backend_is_asked_for_the_strong_tags_of_its_own(server, origin, tag_of):
    """A file that a backend answers for has a tag of httpd's, which the backend never sent."""
    files = tag_of("/off/a.txt").strip('"')
    for path, text, coding, asked in (
            ("suffix-origin/x", MADE, "gzip", f', "{MADE}"'), ("on/x", MADE, "gzip", ""),
            ("suffix-origin/x", MADE, "other", ""), ("suffix-origin/x", "home", "gzip", ""),
            ("handed/a.txt", files, "gzip", "")):
        tag = f'W/"{text}", "{text}-{coding}"'
        server.get(f"/{path}", "gzip", {"If-Match": tag}, "PUT", b"x")
        assert origin.seen[-1].headers["if-match"] == tag + asked


# --- ranges

# (If-Range, the coding that the request accepts, the answer, exceptions by the kind of delivery).
# The answer is a part of the identity, or the whole in a coding.
IF_RANGE = [
    *((value, ae, "part", {"script": None})  # httpd has no length to cut a part from
      for value, ae in ((None, "{coding}"), (None, None), ("{own}", "{coding}"))),
    # Bytes of another encoding must never continue a part of an encoded body.
    ("{sent}", "{coding}", "{coding}", {"precompressed": "slice"}), ("{sent}", None, None, {}),
    ("W/{strong}", "{coding}", "{coding}", {}), ("{others}", "{coding}", "{coding}", {}),
    ('"other"', "{coding}", "{coding}", {}),
    # A date does not identify the representation. A client that accepts no coding can only have a
    # part of what the backend sends.
    ("{date}", "{coding}", "{coding}", {}), ("{date}", None, None, {"backend": "part"}),
]


@pytest.mark.smoke
@EACH
@pytest.mark.parametrize("if_range,ae,expected,others", IF_RANGE)
def test_slices_are_of_the_identity(server, tags, delivery, coding, if_range, ae, expected, others):
    if_range, ae, what = (text and text.format(**tags._asdict()) for text in (
        if_range, ae, others.get(delivery.kind, expected)))
    what = "part" if if_range == tags.own and delivery.kind != "script" else what
    fields = {"Range": SPAN, **({"If-Range": if_range} if if_range else {})}
    answer = server.get(delivery.path, ae, fields)
    if what == "slice":
        data = PRECOMPRESSED[coding]
        assert (answer.status, answer.coding, answer.raw) == (206, coding, data[100:200])
        assert answer.headers["Content-Range"] == f"bytes 100-199/{len(data)}"
        assert answer.headers["ETag"] == tags.sent and answer.varies
    else:
        check_answer(answer, delivery, tags, 206 if what == "part" else 200, what)


@pytest.mark.parametrize("ae", ["gzip", "br"])
def test_slices_are_of_the_identity_whatever_the_method(server, ae):
    """httpd slices responses of every method if it knows the length."""
    for method in ("GET", "POST", "DELETE", "PATCH"):
        answer = server.get("/weak/tag.cgi?strong", ae, {"Range": SPAN}, method)
        assert (answer.status, answer.body) in ((200, BODY), (206, PART)), answer
        assert answer.coding is None and server.reason(answer) == "range"
        old = {"Range": SPAN, "If-Range": '"another"'}
        check.encoded(server.get("/weak/tag.cgi?strong", ae, old, method), ae, BODY)
    check.plain(server.get("/weak/a.txt", ae, {"Range": SPAN}, "POST"), PART, 206)


def test_several_slices_one_that_cannot_be_met_and_what_is_none(server):
    answer = server.get("/weak/a.txt", "br", {"Range": "bytes=0-9,20000-20009"})
    assert answer.status == 206 and answer.coding is None
    assert BODY[:10] in answer.raw and BODY[20000:20010] in answer.raw
    assert answer.headers["Content-Type"].startswith("multipart/byteranges")
    answer = server.get("/weak/a.txt", "gzip", {"Range": "bytes=50000-"})
    assert answer.status == 416 and answer.coding is None
    # An unknown unit is ignored; ranges are defined for GET only (RFC 9110 §14.2).
    check.encoded(server.get("/weak/a.txt", "gzip", {"Range": "lines=1-2"}), "gzip", BODY)
    head = server.head("/weak/a.txt", "gzip", {"Range": SPAN})
    assert head.raw == b"" and ("Content-Range" not in head.headers or head.coding is None)


def test_a_script_that_is_asked_for_its_header_ends(server):
    assert server.head("/weak/long.cgi", "gzip", timeout=30).status == 200
    check.not_modified(server.get("/weak/long.cgi", "gzip", {"If-None-Match": 'W/"l-gzip"'}))


# --- through a proxy: the backend only knows the tag of its own body


@pytest.mark.smoke
@pytest.mark.protocols("http/1.1", "h2c")
@pytest.mark.parametrize("resource", ["x", "weak", "made", "made-weak", "vary"])
@EACH_PROXIED
def test_the_tag_that_was_sent_gives_304(server, origin, way, coding, resource, protocol):
    """The backend is asked about tags that look like httpd's own. All are compared here again,
    after it has sent its own. Then the whole body is dropped."""
    tag = server.get(way.path(resource), coding).headers["ETag"]
    for ask in (server.get, server.head):
        answer = ask(way.path(resource), coding, {"If-None-Match": tag}, protocol=protocol)
        check.not_modified(answer, tag)
        assert answer.has_token("Vary", "Cookie") == (resource == "vary")
        assert server.notes(answer)["sent"] == 0
        assert origin.seen[-1].headers["if-none-match"] == \
            (f'{tag}, W/"{MADE}"' if resource.startswith("made") else tag)


@EACH_PROXIED
def test_a_range_or_another_method_beside_a_tag_that_was_sent(server, way, coding):
    """RFC 9110 §13.2.2: If-None-Match precedes Range, and is for GET and HEAD."""
    for resource, text in (("x", "o"), ("made", MADE)):
        tag = way.tagged(text, coding)
        answer = server.get(way.path(resource), coding, {"If-None-Match": tag, "Range": SPAN})
        if way.errors or resource == "made":
            check.not_modified(answer, tag)
        else:  # mod_filter runs none of its filters for a 206
            check.plain(answer, PART, 206, varies=False)
    tag = {"If-None-Match": way.tagged("o", coding)}
    check.encoded(server.get(way.path("x"), coding, tag, "POST", b"x"), coding, BODY)


@EACH_WAY
def test_a_field_stays_as_it_came_where_a_backend_may_not_take_more(server, origin, way):
    """By default httpd accepts a line of 8190 bytes; Tomcat and AJP accept that for all fields."""
    coding = way.codings[0]
    cookie = "c=" + "x" * 5000
    # Tags of at least 40 bytes, of which the last is current. Other fields use the room, or show
    # that the backend accepts more.
    for count, fields, grows in (
            (60, {}, True), (130, {}, False), (60, {"Cookie": cookie}, False),
            (60, {"Cookie": cookie, "Field": "y" * 5000}, True)):
        sent = ", ".join(way.tagged(text, coding)
                         for text in (*(f"{i:030}" for i in range(count)), MADE))
        answer = server.get(way.path("made"), coding, {"If-None-Match": sent, **fields})
        check.not_modified(answer, way.tagged(MADE, coding))
        got = origin.seen[-1].headers["if-none-match"]
        assert got.startswith(sent) and (len(got) > len(sent)) == grows


@EACH_PROXIED
def test_if_range_with_a_date_gets_the_whole(server, origin, way, coding):
    """The date does not identify the representation of the client's part."""
    by_date = {"Range": SPAN, "If-Range": DATE}
    for method, body in (("GET", b""), ("POST", b"x")):
        answer = server.get(way.path("dated"), coding, by_date, method, body)
        check.encoded(answer, coding, BODY)
        assert "range" not in origin.seen[-1].headers
    # A client that accepts no coding can only have a part of the identity.
    check.whole(server.get(way.path("dated"), None, by_date), None, PART, 206)
    part = server.get(way.path("x"), coding, {"Range": SPAN})
    check.plain(part, PART, 206, varies=not way.stock)
    # If the backend has no ranges, httpd may cut the part.
    whole = server.get(way.path("whole"), coding, {"Range": SPAN})
    assert (whole.status, whole.body) in ((200, BODY), (206, PART))
    assert (whole.coding, whole.headers["ETag"]) == (None, '"o"') and whole.varies
