"""Environment variables, filters named in the configuration, and stock modules beside this one."""

import gzip
import re
from pathlib import Path

import pytest

from kit import at, bodies, check, inflate
from kit.counters import counted

pytestmark = pytest.mark.rules

BODY = bodies.html(30000)
PART = bodies.text(9000)
FILES = {"a.html": BODY, "a.css": BODY, "a.png": BODY, "a.pdf": BODY, "tiny.html": b"x",
         "part.txt": PART, "page.shtml": b'<html><!--#include virtual="/part.txt" --></html>'}

# Each brings the filter into the chain of pages, once or more.
NAMED = {
    "set": "SetOutputFilter ELASTIC",
    "add": "AddOutputFilter ELASTIC html",
    "by-type": "AddOutputFilterByType ELASTIC text/html",
    "set-and-on": "Elastic On\nSetOutputFilter ELASTIC",
    "by-type-and-on": "Elastic On\nAddOutputFilterByType ELASTIC text/html",
    "twice": "SetOutputFilter ELASTIC;ELASTIC",
    "twice-and-on": "Elastic On\nSetOutputFilter ELASTIC;ELASTIC",
    "chain": "FilterDeclare Z CONTENT_SET\n"
             "FilterProvider Z ELASTIC \"%{CONTENT_TYPE} =~ m#^text/#\"\nFilterChain Z",
}

# {place: (configuration with stock filters, whether ours encodes)}
STOCK = {
    "on-deflate": ("Elastic On\nSetOutputFilter DEFLATE", True),
    "on-brotli": ("Elastic On\nSetOutputFilter BROTLI_COMPRESS", True),
    "on-both": ("Elastic On\nSetOutputFilter BROTLI_COMPRESS;DEFLATE", True),
    "on-by-type": ("Elastic On\nAddOutputFilterByType DEFLATE text/html", True),
    "on-both-by-type": ("Elastic On\nAddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/html",
                        True),
    "all-named": ("SetOutputFilter ELASTIC;BROTLI_COMPRESS;DEFLATE", True),
    "all-named-stock-first": ("SetOutputFilter BROTLI_COMPRESS;DEFLATE;ELASTIC", False),
    "off": ("Elastic Off\nSetOutputFilter BROTLI_COMPRESS;DEFLATE", False),
}

# {place: (its lines, why ours leaves the page alone, which also stops the stock filter)}
LEFT_ALONE = {
    "left-small": ("Elastic On\nElasticMinSize 1000000\nSetOutputFilter DEFLATE", "small"),
    "left-env": ("Elastic On\nSetEnv no-elastic 1\nSetOutputFilter DEFLATE", "env"),
    "left-fixed": ("Elastic On\nHeader set Cache-Control no-transform\nSetOutputFilter DEFLATE",
                   "no-transform"),
    "left-named": ("SetOutputFilter ELASTIC;DEFLATE;BROTLI_COMPRESS\nElasticMinSize 1000000",
                   "small"),
}

PLACES = {
    **{name: f"Elastic On\nSetEnv {name} 1" for name in
       ("no-gzip", "no-brotli", "no-elastic", "gzip-only-text/html", "force-gzip")},
    "no-both": "Elastic On\nSetEnv no-gzip 1\nSetEnv no-brotli 1",
    "no-gzip-empty": "Elastic On\nSetEnv no-gzip 0",
    "only-html-0": "Elastic On\nSetEnv gzip-only-text/html 0",
    "forced-br": "Elastic On\nSetEnv force-gzip 1\nElasticCodings br",
    "css-by-type": "AddOutputFilterByType ELASTIC text/css",
    # A type that is named with the filter need not be in ElasticTypes.
    "pdf-by-type": "AddOutputFilterByType ELASTIC application/pdf",
    "named-off": "SetOutputFilter ELASTIC\nElastic Off",
    # Named filters run before mod_headers. This is documented, and a reason to prefer `Elastic On`.
    "named-fixed": "SetOutputFilter ELASTIC\nHeader set Cache-Control no-transform",
    "ssi": "Options +Includes\nSetOutputFilter ELASTIC\nAddOutputFilter INCLUDES;ELASTIC shtml",
}


@pytest.fixture(scope="module")
def server(httpd_shared):
    places = {**PLACES, **NAMED,
              **{name: lines for name, (lines, _) in (STOCK | LEFT_ALONE).items()}}
    return httpd_shared(
        "AddType application/pdf .pdf\nAddType text/html .shtml\n"
        + "<Location /part.txt>\nSetOutputFilter ELASTIC\n</Location>\n"
        + "".join(at(name, lines) for name, lines in places.items()),
        modules=["filter", "include", "deflate", "brotli"], files=FILES)


# (path, Accept-Encoding, coding, reason, varies)
ENVIRONMENT = [
    ("/no-gzip/a.html", "gzip", None, "env", True),
    ("/no-gzip/a.html", "gzip, br", "br", None, True),
    ("/no-gzip-empty/a.html", "gzip", None, "env", True),
    ("/no-gzip/a.html", "deflate", None, "not-acceptable", True),
    ("/no-brotli/a.html", "br", None, "env", True),
    ("/no-brotli/a.html", "gzip, br", "gzip", None, True),
    ("/no-both/a.html", "gzip, br", None, "env", True),
    ("/no-elastic/a.html", "gzip, br", None, "env", False),
    ("/gzip-only-text/html/a.html", "gzip", "gzip", None, True),
    ("/gzip-only-text/html/a.css", "gzip", None, "env", True),
    ("/gzip-only-text/html/a.css", "gzip, br", "br", None, True),
    ("/only-html-0/a.css", "gzip", "gzip", None, True),
    ("/force-gzip/a.html", None, "gzip", None, True),
    ("/force-gzip/a.html", "identity", "gzip", None, True),
    ("/force-gzip/a.html", "br", "br", None, True),
    ("/force-gzip/a.png", None, None, "type", False),
    ("/force-gzip/tiny.html", None, None, "small", True),
    ("/forced-br/a.html", None, None, "not-acceptable", True),
    # A named filter.
    ("/css-by-type/a.css", "gzip", "gzip", None, True),
    ("/css-by-type/a.html", "gzip", None, None, False),
    ("/pdf-by-type/a.pdf", "gzip", "gzip", None, True),
    ("/named-off/a.html", "gzip", None, "off", False),
    ("/named-fixed/a.html", "gzip", "gzip", None, True),
    # No stock module compresses what ours leaves alone.
    *((f"/{name}/a.html", ae, None, reason, reason == "small")
      for name, (_, reason) in LEFT_ALONE.items() for ae in ("gzip", "br")),
]


@pytest.mark.smoke
@pytest.mark.parametrize("path,ae,coding,reason,varies", ENVIRONMENT)
def test_what_is_compressed(server, path, ae, coding, reason, varies):
    answer = server.get(path, ae=ae)
    body = FILES[path.rpartition("/")[2]]
    if coding:
        check.encoded(answer, coding, body)
    else:
        check.plain(answer, body, varies=varies)
        assert server.reason(answer) == reason


# How sites pass all URLs to one script.
FRONT = {
    "rewrite": "RewriteEngine On\nRewriteRule ^(account|open)$ index.html",
    "fallback": "FallbackResource /fallback/index.html",
    "twice": "RewriteEngine On\nRewriteRule ^(account|open)$ /twice/again [DPI]\n"
             "RewriteRule ^again$ index.html",
}


@pytest.mark.smoke
def test_no_elastic_holds_behind_a_front_controller(httpd):
    """httpd renames variables at an internal redirect; pages with secrets stay excepted."""
    server = httpd("Elastic On\n<LocationMatch \"/account$\">\nSetEnv no-elastic 1\n"
                   "</LocationMatch>\n<Directory {docs}>\nAllowOverride All\n</Directory>\n",
                   modules=["rewrite"],
                   files={f"{name}/{file}": body for name, lines in FRONT.items()
                          for file, body in (("index.html", BODY), (".htaccess", lines))})
    for name in FRONT:
        answer = server.get(f"/{name}/account", ae="gzip, br, zstd")
        check.plain(answer, BODY, varies=False)
        assert server.reason(answer) == "env", name
        assert server.get(f"/{name}/open", ae="gzip").coding == "gzip", name


# Lines that the manual gives for applications behind a front controller: (path, request's fields).
EXCEPTIONS = {
    "SetEnvIf Cookie wordpress_logged_in_ no-elastic":
        ("open", {"Cookie": "a=b; wordpress_logged_in_0a=c"}),
    '<If "%{THE_REQUEST} =~ m#^\\S+ /[^ ?]*/account[ ?]#">\nElastic Off\n</If>': ("account", {}),
    '<If "%{THE_REQUEST} =~ m#[?&]s=#">\nSetEnv no-elastic 1\n</If>': ("open?x=1&s=word", {})}


@pytest.mark.parametrize("line", EXCEPTIONS)
def test_other_exceptions_hold_behind_a_front_controller(httpd, line):
    path, fields = EXCEPTIONS[line]
    server = httpd(f"Elastic On\n{line}\n<Directory {{docs}}>\nAllowOverride All\n</Directory>\n",
                   modules=["rewrite"],
                   files={f"{name}/{file}": body for name, lines in FRONT.items()
                          for file, body in (("index.html", BODY), (".htaccess", lines))})
    for name in FRONT:
        check.whole(server.get(f"/{name}/{path}", ae="gzip", headers=fields), None, BODY)
        assert server.get(f"/{name}/open", ae="gzip").coding == "gzip", name


# --- the filter by its name


@pytest.mark.smoke
@pytest.mark.parametrize("name", NAMED)
def test_a_filter_by_its_name(server, name):
    """It encodes and counts once, however often it is in the chain."""
    for coding in ("gzip", "br"):
        answer, grown = counted(server, lambda: server.get(f"/{name}/a.html", ae=coding))
        check.encoded(answer, coding, BODY)
        assert server.notes(answer)["elastic-coding"] == coding and grown == {"compressed": 1}
        assert re.fullmatch(rf'W/"[^-]+-[^-]+-{coding}"', answer.headers["ETag"])
    check.plain(server.get(f"/{name}/a.html"), BODY)


def test_a_named_filter_leaves_subrequests_alone(server):
    answer, grown = counted(server, lambda: server.get("/ssi/page.shtml", ae="gzip"))
    check.encoded(answer, "gzip", b"<html>" + PART + b"</html>")
    assert grown == {"compressed": 1}


# --- beside the stock modules


@pytest.mark.smoke
@pytest.mark.parametrize("name", STOCK)
@pytest.mark.parametrize("ae", ["gzip", "br", "gzip, br"])
def test_beside_stock_modules_a_response_is_compressed_once(server, name, ae):
    answer = server.get(f"/{name}/a.html", ae=ae)
    assert answer.coding in ae.split(", ")
    assert answer.body == BODY and answer.varies
    assert server.notes(answer).get("elastic-coding") == (answer.coding if STOCK[name][1] else None)
    check.plain(server.get(f"/{name}/a.html"), BODY)


# --- the filters that only the module itself adds

INTERNAL = sorted(set(re.findall(r'"(ELASTIC_[A-Z_]+)"', (
    Path(__file__).parents[2] / "src/httpd/config/glue.h").read_text())))
OUTPUT = ("SetOutputFilter %s", "AddOutputFilter %s html", "AddOutputFilterByType %s text/html",
          'FilterProvider Z %s "true"\nFilterChain +Z', "SetHandler %s")
LINES = {name: [line % name for line in (
    ("SetInputFilter %s", "SetHandler %s") if name == "ELASTIC_INFLATE" else OUTPUT)]
    for name in INTERNAL}


@pytest.fixture(scope="module")
def tenants(httpd_shared):
    """Each folder is a tenant's, whose .htaccess names such a filter; that of "none" is empty."""
    lines = {"none": "", **{f"{name}-{number}": line for name in INTERNAL
                            for number, line in enumerate(LINES[name])}}
    files = {f"{folder}/{file}": body for folder in lines for file, body in (
        ("a.html", BODY), ("made.html", BODY), ("tiny.html", b"x"), ("a.png", BODY),
        ("made.html.gz", gzip.compress(BODY)), (".htaccess", lines[folder]))}
    return httpd_shared(
        "Elastic On\nElasticLevel gzip 6\nElasticLevel br 4\nElasticPrecompressed On\n"
        "ElasticInflate On\n"
        "<Directory {docs}>\nAllowOverride All\n</Directory>\n"
        + at("explained", "ElasticExplain On", "SetOutputFilter ELASTIC_EXPLAIN"),
        modules=["filter"], cgi={"named/echo.cgi": inflate.ECHO},
        files={**files, "named/.htaccess": "ElasticInflate Off\nSetInputFilter ELASTIC_INFLATE"})


@pytest.mark.smoke
@pytest.mark.parametrize("name", INTERNAL)
def test_naming_an_internal_filter_changes_nothing(tenants, name):
    """Neither what the client gets nor the server's other requests: no child dies of it."""
    for number, line in enumerate(LINES[name]):
        for path in ("a.html", "made.html", "tiny.html", "a.png", "missing"):
            for ae in ("gzip", "br", None):
                answers = [tenants.get(f"/{folder}/{path}", ae=ae)
                           for folder in ("none", f"{name}-{number}")]
                # What mod_filter runs is unknown before: no precompressed file is sent.
                fields = {} if "FilterProvider" in line and path == "made.html" else None
                wanted, answer = ((one.status, one.body if one.status == 200 else None,
                                   {field: value for field, value in one.headers.fields
                                    if field not in ("Date", "ETag", "Last-Modified")}
                                   if fields is None else fields)
                                  for one in answers)
                assert answer == wanted, (line, path, ae)
    # A 304 has no body to drop.
    both = [tenants.get(f"/{folder}/a.html", ae="gzip", headers={"If-None-Match": "*"})
            for folder in ("none", f"{name}-0")]
    assert both[0].status == both[1].status == 304


def test_naming_the_filter_that_explains_takes_nothing_from_it(tenants):
    answer = tenants.get("/explained/none/tiny.html", ae="gzip")
    assert answer.headers["Elastic-Explain"].startswith("reason=small;")


def test_naming_the_internal_filter_of_requests_decodes_nothing(tenants):
    """A script gets the bytes and the header that were sent."""
    sent = inflate.encode(BODY, "gzip")
    read = inflate.read(inflate.post(tenants, "/named/echo.cgi", sent))
    assert (read["size"], read["length"], read["coding"]) == (len(sent), str(len(sent)), "gzip")
