"""The module's hooks beside those of other modules: httpd calls all of them once, in the same order
as without this module, in the main process, in children and after reloads."""

import re

import pytest

from kit import CGID_RELOADED, bodies, check

PAGE = bodies.html(30000)
CGI = "head('Content-Type: text/html')\nout(bodies.html(30000))\n"

INFO = "<Location /info>\nSetHandler server-info\n</Location>\n"
# As in the shipped configuration: a hook that only serves the cache must be like the others.
ON = INFO + """\
Elastic On
ElasticCache On
ElasticIdle 10 top
ElasticPrecompressed On
"""

SECURITY = "SecRuleEngine On\nSecDataDir {root}/run\nSecTmpDir {root}/run\n"

# {set of modules: (modules, directives)}; mod_cgid comes with event and worker.
SETS = {
    "security2": ("unique_id security2", SECURITY),
    "security2, inspected": ("unique_id security2", SECURITY + "SecResponseBodyAccess On\n"
                             "SecResponseBodyMimeType text/html\n"),
    "http2": ("http2", "Protocols h2c http/1.1\n"),
    "proxy": ("slotmem_shm proxy proxy_http proxy_fcgi proxy_balancer lbmethod_byrequests "
              "proxy_hcheck http2", ""),
    "cache": ("cache cache_disk cache_socache",
              "CacheRoot {root}/run\nCacheEnable disk /nothing\n"),
    "rewrite": ("rewrite negotiation autoindex status actions speling vhost_alias",
                "RewriteEngine On\n"),
    "sessions": ("request auth_basic auth_form authn_core authn_file authz_user session "
                 "session_cookie usertrack", ""),
    "filters": ("filter substitute include sed ext_filter deflate brotli expires ratelimit "
                "reqtimeout lua", ""),
    "tls": ("ssl socache_dbm md", ""),
}


def hooks(server):
    """{hook: [module, ...]} in the order in which httpd calls them, without this module."""
    found, hook = {}, None
    page = server.get("/info?hooks").body.decode()
    for title, module in re.findall(r'<strong>([^<]+):</strong>|<a href="\?([^"]+)">', page):
        hook = title or hook
        if module and module != "mod_elastic.c":
            found.setdefault(hook, []).append(module)
    assert len(found) > 10, page
    return found


@pytest.mark.parametrize("name", SETS)
def test_all_modules_are_called_in_their_order(httpd, name):
    modules, lines = SETS[name]
    files = {"a.html": PAGE}
    modules = ["info", "socache_shmcb", *modules.split()]
    stock = httpd(INFO + lines, modules=modules, files=files, elastic=False)
    ours = httpd(ON + lines, modules=modules, files=files, cgi={"a.cgi": CGI})
    ours.expect_log(CGID_RELOADED)
    expected = hooks(stock)
    for _ in range(3):
        for path in ("/a.html", "/a.cgi") * 8:
            check.encoded(ours.get(path, "gzip"), "gzip", PAGE)
            check.whole(ours.get(path), None, PAGE)
        assert hooks(ours) == expected
        ours.graceful()
    assert not ours.log.lines("exit signal|AH00051|AH00052")
