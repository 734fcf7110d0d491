"""Entity tags of encoded bodies, conditional requests about them, and ranges, which are always of
the identity."""

import pytest

from kit import at, bodies, check
from kit.counters import counted

BODY = bodies.text(30000)
MODES = ("weak", "suffix", "keep", "remove")

# Answers 304 by itself where it is asked about "cgi" (mod_cgi leaves that to the script, and to
# httpd).
CGI = """\
mode = os.environ['QUERY_STRING']
tags = {'strong': '"cgi"', 'weak': 'W/"cgi"', 'bare': 'cgi', 'none': None, 'open': '"a;b',
        'ranges': '"cgi"', 'home': '"home"', 'home-br': '"home-br"'}
if mode == '304':
    head('Status: 304 Not Modified', 'ETag: "cgi"')
    sys.exit()
tag = tags[mode]
head('Content-Type: text/plain', *(['ETag: ' + tag] if tag else []),
     *(['Accept-Ranges: bytes'] if mode == 'ranges' else []))
out(bodies.text(30000))
"""


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    aliases = "".join(at(mode, f"ElasticETag {mode}") for mode in MODES)
    server = httpd_shared(
        f"Elastic On\nElasticControl off\n{aliases}ProxyPass /origin/ {origin.url}/\n"
        + f"ProxyPass /origin-suffix/ {origin.url}/\n"
        "<Location /origin-suffix/>\nElasticETag suffix\n</Location>\n"
        + "".join(at(fields.replace(" ", "-").lower(), f"FileETag {fields}")
                  for fields in ("MTime", "Size", "INode Size", "INode MTime Size", "Digest",
                                 "Size Digest", "None"))
        + at("only-gzip", "ElasticCodings gzip") + at("off", "Elastic Off")
        + at("fixed", 'Header set Cache-Control "no-transform"')
        + "CacheFile {docs}/kept.txt\n",
        modules=["proxy", "proxy_http", "file_cache"], tls=True, h2=True, cgi={"tag.cgi": CGI},
        files={"kept.txt": BODY})
    for name, body in (("a.txt", BODY), ("small.txt", b"small"), ("a.bin", BODY)):
        server.write(name, body, mtime=1_500_000_000)

    def conditional(exchange):
        """An origin that compares with its own tag only, or with any date."""
        asked = exchange.headers.get("if-none-match", "")
        status = 304 if '"o"' in asked or "if-modified-since" in exchange.headers else 200
        exchange.respond(status, {"ETag": '"o"', "Cache-Control": "max-age=60"}, BODY)

    origin.route("/tagged", conditional)
    origin.route("/packed", lambda e: e.respond(304, {"ETag": '"o-gzip"'}, b""))
    origin.route("/open", lambda e: e.respond(200, {"ETag": '"a;b'}, BODY))
    return server


def _identity_tag(server, path="/a.txt"):
    tag = server.get(path).headers["ETag"]
    assert tag.startswith('"') and tag.endswith('"')
    return tag


def _suffixed(tag, coding):
    return tag[:-1] + f'-{coding}"'


def _ask(server, path, ae, tag, **kw):
    """A GET with If-None-Match."""
    return server.get(path, ae=ae, headers={"If-None-Match": tag}, **kw)


# --- the tag of an encoded body


@pytest.mark.smoke
@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_modes(server, coding):
    tag = _identity_tag(server)
    suffixed = _suffixed(tag, coding)
    expected = {"weak": "W/" + suffixed, "suffix": suffixed, "keep": tag, "remove": None}
    for mode in MODES:
        answer = server.get(f"/{mode}/a.txt", ae=coding)
        check.encoded(answer, coding, BODY)
        assert answer.headers.get("ETag") == expected[mode], mode
        assert server.get(f"/{mode}/a.txt").headers["ETag"] == tag


@pytest.mark.protocols()
def test_weak_is_the_default(server, protocol):
    answer = server.get("/a.txt", ae="gzip", protocol=protocol)
    check.encoded(answer, "gzip", BODY)
    assert answer.headers["ETag"] == "W/" + _suffixed(_identity_tag(server), "gzip")


@pytest.mark.parametrize("mode,given,expected", [
    ("weak", "strong", 'W/"cgi-gzip"'), ("suffix", "strong", '"cgi-gzip"'),
    ("weak", "weak", 'W/"cgi-gzip"'), ("suffix", "weak", 'W/"cgi-gzip"'),
    ("keep", "weak", 'W/"cgi"'), ("weak", "none", None), ("suffix", "none", None),
    ("weak", "bare", "cgi"), ("suffix", "bare", "cgi"),
    # What is left open takes no suffix, and two codings would share it.
    ("weak", "open", None), ("suffix", "open", None), ("remove", "open", None),
])
def test_tags_of_a_cgi(server, mode, given, expected):
    for coding in ("gzip", "br"):
        answer = server.get(f"/{mode}/tag.cgi?{given}", ae=coding)
        check.encoded(answer, coding, BODY)
        assert answer.headers.get("ETag") == (expected and expected.replace("gzip", coding))


def test_a_tag_that_is_left_open_is_the_identitys_alone(server):
    for path in ("/tag.cgi?open", "/origin/open"):
        identity = server.get(path)
        check.plain(identity, BODY)
        assert identity.headers["ETag"] == '"a;b'
        assert "ETag" not in server.get(path, ae="gzip").headers


# --- If-None-Match


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("coding", ["gzip", "br"])
@pytest.mark.parametrize("mode", MODES[:3])
def test_what_was_sent_is_recognized(server, protocol, coding, mode):
    sent = server.get(f"/{mode}/a.txt", ae=coding, protocol=protocol).headers["ETag"]
    answer = _ask(server, f"/{mode}/a.txt", coding, sent, protocol=protocol)
    check.not_modified(answer, sent)
    if mode != "keep":
        # A cache would compare the identity's length with that of its entry, or keep it.
        assert "Content-Length" not in answer.headers and "Accept-Ranges" not in answer.headers


@pytest.mark.smoke
@pytest.mark.parametrize("ae", ["gzip", "gzip, br", None])
def test_the_identitys_tag_is_current_for_all(server, ae):
    tag = _identity_tag(server)
    check.not_modified(_ask(server, "/a.txt", ae, tag), tag)


@pytest.mark.parametrize("form", ['{strong}', 'W/{strong}', '"x", {strong}', '"x", W/{strong}, "y"',
                                  '"x",W/{strong}', '"a,b" , {strong}'])
@pytest.mark.parametrize("mode", ["weak", "suffix"])
def test_lists_and_either_strength(server, form, mode):
    strong = _suffixed(_identity_tag(server), "gzip")
    answer = _ask(server, f"/{mode}/a.txt", "gzip", form.format(strong=strong))
    assert answer.status == 304 and answer.varies
    assert answer.headers["ETag"].removeprefix("W/") == strong


def test_several_fields(server):
    strong = _suffixed(_identity_tag(server), "br")
    answer = server.get("/a.txt", ae="br",
                        headers=[("If-None-Match", '"x"'), ("If-None-Match", strong)])
    assert answer.status == 304 and answer.varies


@pytest.mark.smoke
@pytest.mark.parametrize("place,named,ae,coding", [
    ("", "gzip", None, None), ("", "gzip", "br", "br"), ("", "gzip", "gzip;q=0", None),
    ("", "gzip", "identity", None), ("", "gzip", "gzip;q=0, br", "br"),
    ("/only-gzip", "br", "gzip, br", "gzip")])
def test_a_coding_that_is_no_longer_accepted_or_enabled_is_sent_anew(server, place, named, ae,
                                                                     coding):
    tag = "W/" + _suffixed(_identity_tag(server), named)
    check.negotiated(_ask(server, f"{place}/a.txt", ae, tag), coding, BODY)


@pytest.mark.parametrize("tag", ['"other"', '"other-gzip"', 'W/"-gzip"', '"', "W/", "garbage-gzip",
                                 '"unclosed-gzip', "-gzip"])
def test_tags_that_are_not_current(server, tag):
    check.encoded(_ask(server, "/a.txt", "gzip", tag), "gzip", BODY)


def test_a_suffix_twice_is_no_tag_of_ours(server):
    tag = _suffixed(_suffixed(_identity_tag(server), "gzip"), "gzip")
    check.encoded(_ask(server, "/a.txt", "gzip", tag), "gzip", BODY)


def test_a_suffix_means_nothing_where_elastic_is_off(server):
    tag = _suffixed(_identity_tag(server), "gzip")
    check.plain(_ask(server, "/off/a.txt", "gzip", tag), BODY, varies=False)


SINCE = {"If-Modified-Since": "Fri, 14 Jul 2017 02:40:00 GMT"}


@pytest.mark.smoke
@pytest.mark.parametrize("path,ae", [
    *((f"/{mode}/a.txt", coding) for mode in MODES for coding in ("gzip", "br")),
    ("/a.txt", "gzip, br"), ("/a.txt", "gzip, br;q=0.5"), ("/a.txt", None), ("/a.txt", "gzip;q=0"),
    ("/only-gzip/a.txt", "br"), ("/small.txt", "gzip"), ("/a.bin", "gzip"), ("/kept.txt", "gzip"),
    ("/off/a.txt", "gzip"), ("/fixed/a.txt", "gzip")])
def test_where_no_tag_is_named_a_304_has_that_of_a_200(server, path, ae):
    with server.connect() as connection:
        whole = connection.request(path, ae=ae)
        assert whole.status == 200
        for condition in ({"If-Modified-Since": whole.headers["Last-Modified"]},
                          {"If-None-Match": "*"}):
            for method in ("GET", "HEAD"):
                answer = connection.request(path, method, ae, condition)
                check.empty(answer, 304)
                check.same_header(answer, whole, "ETag", "Vary")


@pytest.mark.protocols()
def test_a_date_over_every_protocol(server, protocol):
    answer = server.get("/a.txt", ae="gzip", headers=SINCE, protocol=protocol)
    check.not_modified(answer, "W/" + _suffixed(_identity_tag(server), "gzip"))


def test_a_request_for_a_range_has_the_identitys_tag(server):
    for ae in ("gzip", None):
        answer = server.get("/a.txt", ae=ae, headers={"Range": "bytes=0-9", **SINCE})
        check.not_modified(answer, _identity_tag(server))


@pytest.mark.parametrize("path,tag", [
    ("/tag.cgi?304", 'W/"cgi-gzip"'), ("/suffix/tag.cgi?304", '"cgi-gzip"'),
    ("/origin/tagged", 'W/"o-gzip"'), ("/origin/packed", '"o-gzip"')])
def test_a_304_of_a_script_or_an_origin(server, path, tag):
    """Its type is not known, and taken for one that is listed. A tag with a coding's suffix is one
    of an encoded body already."""
    check.not_modified(server.get(path, ae="gzip", headers=SINCE), tag)


def test_the_tag_changes_with_the_file(server):
    server.write("changing.txt", BODY, mtime=1_500_000_000)
    tag = server.get("/changing.txt", ae="gzip").headers["ETag"]
    server.write("changing.txt", BODY[:-1], mtime=1_500_000_100)
    check.encoded(_ask(server, "/changing.txt", "gzip", tag), "gzip", BODY[:-1])


def test_head_is_conditional_too(server):
    tag = server.head("/a.txt", ae="gzip").headers["ETag"]
    assert tag == server.get("/a.txt", ae="gzip").headers["ETag"]
    check.not_modified(server.head("/a.txt", ae="gzip", headers={"If-None-Match": tag}), tag)


# --- conditionals of CGI and proxied responses


@pytest.mark.smoke
@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_a_cgis_tag(server, coding):
    tag = f'W/"cgi-{coding}"'
    check.not_modified(_ask(server, "/tag.cgi?strong", coding, tag), tag)
    # Where strong tags are given out, either strength is known again.
    for named in (tag, tag.removeprefix("W/")):
        check.not_modified(_ask(server, "/suffix/tag.cgi?strong", coding, f'"x", {named}'), named)


def test_a_cgis_own_tag_that_ends_in_a_suffix(server):
    """It is another page than that whose tag has no such end."""
    check.not_modified(_ask(server, "/tag.cgi?home-br", "br", '"home-br"'), '"home-br"')
    check.encoded(_ask(server, "/tag.cgi?home", "br", '"home-br"'), "br", BODY)
    check.not_modified(_ask(server, "/tag.cgi?home", "br", 'W/"home-br"'), 'W/"home-br"')
    for place in ("/keep", "/remove"):
        check.encoded(_ask(server, f"{place}/tag.cgi?home", "br", '"home-br"'), "br", BODY)
    for place in ("", "/suffix"):
        answer = server.get(f"{place}/tag.cgi?home", ae="br", headers={"If-Match": '"home-br"'})
        assert answer.status == 412, answer


def test_a_304_that_is_made_of_a_200_is_one_to_the_log_and_the_counters(server):
    def ask():
        return _ask(server, "/tag.cgi?strong", "gzip", 'W/"cgi-gzip"')

    answer, grown = counted(server, ask)
    check.not_modified(answer, 'W/"cgi-gzip"')
    assert server.reason(answer) == "status" and grown == {"status": 1}
    check.empty(answer, 304)
    assert "Content-Encoding" not in answer.headers and "Content-Length" not in answer.headers


def test_a_cgi_that_says_304_itself(server):
    check.not_modified(_ask(server, "/tag.cgi?304", "gzip", 'W/"cgi-gzip"'), 'W/"cgi-gzip"')


@pytest.mark.smoke
@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_a_proxied_304(server, coding):
    first = server.get("/origin/tagged", ae=coding)
    check.encoded(first, coding, BODY)
    tag = first.headers["ETag"]
    assert tag == f'W/"o-{coding}"'
    check.not_modified(_ask(server, "/origin/tagged", coding, tag), tag)
    check.not_modified(_ask(server, "/origin/tagged", coding, '"o"'), '"o"')


def test_a_304_that_a_handler_returns(server):
    """mod_file_cache returns the status, as few handlers do, and no content filter sees it."""
    tag = server.get("/kept.txt", ae="gzip").headers["ETag"]
    assert tag.endswith('-gzip"')
    check.not_modified(_ask(server, "/kept.txt", "gzip", tag), tag)


def test_a_proxied_200_to_a_conditional(server):
    check.plain(_ask(server, "/origin/tagged", None, 'W/"o-gzip"'), BODY)


# --- If-Match compares strongly


@pytest.mark.smoke
@pytest.mark.parametrize("match,status", [
    ("{tag}", 200), ('"other"', 412), ("W/{tag}", 412), ("W/{suffixed}", 412)])
def test_if_match(server, match, status):
    tag = _identity_tag(server)
    match = match.format(tag=tag, suffixed=_suffixed(tag, "gzip"))
    answer = server.get("/a.txt", ae="gzip", headers={"If-Match": match})
    assert answer.status == status, answer
    if status == 200:
        check.encoded(answer, "gzip", BODY)


@pytest.mark.parametrize("place,match,status", [
    ("/suffix", '"{base}-gzip"', 200), ("/suffix", '"x", "{base}-br"', 200),
    ("/suffix", 'W/"{base}-gzip"', 412), ("/suffix", '"{base}-other"', 412),
    ("/suffix", '"other-gzip"', 412), ("", 'W/"{base}-gzip"', 412),
    *((place, '"x", "{base}-br"', 200) for place in ("", "/weak", "/keep", "/remove")),
    ("/only-gzip", '"{base}-gzip"', 200), ("/only-gzip", '"{base}-br"', 412),
    ("", '"{base}-dcz"', 412), ("/off", '"{base}-gzip"', 412)])
def test_if_match_takes_tags_that_clients_have_made_strong(server, place, match, status):
    """In whatever mode, of a file whose own tag is strong; and whatever coding the request accepts:
    it asks about a body that the client has."""
    match = match.format(base=_identity_tag(server).strip('"'))
    for method in ("GET", "HEAD"):
        for ae in ("gzip", None):
            answer = server.get(f"{place}/a.txt", ae=ae, method=method, headers={"If-Match": match})
            assert answer.status == status, answer


def test_files_tags_of_whatever_making(server):
    for fields in ("MTime", "Size", "INode Size", "INode MTime Size", "Digest", "Size Digest"):
        path = f"/{fields.replace(' ', '-').lower()}/a.txt"
        tag = _identity_tag(server, path)
        for coding in ("gzip", "br"):
            answer = server.get(path, headers={"If-Match": _suffixed(tag, coding)})
            assert answer.status == 200, answer
            sent = "W/" + _suffixed(tag, coding)
            for named in (sent, sent.removeprefix("W/")):
                check.not_modified(_ask(server, path, coding, named), named)
    assert "ETag" not in server.get("/none/a.txt").headers
    assert server.get("/none/a.txt", headers={"If-Match": '"-gzip"'}).status == 412


def test_a_backend_is_asked_for_the_strong_tags_of_its_own(server, origin):
    made = "7530-55443b7e3c000"
    for place, text, coding, asked in (("/origin-suffix", made, "gzip", f', "{made}"'),
                                       ("/origin", made, "gzip", ""),
                                       ("/origin-suffix", made, "other", ""),
                                       ("/origin-suffix", "home", "gzip", "")):
        tag = f'W/"{text}", "{text}-{coding}"'
        server.get(f"{place}/tagged", ae="gzip", method="PUT", body=b"x", headers={"If-Match": tag})
        assert origin.seen[-1].headers["if-match"] == tag + asked


# --- filters that AddOutputFilterByType names


BY_TYPE = [("ELASTIC", "gzip"), ("ELASTIC", "br"), ("DEFLATE", "gzip"), ("BROTLI_COMPRESS", "br")]


@pytest.fixture(scope="module")
def by_type(httpd_shared):
    places = {name: at(name, f"AddOutputFilterByType {name} text/plain") for name, _ in BY_TYPE}
    for filters in ("BROTLI_COMPRESS;DEFLATE", "DEFLATE;BROTLI_COMPRESS"):
        first = filters.partition(";")[0]
        places[first + filters] = at(f"named-{first}", f"SetOutputFilter {filters}")
        places[filters] = at(f"typed-{first}", f"AddOutputFilterByType {filters} text/plain")
        # mod_file_cache knows files by their place below DocumentRoot, and none of an Alias.
        places["kept" + filters] = f"CacheFile {{docs}}/kept-{first}.txt\n" \
            f"<Location /kept-{first}.txt>\nSetOutputFilter {filters}\n</Location>\n"
    places["beside"] = at("beside", "AddOutputFilterByType SUBSTITUTE;DEFLATE text/plain")
    server = httpd_shared("".join(places.values()),
                          modules=["filter", "substitute", "file_cache"], start=False,
                          records=("elastic", "deflate", "brotli"))
    for name in ("a.txt", "a.html", "kept-DEFLATE.txt", "kept-BROTLI_COMPRESS.txt"):
        server.write(name, BODY, mtime=1_500_000_000)
    server.start()
    return server


@pytest.mark.parametrize("name,coding", BY_TYPE)
def test_by_type(by_type, name, coding):
    """mod_filter leaves them out for a 304, unless it is asked; it knows which types they are for.
    """
    path = f"/{name}/a.txt"
    answer = by_type.get(path, ae=coding)
    check.encoded(answer, coding, BODY)
    for tag in (answer.headers["ETag"], _identity_tag(by_type)):
        check.not_modified(_ask(by_type, path, coding, tag), tag)
    check.not_modified(by_type.get(path, ae=coding, headers=SINCE), answer.headers["ETag"])
    check.not_modified(by_type.get(path, headers=SINCE), _identity_tag(by_type))
    other = f"/{name}/a.html"
    check.plain(by_type.get(other, ae=coding), BODY, varies=False)
    answer = by_type.get(other, ae=coding, headers=SINCE)
    check.empty(answer, 304)
    check.same_header(answer, by_type.get(other), "ETag", "Vary")


def test_by_type_beside_another_module(by_type):
    """It is not run for a 304 on our account, and whether ours would be is not known then."""
    path = "/beside/a.txt"
    whole = by_type.get(path, ae="gzip")
    check.encoded(whole, "gzip", BODY)
    check.not_modified(by_type.get(path, ae="gzip", headers=SINCE), _identity_tag(by_type))
    check.not_modified(_ask(by_type, path, "gzip", whole.headers["ETag"]), whole.headers["ETag"])


@pytest.mark.parametrize("filters,tags", [
    ("BROTLI_COMPRESS;DEFLATE", ("br", "gzip", "br")),
    ("DEFLATE;BROTLI_COMPRESS", ("gzip", "gzip", "br"))])
def test_of_two_filters_that_one_counts_which_encodes(by_type, filters, tags):
    first = filters.partition(";")[0]
    for path in (f"/named-{first}/a.txt", f"/typed-{first}/a.txt", f"/kept-{first}.txt"):
        for ae, coding in zip(("gzip, br", "gzip, br;q=0.5", "br, gzip;q=0.5"), tags):
            answer = by_type.get(path, ae=ae)
            check.encoded(answer, coding, BODY)
            since = {"If-Modified-Since": answer.headers["Last-Modified"]}
            check.not_modified(by_type.get(path, ae=ae, headers=since), answer.headers["ETag"])


# --- ranges


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("range,first,last", [
    ("0-99", 0, 99), ("0-", 0, 29999), ("-5000", 25000, 29999), ("100-20000", 100, 20000)])
def test_slices_are_of_the_identity(server, protocol, range, first, last):
    answer = server.get("/a.txt", ae="gzip", headers={"Range": f"bytes={range}"}, protocol=protocol)
    check.plain(answer, BODY[first : last + 1], 206)
    assert answer.headers["Content-Range"] == f"bytes {first}-{last}/30000"
    identity = server.get("/a.txt", protocol=protocol)
    check.same_header(answer, identity, "ETag")
    assert server.reason(answer) == "range"


@pytest.mark.parametrize("method", ["POST", "DELETE", "PATCH"])
@pytest.mark.parametrize("ae", ["gzip", "br"])
def test_slices_are_of_the_identity_whatever_the_method(server, method, ae):
    """httpd cuts them out of the response of any: of a body whose length it knows."""
    span = {"Range": "bytes=100-199"}
    answer = server.get("/tag.cgi?ranges", ae=ae, method=method, headers=span)
    assert (answer.status, answer.body) in ((200, BODY), (206, BODY[100:200])), answer
    assert answer.coding is None and server.reason(answer) == "range"
    if method == "POST":
        check.plain(server.get("/a.txt", ae=ae, method=method, headers=span), BODY[100:200], 206)
    old = server.get("/tag.cgi?ranges", ae=ae, method=method,
                     headers={**span, "If-Range": '"another"'})
    check.encoded(old, ae, BODY)


def test_a_cgi_is_not_sliced(server):
    answer = server.get("/tag.cgi?ranges", ae="gzip", headers={"Range": "bytes=0-99"})
    check.plain(answer, BODY)
    assert server.reason(answer) == "range"


def test_several_slices_and_one_that_cannot_be_met(server):
    answer = server.get("/a.txt", ae="br", headers={"Range": "bytes=0-9,20000-20009"})
    assert answer.status == 206 and answer.coding is None
    assert BODY[:10] in answer.raw and BODY[20000:20010] in answer.raw
    assert answer.headers["Content-Type"].startswith("multipart/byteranges")
    answer = server.get("/a.txt", ae="gzip", headers={"Range": "bytes=50000-"})
    assert answer.status == 416 and answer.coding is None


@pytest.mark.smoke
@pytest.mark.parametrize("path", ["/a.txt", "/tag.cgi?ranges"])
@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_only_identity_advertises_ranges(server, path, coding):
    check.encoded(server.get(path, ae=coding), coding, BODY)
    plain = server.get(path)
    check.plain(plain, BODY)
    assert plain.headers.get("Accept-Ranges") == "bytes"


@pytest.mark.smoke
def test_if_range_with_the_identitys_tag(server):
    tag = _identity_tag(server)
    answer = server.get("/a.txt", ae="gzip", headers={"Range": "bytes=5-9", "If-Range": tag})
    check.plain(answer, BODY[5:10], 206)


@pytest.mark.parametrize("prefix", ["", "/suffix"])
@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_if_range_with_an_encoded_tag_gets_the_whole(server, prefix, coding):
    """A prefix of the gzip body must never be continued with bytes of another one."""
    tag = server.get(f"{prefix}/a.txt", ae=coding).headers["ETag"]
    for ae in (coding, None):
        answer = server.get(f"{prefix}/a.txt", ae=ae,
                            headers={"Range": "bytes=5-", "If-Range": tag})
        # Where the condition cannot hold it is no request for a range, and no reason for identity.
        check.negotiated(answer, ae, BODY)
    answer = server.get("/a.txt", ae=coding, headers={"Range": "bytes=5-", "If-Range": '"other"'})
    assert answer.status == 200 and answer.body == BODY


@pytest.mark.smoke
@pytest.mark.parametrize("ae,coding", [("gzip", "gzip"), ("br", "br"), (None, None)])
def test_if_range_with_a_date_gets_the_whole(server, ae, coding):
    """The date does not say which representation the client has a part of."""
    modified = server.get("/a.txt").headers["Last-Modified"]
    answer = server.get("/a.txt", ae=ae, headers={"Range": "bytes=5-9", "If-Range": modified})
    check.whole(answer, coding, BODY)


def test_if_range_with_a_date_works_where_nothing_is_negotiated(server):
    modified = server.get("/off/a.txt").headers["Last-Modified"]
    answer = server.get("/off/a.txt", ae="gzip",
                        headers={"Range": "bytes=5-9", "If-Range": modified})
    check.plain(answer, BODY[5:10], 206, varies=False)


def test_head_with_range(server):
    """RFC 9110 §14.2: Range is defined for GET only."""
    answer = server.head("/a.txt", ae="gzip", headers={"Range": "bytes=0-9"})
    assert answer.raw == b"" and answer.complete
    assert "Content-Range" not in answer.headers or answer.coding is None


def test_a_unit_that_httpd_does_not_know_is_no_range(server):
    check.encoded(server.get("/a.txt", "gzip", {"Range": "lines=1-2"}), "gzip", BODY)
