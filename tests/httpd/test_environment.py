"""The environment's variables, filters named in the configuration, and stock modules beside this
one."""

import pytest

from kit import at, bodies, check, env

BODY = bodies.html(30000)


FILES = {"a.html": BODY, "a.css": BODY, "a.png": BODY, "tiny.html": b"x"}


@pytest.fixture(scope="module")
def server(httpd_shared):
    return httpd_shared(
        "Elastic On\n"
        + "".join(at(name, f"SetEnv {name} 1") for name in
                  ("no-gzip", "no-brotli", "no-elastic", "gzip-only-text/html", "force-gzip"))
        + at("no-both", "SetEnv no-gzip 1", "SetEnv no-brotli 1")
        + at("no-gzip-empty", "SetEnv no-gzip 0")
        + at("only-html-0", "SetEnv gzip-only-text/html 0")
        + at("by-agent", "SetEnvIf User-Agent Old no-gzip no-brotli")
        + at("by-browser", "BrowserMatch Old no-elastic")
        + at("forced-br", "SetEnv force-gzip 1", "ElasticCodings br"),
        files=FILES)


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
]


@pytest.mark.smoke
@pytest.mark.parametrize("path,ae,coding,reason,varies", ENVIRONMENT)
def test_variables(server, path, ae, coding, reason, varies):
    answer = server.get(path, ae=ae)
    body = FILES[path.rpartition("/")[2]]
    if coding:
        check.encoded(answer, coding, body)
    else:
        check.plain(answer, body, varies=varies)
        assert server.reason(answer) == reason


@pytest.mark.parametrize("path", ["/by-agent/a.html", "/by-browser/a.html"])
def test_variables_set_by_the_request(server, path):
    answer = server.get(path, ae="gzip, br", headers={"User-Agent": "Old/1"})
    assert (answer.status, answer.coding, answer.body) == (200, None, BODY)
    assert server.reason(answer) == "env"
    check.encoded(server.get(path, ae="gzip", headers={"User-Agent": "New/1"}), "gzip", BODY)


# --- the filter by its name

NAMED = {
    "SetOutputFilter": "SetOutputFilter ELASTIC",
    "AddOutputFilter": "AddOutputFilter ELASTIC html",
    "AddOutputFilterByType": "AddOutputFilterByType ELASTIC text/html",
    "with On": "Elastic On\nSetOutputFilter ELASTIC",
    "by type with On": "Elastic On\nAddOutputFilterByType ELASTIC text/html",
    "twice": "SetOutputFilter ELASTIC;ELASTIC",
    "FilterChain": "FilterDeclare Z CONTENT_SET\n"
                   "FilterProvider Z ELASTIC \"%{CONTENT_TYPE} =~ m#^text/#\"\nFilterChain Z",
}


@pytest.mark.smoke
@pytest.mark.parametrize("name", NAMED)
def test_named_filters(httpd, name):
    server = httpd(NAMED[name], modules=["filter"], files=FILES)
    for coding in ("gzip", "br"):
        answer = server.get("/a.html", ae=coding)
        check.encoded(answer, coding, BODY)
        assert server.notes(answer)["elastic-coding"] == coding
        assert answer.headers["ETag"].endswith(f'-{coding}"')
        assert answer.headers["ETag"].count(f"-{coding}") == 1
    check.plain(server.get("/a.html"), BODY)
    assert server.status()["ElasticCompressed"] == "2"


def test_by_type_leaves_other_types(httpd):
    server = httpd("AddOutputFilterByType ELASTIC text/css", modules=["filter"], files=FILES)
    check.plain(server.get("/a.html", ae="gzip"), BODY, varies=False)
    check.encoded(server.get("/a.css", ae="gzip"), "gzip", BODY)


def test_by_type_adds_types(httpd):
    """A type that is named with the filter needs no place in ElasticTypes."""
    server = httpd("AddType application/pdf .pdf\nAddOutputFilterByType ELASTIC application/pdf",
                   modules=["filter"],
                   files={"a.pdf": BODY})
    check.encoded(server.get("/a.pdf", ae="gzip"), "gzip", BODY)


def test_off_wins_over_a_named_filter(httpd):
    server = httpd("SetOutputFilter ELASTIC\nElastic Off", files=FILES)
    check.plain(server.get("/a.html", ae="gzip"), BODY, varies=False)


def test_a_named_filter_does_not_see_headers_set_by_mod_headers(httpd):
    """They run before mod_headers: documented, and the reason to prefer `Elastic On`."""
    server = httpd("SetOutputFilter ELASTIC\nHeader set Cache-Control no-transform", files=FILES)
    check.encoded(server.get("/a.html", ae="gzip"), "gzip", BODY)


# --- beside the stock modules

STOCK = {
    "elastic with deflate's filter": ("Elastic On\nSetOutputFilter DEFLATE", ["deflate"]),
    "elastic with brotli's filter": ("Elastic On\nSetOutputFilter BROTLI_COMPRESS", ["brotli"]),
    "elastic with both": ("Elastic On\nSetOutputFilter BROTLI_COMPRESS;DEFLATE",
                          ["deflate", "brotli"]),
    "by type": ("Elastic On\nAddOutputFilterByType DEFLATE text/html", ["filter", "deflate"]),
    "both by type": ("Elastic On\nAddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/html",
                     ["filter", "deflate", "brotli"]),
    "all named": ("SetOutputFilter ELASTIC;BROTLI_COMPRESS;DEFLATE", ["deflate", "brotli"]),
    "all named, stock first": ("SetOutputFilter BROTLI_COMPRESS;DEFLATE;ELASTIC",
                               ["deflate", "brotli"]),
}


@pytest.mark.smoke
@pytest.mark.parametrize("name", STOCK)
@pytest.mark.parametrize("ae", ["gzip", "br", "gzip, br"])
def test_beside_stock_modules_a_response_is_compressed_once(httpd_stock, name, ae):
    server = httpd_stock(name)
    answer = server.get("/a.html", ae=ae)
    assert answer.coding in [coding.strip() for coding in ae.split(",")]
    assert answer.body == BODY and answer.varies
    plain = server.get("/a.html")
    check.plain(plain, BODY)


@pytest.fixture(scope="module")
def httpd_stock(httpd_shared):
    """Servers by the name of their configuration, one for all tests."""
    servers = {}

    def get(name):
        if name not in servers:
            config, modules = STOCK[name]
            servers[name] = httpd_shared(config, modules=modules, files=FILES)
        return servers[name]

    return get


@pytest.mark.parametrize("line,reason", [("ElasticMinSize 1000000", "small"),
                                         ("SetEnv no-elastic 1", "env"),
                                         ("Header set Cache-Control no-transform", "no-transform")])
def test_what_elastic_leaves_alone_no_stock_module_compresses(httpd, line, reason):
    server = httpd(f"Elastic On\n{line}\nSetOutputFilter DEFLATE", modules=["deflate"], files=FILES)
    answer = server.get("/a.html", ae="gzip")
    assert (answer.coding, answer.body) == (None, BODY)
    assert server.reason(answer) == reason


def test_where_elastic_is_off_the_stock_modules_do_their_work(httpd):
    server = httpd("Elastic Off\nSetOutputFilter DEFLATE", modules=["deflate"], files=FILES)
    answer = server.get("/a.html", ae="gzip")
    assert answer.coding == "gzip" and answer.body == BODY
    assert "elastic-coding" not in server.notes(answer)


@pytest.mark.parametrize("order", [["deflate", "brotli"], ["brotli", "deflate"]])
def test_load_order_does_not_matter(httpd, order):
    """The stock modules are loaded after ours here, before ours elsewhere; graceful survives
    both."""
    before = httpd("Elastic On\nSetOutputFilter DEFLATE", modules=order, files=FILES)
    loads = "".join(f"LoadModule {name}_module {env.module_path(name)}\n" for name in order)
    after = httpd(loads + "Elastic On\nSetOutputFilter DEFLATE", files=FILES)
    for server in (before, after):
        check.encoded(server.get("/a.html", ae="gzip"), "gzip", BODY)
        server.graceful()
        check.encoded(server.get("/a.html", ae="br"), "br", BODY)
