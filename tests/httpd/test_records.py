"""The three module records of mod_elastic.so and the stock modules, in every combination and every
order of LoadModule."""

import itertools

import pytest

from kit import CGID_RELOADED, at, bodies, env

BODY = bodies.html(30000)

# The source of a record: this module or the stock module.
OURS, STOCK = "ours", "stock"
FILES = {"elastic": "mod_elastic.c", "deflate": "mod_deflate.c", "brotli": "mod_brotli.c"}
FILTERS = {"deflate": "DEFLATE", "brotli": "BROTLI_COMPRESS"}


def combinations():
    """Each choice of (record, source) in which at least one is ours."""
    for elastic, deflate, brotli in itertools.product((None, OURS), (None, OURS, STOCK),
                                                      (None, OURS, STOCK)):
        chosen = (("elastic", elastic), ("deflate", deflate), ("brotli", brotli))
        if OURS in (elastic, deflate, brotli):
            yield [(record, whose) for record, whose in chosen if whose]


def orders():
    for chosen in combinations():
        yield from itertools.permutations(chosen)


def load(record, whose):
    path = env.MODULE if whose == OURS else env.module_path(record)
    return f"LoadModule {record}_module {path}\n"


def site(order):
    """A place for each filter in `order`, with settings that show if their owner reads them:
    DEFLATE leaves the tag, BROTLI_COMPRESS removes it."""
    config = "".join(load(*entry) for entry in order)
    for record, file in FILES.items():
        for test in (file, f"{record}_module"):
            config += f"<IfModule {test}>\nHeader set X-{test} here\n</IfModule>\n"
    records = dict(order)
    filters = [FILTERS[record] for record in ("brotli", "deflate") if record in records]
    if "deflate" in records:
        config += "DeflateAlterETag NoChange\n" + at("deflate", "SetOutputFilter DEFLATE")
    if "brotli" in records:
        config += "BrotliAlterETag Remove\n" + at("brotli", "SetOutputFilter BROTLI_COMPRESS")
    if filters:
        config += at("chain", "SetOutputFilter " + ";".join(filters))
        config += at("types", *(f"AddOutputFilterByType {name} text/html" for name in filters))
    if "elastic" in records:
        # The server's order decides between codings; with the controller on, costs would.
        config += "ElasticControl off\n" + at("elastic", "Elastic On") + at("off", "Elastic Off")
        if filters:
            config += at("beside", "Elastic On", "SetOutputFilter " + ";".join(filters))
    return config


def server_with(httpd, order, allow_log=(), **kw):
    if not env.MODULE:
        pytest.skip("ELASTIC_MODULE does not name a mod_elastic.so")
    return httpd(site(order), elastic=False, modules=["filter"], files={"a.html": BODY},
                 allow_log=[CGID_RELOADED, *allow_log], **kw)


def ask(server, place, ae, coding):
    answer = server.get(f"{place}/a.html", ae=ae)
    assert (answer.status, answer.coding) == (200, coding), (place, ae, answer)
    assert answer.body == BODY, (place, ae)
    return answer


def check_site(server, order):
    records = dict(order)
    tag = ask(server, "", "gzip, br", None).headers["ETag"]
    if "deflate" in records:
        assert ask(server, "/deflate", "gzip", "gzip").headers["ETag"] == tag
        ask(server, "/deflate", "br", None)
    if "brotli" in records:
        assert "ETag" not in ask(server, "/brotli", "br", "br").headers
        ask(server, "/brotli", "gzip", None)
    for place in ("/chain", "/types"):
        if "deflate" in records:
            ask(server, place, "gzip", "gzip")
        for ae in ("br", "gzip, br") if "brotli" in records else ():
            ask(server, place, ae, "br")
    if "elastic" in records:
        for place in ("/elastic", "/beside") if len(order) > 1 else ("/elastic",):
            for ae, coding in (("gzip", "gzip"), ("br", "br"), ("gzip, br", "br")):
                answer = ask(server, place, ae, coding)
                assert answer.headers["ETag"] == f'W/{tag[:-1]}-{coding}"'
        ask(server, "/off", "gzip, br", None)


def check_if_module(server, order):
    headers = server.get("/a.html").headers
    for record, file in FILES.items():
        for test in (file, f"{record}_module"):
            assert (f"X-{test}" in headers) == (record in dict(order)), (test, headers)


def check_owners(server, order, since=0):
    """The log's lines after the first `since` name each filter's owner, if it has one."""
    records = dict(order)
    for record, name in FILTERS.items():
        found = [line.rpartition(" is registered by ")[2] for line in server.log.lines()[since:]
                 if f"elastic: the filter {name} is registered by " in line]
        owner = "this module" if records.get(record) == OURS else FILES[record]
        assert set(found) == ({owner} if record in records else set()), found


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("stays", [False, True], ids=["unloaded", "stays loaded"])
def test_from_each_combination_to_the_next(httpd, stays):
    """In every order. After a reload nothing of the previous combination is left, even if the
    shared object stays loaded and httpd would load it again."""
    server = server_with(httpd, [("elastic", OURS)],
                         environ={"LD_PRELOAD": f"{env.PRELOAD} {env.MODULE}"} if stays else None)
    for number, order in enumerate(orders()):
        since = len(server.log.lines())
        server.configure(site(order))
        ok, said = server.configtest()
        assert ok and "AH01574" not in said, said
        (server.graceful, server.restart)[number % 2]()
        check_owners(server, order, since)
        check_if_module(server, order)
        check_site(server, order)
        server.graceful()
        check_site(server, order)
    if not stays:
        server.configure(site([("deflate", STOCK), ("brotli", STOCK)]))
        server.graceful()
        check_site(server, [("deflate", STOCK), ("brotli", STOCK)])


@pytest.mark.smoke
@pytest.mark.parametrize("order,first,second", [
    *([[(each, OURS) for each in FILES], (record, OURS), (record, OURS)] for record in FILES),
    *([[(record, first), *others], (record, first), (record, second)]
      for record in FILTERS for first, second in ((OURS, STOCK), (STOCK, OURS))
      for others in ([], [("elastic", OURS)]))], ids=str)
def test_a_record_of_both(httpd, order, first, second):
    """If a record is loaded twice, the first one named is in force; httpd warns, as for any
    module."""
    server = server_with(httpd, order, start=False, allow_log=["AH01574"])
    server.configure(site(order).replace(load(*first), load(*first) + load(*second)))
    ok, said = server.configtest()
    assert ok and said.count("AH01574") == 1 and f"{first[0]}_module" in said, said
    server.start()
    if (first[0], OURS) in order or ("elastic", OURS) in order:
        check_owners(server, order)
    for _ in range(2):
        check_site(server, order)
        server.graceful()


def test_stock_settings_are_inherited_beside_an_unused_record(httpd):
    """Stock modules keep reading their own settings, also in virtual hosts."""
    order = [("elastic", OURS), ("deflate", STOCK), ("brotli", STOCK)]
    server = server_with(httpd, order, start=False)
    server.configure(site(order) + "<VirtualHost 127.0.0.1:{port}>\nServerName other\n"
                     "DeflateAlterETag Remove\nBrotliAlterETag AddSuffix\n</VirtualHost>\n")
    server.start()
    tag = ask(server, "", None, None).headers["ETag"]
    assert "ETag" not in ask(server, "/deflate", "gzip", "gzip").headers
    assert ask(server, "/brotli", "br", "br").headers["ETag"] == f'{tag[:-1]}-br"'
