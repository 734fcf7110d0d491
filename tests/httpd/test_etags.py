"""Entity tags of encoded bodies, and conditional requests about them."""

import time

import pytest

from kit import at, bodies, check, config, env

BODY = bodies.text(30000)
MODES = ("weak", "suffix", "keep", "remove")

# Answers 304 by itself where it is asked about "cgi" (mod_cgi leaves that to the script, and to
# httpd).
CGI = """\
mode = os.environ['QUERY_STRING']
tags = {'strong': '"cgi"', 'weak': 'W/"cgi"', 'bare': 'cgi', 'none': None}
if mode == '304':
    head('Status: 304 Not Modified', 'ETag: "cgi"')
    sys.exit()
tag = tags[mode]
head('Content-Type: text/plain', *(['ETag: ' + tag] if tag else []))
out(bodies.text(30000))
"""


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    aliases = "".join(at(mode, f"ElasticETag {mode}") for mode in MODES)
    server = httpd_shared(
        f"Elastic On\n{aliases}ProxyPass /origin/ {origin.url}/\n"
        + at("only-gzip", "ElasticCodings gzip") + at("off", "Elastic Off"),
        modules=["proxy", "proxy_http"], tls=True, h2=True, cgi={"tag.cgi": CGI})
    server.write("a.txt", BODY, mtime=1_500_000_000)

    def conditional(exchange):
        """An origin that knows its own tag only."""
        asked = exchange.headers.get("if-none-match", "")
        status = 304 if '"o"' in asked else 200
        exchange.respond(status, {"ETag": '"o"', "Cache-Control": "max-age=60"}, BODY)

    origin.route("/tagged", conditional)
    return server


def _identity_tag(server, path="/a.txt"):
    tag = server.get(path).headers["ETag"]
    assert tag.startswith('"') and tag.endswith('"')
    return tag


def _suffixed(tag, coding):
    return tag[:-1] + f'-{coding}"'


def _not_modified(answer, named):
    assert (answer.status, answer.coding, answer.raw) == (304, None, b""), answer
    assert answer.complete and answer.varies, answer
    assert answer.headers.get("ETag") == named, answer


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
])
def test_tags_of_a_cgi(server, mode, given, expected):
    answer = server.get(f"/{mode}/tag.cgi?{given}", ae="gzip")
    check.encoded(answer, "gzip", BODY)
    assert answer.headers.get("ETag") == expected


# --- If-None-Match


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("coding", ["gzip", "br"])
@pytest.mark.parametrize("mode", MODES[:3])
def test_what_was_sent_is_recognized(server, protocol, coding, mode):
    sent = server.get(f"/{mode}/a.txt", ae=coding, protocol=protocol).headers["ETag"]
    answer = server.get(f"/{mode}/a.txt", ae=coding, headers={"If-None-Match": sent},
                        protocol=protocol)
    _not_modified(answer, sent)


@pytest.mark.smoke
@pytest.mark.parametrize("ae", ["gzip", "gzip, br", None])
def test_the_identitys_tag_is_current_for_all(server, ae):
    tag = _identity_tag(server)
    _not_modified(server.get("/a.txt", ae=ae, headers={"If-None-Match": tag}), tag)


@pytest.mark.parametrize("form", ['{strong}', 'W/{strong}', '"x", {strong}', '"x", W/{strong}, "y"',
                                  '"x",W/{strong}', '"a,b" , {strong}'])
@pytest.mark.parametrize("mode", ["weak", "suffix"])
def test_lists_and_either_strength(server, form, mode):
    strong = _suffixed(_identity_tag(server), "gzip")
    answer = server.get(f"/{mode}/a.txt", ae="gzip",
                        headers={"If-None-Match": form.format(strong=strong)})
    assert answer.status == 304 and answer.varies
    assert answer.headers["ETag"].removeprefix("W/") == strong


def test_several_fields(server):
    strong = _suffixed(_identity_tag(server), "br")
    answer = server.get("/a.txt", ae="br",
                        headers=[("If-None-Match", '"x"'), ("If-None-Match", strong)])
    assert answer.status == 304 and answer.varies


@pytest.mark.smoke
@pytest.mark.parametrize("ae,coding", [
    (None, None), ("br", "br"), ("gzip;q=0", None), ("identity", None), ("gzip;q=0, br", "br")])
def test_a_coding_that_is_no_longer_accepted_is_sent_anew(server, ae, coding):
    tag = "W/" + _suffixed(_identity_tag(server), "gzip")
    answer = server.get("/a.txt", ae=ae, headers={"If-None-Match": tag})
    assert (answer.status, answer.coding, answer.body) == (200, coding, BODY)


def test_a_coding_that_is_no_longer_enabled_is_sent_anew(server):
    tag = "W/" + _suffixed(_identity_tag(server), "br")
    answer = server.get("/only-gzip/a.txt", ae="gzip, br", headers={"If-None-Match": tag})
    check.encoded(answer, "gzip", BODY)


@pytest.mark.parametrize("tag", ['"other"', '"other-gzip"', 'W/"-gzip"', '"', "W/", "garbage-gzip",
                                 '"unclosed-gzip', "-gzip"])
def test_tags_that_are_not_current(server, tag):
    check.encoded(server.get("/a.txt", ae="gzip", headers={"If-None-Match": tag}), "gzip", BODY)


def test_a_suffix_twice_is_no_tag_of_ours(server):
    tag = _suffixed(_suffixed(_identity_tag(server), "gzip"), "gzip")
    check.encoded(server.get("/a.txt", ae="gzip", headers={"If-None-Match": tag}), "gzip", BODY)


def test_a_suffix_means_nothing_where_elastic_is_off(server):
    tag = _suffixed(_identity_tag(server), "gzip")
    answer = server.get("/off/a.txt", ae="gzip", headers={"If-None-Match": tag})
    check.plain(answer, BODY, varies=False)


def test_star_matches(server):
    answer = server.get("/a.txt", ae="gzip", headers={"If-None-Match": "*"})
    assert answer.status == 304 and answer.varies


def test_the_tag_changes_with_the_file(server):
    server.write("changing.txt", BODY, mtime=1_500_000_000)
    tag = server.get("/changing.txt", ae="gzip").headers["ETag"]
    server.write("changing.txt", BODY[:-1], mtime=1_500_000_100)
    answer = server.get("/changing.txt", ae="gzip", headers={"If-None-Match": tag})
    check.encoded(answer, "gzip", BODY[:-1])


def test_head_is_conditional_too(server):
    tag = server.head("/a.txt", ae="gzip").headers["ETag"]
    assert tag == server.get("/a.txt", ae="gzip").headers["ETag"]
    _not_modified(server.head("/a.txt", ae="gzip", headers={"If-None-Match": tag}), tag)


def test_if_modified_since(server):
    since = server.get("/a.txt").headers["Last-Modified"]
    answer = server.get("/a.txt", ae="gzip", headers={"If-Modified-Since": since})
    assert answer.status == 304 and answer.varies


# --- conditionals of CGI and proxied responses


@pytest.mark.smoke
@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_a_cgis_tag(server, coding):
    tag = f'W/"cgi-{coding}"'
    _not_modified(server.get("/tag.cgi?strong", ae=coding, headers={"If-None-Match": tag}), tag)


def test_a_cgi_that_says_304_itself(server):
    answer = server.get("/tag.cgi?304", ae="gzip", headers={"If-None-Match": 'W/"cgi-gzip"'})
    _not_modified(answer, 'W/"cgi-gzip"')


@pytest.mark.smoke
@pytest.mark.parametrize("coding", ["gzip", "br"])
def test_a_proxied_304(server, coding):
    first = server.get("/origin/tagged", ae=coding)
    check.encoded(first, coding, BODY)
    tag = first.headers["ETag"]
    assert tag == f'W/"o-{coding}"'
    _not_modified(server.get("/origin/tagged", ae=coding, headers={"If-None-Match": tag}), tag)
    _not_modified(server.get("/origin/tagged", ae=coding, headers={"If-None-Match": '"o"'}), '"o"')


def test_a_proxied_200_to_a_conditional(server):
    answer = server.get("/origin/tagged", ae=None, headers={"If-None-Match": 'W/"o-gzip"'})
    check.plain(answer, BODY)


# --- If-Match compares strongly


@pytest.mark.smoke
def test_if_match(server):
    tag = _identity_tag(server)
    for path, match, status in (("/a.txt", tag, 200), ("/a.txt", '"other"', 412),
                                ("/a.txt", "W/" + _suffixed(tag, "gzip"), 412)):
        answer = server.get(path, ae="gzip", headers={"If-Match": match})
        assert answer.status == status, (match, answer)
        if status == 200:
            check.encoded(answer, "gzip", BODY)


def test_a_weak_identity_tag_is_no_strong_match(server):
    answer = server.get("/a.txt", ae="gzip", headers={"If-Match": "W/" + _identity_tag(server)})
    assert answer.status == 412


# --- a cache in the same httpd


def test_mod_cache_keeps_its_entry_when_it_revalidates(httpd, origin):
    """A 304 without the suffix would make mod_cache throw its encoded entry away."""
    server = httpd(
        "Elastic On\n" + config.CACHE + "CacheHeader On\nHeader set Cache-Control max-age=1\n",
        modules=["cache", "cache_disk"], files={"a.txt": BODY})
    config.make_cache(server)
    server.write("a.txt", BODY, mtime=1_500_000_000)
    check.encoded(server.get("/a.txt", ae="gzip"), "gzip", BODY)

    def hit():
        return server.get("/a.txt", ae="gzip").headers.get("X-Cache", "").startswith("HIT")

    server.wait_for(hit, 5, "a hit")
    time.sleep(2.2)
    answer = server.get("/a.txt", ae="gzip")
    assert answer.coding == "gzip" and answer.body == BODY
    assert "REVALIDATE" in answer.headers.get("X-Cache"), answer


# --- filters that AddOutputFilterByType names


@pytest.mark.parametrize("name,coding", [("ELASTIC", "gzip"), ("ELASTIC", "br"),
                                         ("DEFLATE", "gzip"), ("BROTLI_COMPRESS", "br")])
def test_by_type(httpd, name, coding):
    """mod_filter does not run them for a 304, which has no type."""
    record = {"DEFLATE": "deflate", "BROTLI_COMPRESS": "brotli"}.get(name)
    load = f"LoadModule {record}_module {env.MODULE}\n" if record else ""
    server = httpd(f"{load}AddOutputFilterByType {name} text/plain\n", modules=["filter"])
    server.write("a.txt", BODY, mtime=1_500_000_000)
    answer = server.get("/a.txt", ae=coding)
    check.encoded(answer, coding, BODY)
    for tag in (answer.headers["ETag"], _identity_tag(server)):
        _not_modified(server.get("/a.txt", ae=coding, headers={"If-None-Match": tag}), tag)
    since = {"If-Modified-Since": answer.headers["Last-Modified"]}
    _not_modified(server.get("/a.txt", ae=coding, headers=since), _identity_tag(server))
