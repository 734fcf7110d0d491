"""Modules that take Accept-Encoding away from a request: the coding that the client gets, and the
field that a backend gets. The stock modules read the field when their filter runs, and each case
must be answered as they do."""

import pytest

from kit import bodies, check
from kit.origin import conditional
from kit.proxied import EACH, EACH_WAY, WAYS, start

BODY = bodies.text(30000)
TAG = '"7530-55443b7e3c000"'
PART = b"<p>a page above the listing</p>\n" * 100

# {place: (its lines, the client gets a coding, the backend is asked for one)}
PLACES = {
    # mod_security2 restores the field before the first filter runs.
    "hidden": ("SecRuleEngine On\nSecDisableBackendCompression On", True, False),
    "unset": ("RequestHeader unset Accept-Encoding", False, False),
    # mod_proxy does not pass on fields that Connection names.
    "recipe": ("RequestHeader merge Connection Accept-Encoding", True, False),
    "set": ("RequestHeader set Accept-Encoding identity", False, True),
    "env": ("RewriteEngine On\nRewriteRule ^ - [E=no-gzip:1,E=no-brotli:1]", False, True),
}
# A handler that removes the field, and one that restores it.
LUA = "function taken(r)\n r.headers_in['Accept-Encoding'] = nil\n" \
      " r.content_type = 'text/plain'\n r:puts(('taken away '):rep(1000))\n return apache2.OK\nend\n"
# The early phase of mod_headers cannot be limited to a place, so it needs hosts.
HOSTS = """\
<VirtualHost 127.0.0.1:{port}>
    ServerName localhost
</VirtualHost>
<VirtualHost 127.0.0.1:{port}>
    ServerName early
    RequestHeader unset Accept-Encoding early
</VirtualHost>
"""


def config(url, ways):
    text = "LuaMapHandler ^/[^/]+/taken$ {docs}/x.lua taken\n" + HOSTS
    for name, lines in ways:
        for place, (more, _, _) in {"plain": ("", True, True), **PLACES}.items():
            text += (f"<Location /{place}-{name}/>\n{lines}\n{more}\nProxyPass {url}/\n"
                     "</Location>\n")
        text += f"<Location /local-{name}/>\n{lines}\n</Location>\n" \
                f"<Directory {{docs}}/local-{name}>\nOptions +Indexes\n" \
                "IndexOptions FancyIndexing\nHeaderName part.html\n</Directory>\n"
    return text


def files(*names):
    return {"x.lua": LUA, **{f"local-{name}/part.html": PART for name in names},
            **{f"local-{name}/a.txt": BODY for name in names}}


MODULES = ["rewrite", "lua", "autoindex", "unique_id", "security2"]
LOG = ("ModSecurity", "StatusEngine")


@pytest.fixture(scope="module")
def backend(origin):
    origin.route("/x", lambda e: e.chunked(200, {}, bodies.pieces(BODY)))
    origin.route("/whole", lambda e: e.respond(200, {}, BODY))
    origin.route("/tag", lambda e: e.respond(200, {"ETag": TAG}, BODY))
    origin.route("/asked", conditional(BODY, TAG))
    return origin


@pytest.fixture(scope="module")
def server(httpd_shared, backend):
    return start(httpd_shared, config(backend.url, [(way.name, way.lines) for way in WAYS]),
                 modules=MODULES, allow_log=LOG, files=files(*(way.name for way in WAYS)))


@pytest.fixture(scope="module")
def stock(httpd_shared, backend):
    lines = "AddOutputFilterByType DEFLATE text/plain text/html"
    return httpd_shared(config(backend.url, [("stock", lines)]), elastic=False, allow_log=LOG,
                        modules=["filter", "proxy", "proxy_http", *MODULES, "deflate"],
                        files=files("stock"))


def is_asked(origin):
    return "accept-encoding" in origin.seen[-1].headers


@pytest.mark.parametrize("resource", ["x", "whole"])
@pytest.mark.parametrize("place", PLACES)
@EACH
def test_a_place_that_takes_the_field_away(server, stock, origin, way, coding, place, resource):
    _, encodes, asks = PLACES[place]
    # The stock module confirms the table.
    for asked, name, ae in ((stock, "stock", "gzip"), (server, way.name, coding)):
        answer = asked.get(f"/{place}-{name}/{resource}", ae)
        check.whole(answer, ae if encodes else None, BODY)
        assert is_asked(origin) == asks
    assert answer.varies or place == "env"  # like the stock modules, which give up before Vary
    check.plain(server.get(f"/{place}-{way.name}/{resource}"), BODY, varies=answer.varies)


def test_before_all_others(server, stock, origin):
    """After mod_headers' early phase no module sees the field."""
    for asked, names in ((server, [way.name for way in WAYS]), (stock, ["stock"])):
        for name in names:
            answer = asked.get(f"/plain-{name}/x", "gzip", {"Host": "early"})
            check.plain(answer, BODY)
            assert not is_asked(origin)
            check.encoded(asked.get(f"/plain-{name}/x", "gzip"), "gzip", BODY)


@EACH
def test_a_handler_that_takes_it_away_for_good(server, stock, way, coding):
    for answer in (server.get(f"/local-{way.name}/taken", coding),
                   stock.get("/local-stock/taken", "gzip")):
        check.plain(answer, b"taken away " * 1000)


@EACH
def test_a_listing_below_a_page_of_its_own(server, way, coding):
    """mod_autoindex hides the field while it sends that page, and restores it afterwards."""
    path = f"/local-{way.name}/"
    plain = server.get(path)
    assert PART in plain.body and b"a.txt" in plain.body
    check.encoded(server.get(path, coding), coding, plain.body)


@EACH
def test_a_tag_that_was_sent_gives_304_where_the_field_is_hidden(server, origin, way, coding):
    """Nobody knows what the client accepts before the filter runs; only then are tags compared."""
    for resource in ("tag", "asked"):
        path = f"/hidden-{way.name}/{resource}"
        sent = server.get(path, coding).headers["ETag"]
        assert coding in sent
        check.not_modified(server.get(path, coding, {"If-None-Match": sent}), sent)
        check.plain(server.get(path, None, {"If-None-Match": sent}), BODY)


@EACH_WAY
def test_the_field_is_each_requests_own(server, way):
    """Requests on one connection, with and without mod_security2's hiding."""
    with server.connect() as connection:
        for place in ("plain", "hidden", "unset", "hidden", "plain"):
            for coding in (*way.codings, None):
                answer = connection.request(f"/{place}-{way.name}/x", ae=coding)
                check.whole(answer, None if place == "unset" else coding, BODY)
