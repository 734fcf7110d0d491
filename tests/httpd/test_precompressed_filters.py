"""Precompressed files beside content filters of other modules: filters that only read the body do
not prevent them, and filters that change it are never bypassed."""

import gzip

import pytest

from kit import at, check
from kit.precompressed import BODY, BR, DATE, GZ, OLD, PRECOMPRESSED, add_set, check_made, \
    check_sent, passes_over

pytestmark = pytest.mark.rules

# mod_security2 has its filter in every chain; it copies bodies of the second folder, and holds
# those of the third.
CONFIG = """
SecRuleEngine On
SecDataDir {root}/run
SecTmpDir {root}/run
SecAuditEngine Off
SecDebugLogLevel 0
SecResponseBodyMimeType text/html
SecResponseBodyLimit 524288
SecRule RESPONSE_BODY "the word that nobody may read" "id:1,phase:4,deny,status:403"
Elastic On
ElasticPrecompressed On
# These leave the length where it is. The first gives back the bytes in pieces.
ExtFilterDefine copies mode=output cmd="/bin/cat" PreservesContentLength
ExtFilterDefine changes mode=output cmd="/usr/bin/tr e E" PreservesContentLength
AddOutputFilter INCLUDES .shtml
AddType text/html .shtml
<Directory {docs}>
    Options +Includes
    LogLevel elastic:debug
</Directory>
""" + at("inspected", "SecResponseBodyAccess On") + at("alone", "Elastic Off") \
    + at("substitute", "SetOutputFilter SUBSTITUTE", 'Substitute "s/server/SERVER/q"') \
    + at("idle-substitute", "SetOutputFilter SUBSTITUTE", 'Substitute "s/no such word/x/q"') \
    + at("sed", "SetOutputFilter SED", 'OutputSed "s/server/SERVER/g"') \
    + at("ratelimit", "SetOutputFilter RATE_LIMIT", "SetEnv rate-limit 4000") \
    + at("by-type", "AddOutputFilterByType SUBSTITUTE text/html",
         'Substitute "s/server/SERVER/q"') \
    + at("labelled", "FilterDeclare labels RESOURCE",
         "FilterProvider labels FIXUP_HEADERS_OUT true", "FilterChain labels",
         "Header set Content-Encoding x-own") \
    + at("flushing", "FilterDeclare flushing RESOURCE", "FilterProvider flushing RATE_LIMIT true",
         "FilterChain flushing", "SetEnv rate-limit 100") \
    + at("watched", "") + at("copies", "SetOutputFilter copies") \
    + at("changes", "SetOutputFilter changes") + at("explained", "ElasticExplain On") \
    + at("explained-substitute", "ElasticExplain On", "SetOutputFilter SUBSTITUTE",
         'Substitute "s/server/SERVER/q"')
WATCHED = ("watched", "inspected", "alone", "ratelimit", "copies")
WORDS = BODY.replace(b"server", b"SERVER")


@pytest.fixture(scope="module")
def site(httpd_shared):
    server = httpd_shared(CONFIG, modules=["unique_id", "security2", "include", "substitute", "sed",
                                           "filter", "ratelimit", "ext_filter"], tls=True, h2=True)
    add_set(server, "page.html", "br", "gz")
    add_set(server, "none.html")
    add_set(server, "page.shtml", "br", "gz")
    secret = BODY + b"the word that nobody may read"
    server.write("secret.html", secret, OLD)
    server.write("secret.html.gz", gzip.compress(secret), OLD)
    return server


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("folder", WATCHED)
@pytest.mark.parametrize("coding", PRECOMPRESSED)
def test_a_filter_that_only_looks_on_forbids_nothing(site, protocol, folder, coding):
    path = f"/{folder}/page.html"
    with passes_over(site):
        get = site.get(path, ae=coding, protocol=protocol)
        check_sent(get, coding, PRECOMPRESSED[coding])
        assert get.body == BODY and site.notes(get)["elastic-engine"] == "precompressed"
        head = site.head(path, ae=coding, protocol=protocol)
    check.head_of(get, head, "Last-Modified", "Content-Length", "ETag")


@pytest.mark.parametrize("folder,body", [
    ("substitute", WORDS), ("sed", WORDS), ("by-type", WORDS),
    ("changes", BODY.replace(b"e", b"E")),  # to as many bytes
    # It has processed every line without a match, but removed the length.
    ("idle-substitute", BODY),
    ("flushing", BODY)], ids=lambda value: value if isinstance(value, str) else "")
def test_a_filter_that_changes_bodies_is_not_passed_over(site, folder, body):
    with passes_over(site, filter=1):
        check_made(site.get(f"/{folder}/page.html", ae="gzip, br;q=0.5"), "gzip", body)
    # SUBSTITUTE, SED or BYTYPE:SUBSTITUTE, and MODSECURITY_OUT, which could have been the cause.
    site.wait_log("docs/page.html.gz is not sent for the filter .*, which changes", 30)


def test_a_coding_that_a_filter_adds_is_kept(site):
    """It says that the file's bytes are encoded, although none of them changes."""
    with passes_over(site, filter=1):
        answer = site.get("/labelled/page.html", ae="br")
    assert (answer.coding, answer.raw) == ("x-own", BODY)


def test_the_body_that_is_inspected_is_the_files(site):
    """The rule sees the file's content, not its encoding. Server-side includes are always read."""
    site.expect_log("ModSecurity")
    assert site.get("/inspected/secret.html", ae="gzip").status == 403
    check_made(site.get("/page.shtml", ae="gzip"), "gzip")


def test_the_response_says_for_which_filter(site):
    said = site.get("/explained/page.html", ae="br").headers["Elastic-Explain"]
    assert said.startswith("reason=precompressed;") and "filter=" not in said
    said = site.get("/explained-substitute/page.html", ae="br").headers["Elastic-Explain"]
    assert said.startswith("reason=compressed;")
    assert 'filter="substitute modsecurity_out";' in said.lower(), said


@pytest.mark.parametrize("folder", ["watched", "inspected", "alone"])
def test_conditions_hold_beside_filters_that_look_on(site, folder):
    path = f"/{folder}/page.html"
    tags = {ae: site.get(path, ae=ae).headers["ETag"] for ae in (*PRECOMPRESSED, None)}
    tag, plain = tags["br"], tags[None]
    for coding, end in (("br", '.br"'), ("gzip", '.gz"')):
        assert tags[coding].endswith(end)
        for named in (tags[coding], f'"other", {tags[coding]}', f"W/{tags[coding]}"):
            check.not_modified(site.get(path, coding, {"If-None-Match": named}), tags[coding])
        check_sent(site.get(path, coding, {"If-None-Match": '"other"'}), coding,
                   PRECOMPRESSED[coding])
    with passes_over(site):
        check.not_modified(site.get(path, "br", {"If-None-Match": plain}), plain)
    # A date is answered with the tag that the client has.
    check.not_modified(site.get(path, "br", {"If-Modified-Since": DATE}), tag)
    for fields in ({"If-Modified-Since": "Mon, 01 Jan 2001 00:00:00 GMT"}, {"If-Match": tag},
                   {"If-Match": "*"}, {"If-Match": f'"other", {tag}'}):
        check_sent(site.get(path, "br", fields), "br", BR)
    for named in ('"other"', f"W/{tag}"):
        assert site.get(path, "br", {"If-Match": named}).status == 412
    for fields, coding, body in (({"If-Range": tag}, "br", BR), ({}, None, BODY),
                                 ({"If-Range": plain}, None, BODY)):
        part = site.get(path, "br", {"Range": "bytes=10-19", **fields})
        assert (part.status, part.coding, part.raw) == (206, coding, body[10:20])
        assert part.headers["ETag"] == tags[coding]
    # Both files have this date: slices of both would be joined.
    answer = site.get(path, "br", {"Range": "bytes=10-19", "If-Range": DATE})
    assert answer.status == 200 and answer.body == BODY


def test_a_file_that_does_not_fit_is_no_obstacle(site):
    """There is no precompressed file, or none that the client accepts."""
    check_made(site.get("/none.html", ae="gzip"), "gzip")
    check.plain(site.get("/watched/page.html"), BODY)
    assert site.get("/alone/page.html").varies


@pytest.mark.parametrize("way", ["AddOutputFilterByType DEFLATE text/html",
                                 "SetOutputFilter DEFLATE", "SetOutputFilter INFLATE;DEFLATE"])
def test_beside_the_drop_in_filters(httpd, way):
    """As in Debian's deflate.conf. INFLATE is for later filters that read the body."""
    server = httpd("SecRuleEngine On\nSecDataDir {root}/run\nSecTmpDir {root}/run\n"
                   f"ElasticPrecompressed On\n{way}\n", records=("elastic", "deflate"),
                   modules=["unique_id", "security2", "filter"])
    path, inflated = add_set(server, "page.html", "gz"), "INFLATE;" in way
    with passes_over(server, **{"filter": 1} if inflated else {}):
        answer = server.get(path, ae="gzip")
    if inflated:
        check_made(answer, "gzip")
    else:
        check_sent(answer, "gzip", GZ)
