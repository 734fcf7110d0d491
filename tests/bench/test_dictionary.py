"""scripts/dictionary: which pages it takes, which dictionary is best, what it writes."""

import gzip
import hashlib
import http.server
import pathlib
import subprocess
import sys
import threading

import pytest

from codeckit import dictionaries
from dictionarykit import (arguments, candidates, cli, configuration, files, judge, report, response,
                           sources, visit)

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "dictionary"


def words(seed, count):
    """Text that is like no other seed's."""
    return " ".join(hashlib.sha256(f"{seed} {n}".encode()).hexdigest()[:9] for n in range(count))


TEMPLATE = words("template", 300)


def page(seed):
    """A page of a site: a third is its own."""
    return (f"<!DOCTYPE html><title>{seed}</title><nav>{TEMPLATE}</nav><main>"
            f"{words(seed, 100)}</main>").encode()


def parsed(words_):
    args = cli.make_parser().parse_args(words_)
    arguments.check(args)
    return args


def run(*arguments_, **options):
    return subprocess.run([sys.executable, SCRIPT, *map(str, arguments_)],
                          capture_output=True, text=True, timeout=120, check=False, **options)


# --- which URLs


def test_urls_of_a_file_and_each_once():
    lines = sources.of_lines("# pages\nhttps://a/x\n\n  https://a/y#top \n")
    assert sources.unique([*lines, "https://a/y"]) == ["https://a/x", "https://a/y"]


@pytest.mark.parametrize("url", ["ftp://a/", "/path", "https://", "https://a:b/", "https://[a/"])
def test_a_url_that_is_none(url):
    with pytest.raises(sources.Unusable):
        sources.origin(url)


def test_an_origin_has_its_default_port():
    assert sources.origin("https://a/x") == sources.origin("https://A:443") == ("https", "a", 443)


def test_a_sitemap_and_an_index():
    bodies = {
        "i": b"<sitemapindex><sitemap><loc> a </loc></sitemap><sitemap><loc>b</loc></sitemap>",
        "a": b"<urlset><url><loc>https://h/?x=1&amp;y=2</loc></url><url><loc>https://h/2</loc>",
        "b": gzip.compress(b"<urlset><url><loc>https://h/2</loc></url></urlset>")}
    assert sources.collect_sitemap("i", bodies.get) == ["https://h/?x=1&y=2", "https://h/2"]
    for broken in (b"<urlset/>", b"\x1f\x8bnothing"):
        with pytest.raises(sources.Unusable):
            sources.collect_sitemap("x", {"x": broken}.get)


def test_pages_of_a_sitemap_are_spread():
    assert sources.spread(list(range(10)), 3) == [0, 3, 6]
    assert sources.spread([1, 2], 3) == [1, 2]


def line(path, client="10.0.0.1", user="-", method="GET", status=200, before=""):
    return (f'{before}{client} - {user} [23/Nov/2026:10:00:00 +0000] "{method} {path} HTTP/1.1" '
            f'{status} 1234 "-" "Browser"')


LOG = [
    *[line("/most", f"10.0.0.{n}") for n in range(3)],
    line("/some", "2001:db8::1", before="www.example.org:443 "),
    line("/some", "2001:db8::2", before="www.example.org:443 "),
    line("/one-client"), line("/one-client"),
    line("/query?token=1"), line("/query?token=1", "10.0.0.2"),
    line("/posted", method="POST"), line("/posted", "10.0.0.2", method="POST"),
    line("/gone", status=404), line("/gone", "10.0.0.2", status=404),
    line("/user", user="jo"), line("/user", "10.0.0.2", user="jo"),
    line("http://other/"), line("http://other/", "10.0.0.2"), "nonsense", "",
]


@pytest.mark.parametrize("clients, queries, paths", [
    (2, False, ["/most", "/some"]), (3, False, ["/most"]),
    (1, False, ["/most", "/some", "/one-client"]),
    (2, True, ["/most", "/some", "/query?token=1"])])
def test_the_most_wanted_pages_of_a_log(clients, queries, paths):
    assert sources.of_log(LOG, clients, queries) == paths


def test_a_log_may_be_compressed(tmp_path):
    name = tmp_path / "access.log.gz"
    name.write_bytes(gzip.compress("\n".join(LOG).encode()))
    assert sources.read_log(str(name), 2, False) == ["/most", "/some"]
    with pytest.raises(sources.Unusable, match="4 clients"):
        sources.read_log(str(name), 4, False)


# --- which pages

HTML = ("content-type", "text/html; charset=utf-8")
SESSION = ("set-cookie", "sid=1; path=/")
REFUSALS = [
    ("has the status 404", 404, [HTML]),
    ("sets the cookie sid", 200, [HTML, SESSION]),
    ("sets the cookie b", 200, [HTML, ("set-cookie", "a=1"), ("set-cookie", "b=2")]),
    ("is private", 200, [HTML, ("cache-control", "max-age=60"), ("cache-control", "Private")]),
    ("is private", 200, [HTML, ("cache-control", 'private="a, b", max-age=60')]),
    ("is no-store", 200, [HTML, ("cache-control", "no-cache, no-store")]),
    ("has the type image/png", 200, [("content-type", "image/png")]),
    ("has the type (none)", 200, []),
    ("is encoded, though not asked for", 200, [HTML, ("content-encoding", "gzip")]),
    (None, 200, [HTML, ("cache-control", "public, no-cache"), ("vary", "Cookie")]),
    (None, 200, [("content-type", "application/xhtml+xml")]),
]


@pytest.mark.parametrize("reason, status, fields", REFUSALS)
def test_each_refusal_has_its_reason(reason, status, fields):
    accepted = response.Accepted(cookies=frozenset("a"))
    answer = response.Response(status, tuple(fields), b"x")
    assert response.refusal(answer, accepted) == reason
    assert response.refusal(answer._replace(body=b""), accepted) == reason or "is empty"


def test_what_the_operator_accepts_is_not_refused():
    fields = (HTML, SESSION, ("cache-control", "no-store"))
    answer = response.Response(200, fields, b"x")
    accepted = response.Accepted(frozenset(["sid"]), True)
    assert response.refusal(answer, accepted) is None
    private = answer._replace(fields=(*fields, ("cache-control", "private")))
    assert response.refusal(private, accepted) == "is private"


# Paths of a site that are no pages: {path: (status, fields, body)}.
ODD = {
    "/cookie": (200, {"Content-Type": "text/html", "Set-Cookie": "sid=1"}, page("cookie")),
    "/error": (500, {"Content-Type": "text/html"}, b"error"),
    "/image": (200, {"Content-Type": "image/png"}, b"png"),
    "/empty": (200, {"Content-Type": "text/html"}, b""),
    "/large": (200, {"Content-Type": "text/html"}, bytes(visit.PAGE_MOST + 1)),
    "/again": (200, {"Content-Type": "text/html"}, page("/page/1")),
    "/moved": (301, {"Location": "/page/2#top"}, b""),
    "/login": (302, {"Location": "/page/3", "Set-Cookie": "sid=1"}, b""),
    "/away": (302, {"Location": "http://elsewhere.invalid/"}, b""),
    "/circle": (302, {"Location": "/circle"}, b""),
    "/broken": (200, {"Content-Type": "text/html", "Content-Length": "100000"}, b"short"),
}


class Site(http.server.BaseHTTPRequestHandler):
    """Answers /page/N with a page."""

    def do_GET(self):
        self.server.asked.append((self.path, dict(self.headers)))
        status, fields, body = ODD.get(self.path, (
            200, {"Content-Type": "text/html"}, page(self.path)))
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def site():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    server.url = f"http://127.0.0.1:{server.server_port}"
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


class Clock:
    """One that only goes on where somebody sleeps."""

    def __init__(self):
        self.now = 0.0
        self.slept = []

    def __call__(self):
        return self.now

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


def visitor_of(site, rate=1000, seconds=1000):
    clock = Clock()
    return visit.Visitor(sources.origin(site.url), rate, seconds, clock, clock.sleep), clock


def test_pages_are_visited_without_cookies_and_refusals_named(site):
    visitor, _ = visitor_of(site)
    paths = ["/page/1", *ODD, "/page/4?a=b c"]
    other = "http://localhost:1/"
    pages, refused = visit.visit(visitor, [site.url + path for path in paths] + [other],
                                 response.Accepted())
    assert [one.url.removeprefix(site.url) for one in pages] == ["/page/1", "/page/2",
                                                                 "/page/4?a=b c"]
    assert pages[0].body == page("/page/1")
    reasons = {url.removeprefix(site.url): reason for url, reason in refused.items()}
    assert reasons == {
        "/cookie": "sets the cookie sid", "/error": "has the status 500",
        "/image": "has the type image/png", "/empty": "is empty",
        "/large": f"has more than {visit.PAGE_MOST} bytes",
        "/again": f"is the same as {site.url}/page/1", "/login": "sets the cookie sid",
        "/away": "is of another origin", "/circle": "redirects again and again",
        "/broken": "breaks off",
        other: "is of another origin"}
    assert not any("Cookie" in fields or "Authorization" in fields for _, fields in site.asked)
    assert "/page/4?a=b%20c" in [path for path, _ in site.asked]


def test_no_faster_and_no_longer_than_allowed(site):
    visitor, clock = visitor_of(site, rate=4, seconds=1)
    urls = [f"{site.url}/page/{n}" for n in range(8)]
    pages, refused = visit.visit(visitor, urls, response.Accepted())
    assert clock.slept == [0.25] * 3 and len(pages) == 4
    assert set(refused.values()) == {"the time was over"} and len(refused) == 4


# --- which dictionary


def pages_of(count):
    return [visit.Page(f"https://a/{n}", page(n)) for n in range(count)]


def test_each_page_is_in_one_part_and_stays_there():
    parts = candidates.split(pages_of(12))
    assert [len(part) for part in parts] == [3, 3, 6]
    assert sorted(sum(parts, [])) == sorted(pages_of(12))
    assert candidates.split(pages_of(12)[::-1]) == parts


def decoded(frame, dictionary):
    zstandard = pytest.importorskip("zstandard")
    content = zstandard.ZstdCompressionDict(dictionary, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    return zstandard.ZstdDecompressor(dict_data=content).decompress(frame)


# What begins like a dictionary of zstd's own is raw content too.
@pytest.mark.parametrize("dictionary", [page(1), b"\x37\xa4\x30\xec" + page(1)],
                         ids=["page", "magic"])
@pytest.mark.parametrize("body", [page(2), page(1), b"x", bytes(300_000)],
                         ids=["similar", "same", "small", "large"])
def test_zstd_decodes_a_frame(dictionary, body):
    with dictionaries.Dcz(dictionary) as coding:
        frame = coding.frame(body)
        assert coding.size(body) == len(frame) + 40
        assert decoded(frame, dictionary) == body
        assert coding.frame(body) == frame
    if body == page(1):
        assert len(frame) < 100


@pytest.mark.parametrize("size, dictionary, bits", [
    (1, 1, 10), (1025, 1, 11), (1 << 20, 1, 20), (1 << 30, 1, 23), (1 << 30, 20 << 20, 24)])
def test_the_window_is_the_servers(size, dictionary, bits):
    assert dictionaries.dcz_window(size, dictionary) == bits


def test_trained_content_has_no_header_of_zstds():
    content = dictionaries.train([page(n) for n in range(40)], 8192)
    assert TEMPLATE[:40].encode() in content and len(content) <= 8192
    assert b"\x37\xa4\x30\xec" not in content[:4]
    assert dictionaries.train([b"a"], 8192) is None


def test_the_most_typical_page_comes_first_and_stands_last():
    odd = [words(f"odd {n}", 300).encode() for n in range(3)]
    typical = page("typical")
    made = list(candidates.join([*odd, typical], [page(n) for n in range(3)], 1 << 20))
    assert made[0].name == "1 page" and made[0].content == typical
    assert all(one.content.endswith(typical) for one in made)
    assert not list(candidates.join([typical], [page(1)], 100))


def test_shared_text_has_what_pages_have_in_common_and_no_more():
    bodies = [page(n) for n in range(8)]
    [shared] = candidates.share(bodies, 1 << 20)
    assert shared.content == f"</title><nav>{TEMPLATE}</nav>".encode()
    assert not list(candidates.share(bodies, 100))


def test_pages_of_one_template_are_far_smaller():
    parts = candidates.split(pages_of(16))
    held = [one.body for one in parts.held]
    without = judge.baseline(held, 10)
    judged = [judge.judge(one, held) for one in candidates.make(parts, 512 << 10)]
    names = [one.name for one in judged]
    assert {"1 page", "text of 1/2 of them", "trained, 8 KB"} <= set(names)
    best = judge.best(judged, without)
    assert best.page < 0.5 * without.page
    assert all(judge.saved(best, without, 10) >= judge.saved(one, without, 10) for one in judged)


def judged(name, page_, transfer):
    return judge.Judged(name, b"", transfer, {"dcz": [page_ - 1, page_ + 1]})


def test_a_visit_counts_the_first_page_and_the_dictionary():
    without = judge.Baseline([90, 110], 10)
    one = judged("one", 40, 150)
    assert judge.saved(one, without, 10) == 9 * 60 - 150
    # The third page: two pages saved 60 each, which is less than 150; with the fourth it is more.
    assert judge.pays_from(one, without) == 4
    assert judge.saved(one, without, 3) < 0 < judge.saved(one, without, 4)
    assert judge.pays_from(judged("none", 100, 1), without) is None


def test_the_best_is_that_of_the_visits_length():
    small, large = judged("small", 60, 50), judged("large", 20, 500)
    for length, name in ((10, "small"), (100, "large")):
        assert judge.best([small, large], judge.Baseline([100], length)).name == name
    assert judge.best([large], judge.Baseline([100], 3)) is None
    assert judge.best([], judge.Baseline([100], 3)) is None


def test_a_renewal_has_to_save_more_than_it_takes():
    old, new = judged("old", 50, 100), judged("new", 40, 90)._replace(content=b"new")
    assert judge.is_worth_renewing(new, old, 10)
    assert not judge.is_worth_renewing(new, old, 9)
    assert not judge.is_worth_renewing(old._replace(sizes=new.sizes), old, 10)


# --- what is written


def test_a_dictionary_is_named_by_its_hash_and_has_a_precompressed_file(tmp_path):
    name = files.write(tmp_path, page(1))
    assert files.NAME.match(name) and name[5:21] == hashlib.sha256(page(1)).hexdigest()[:16]
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o644
    assert sorted(path.name for path in tmp_path.iterdir()) == [name, f"{name}.br"]
    brotli = pytest.importorskip("brotli")
    assert brotli.decompress((tmp_path / f"{name}.br").read_bytes()) == page(1)


def test_the_oldest_are_removed_and_nothing_else(tmp_path):
    names = [files.write(tmp_path, page(n)) for n in range(4)]
    (tmp_path / "site-other.dict").write_text("")
    assert files.present(tmp_path) == names[::-1]
    files.write(tmp_path, page(0))  # is the newest again
    assert files.prune(tmp_path, 1) == [names[2], names[1]]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        ["site-other.dict", names[0], f"{names[0]}.br", names[3], f"{names[3]}.br"])


def test_the_configuration_names_the_dictionary(tmp_path):
    options = parsed(["make", "https://a/", "--out", str(tmp_path), "--url", "/d/", "--match",
                               "/pages/*"])
    text = configuration.site(options, "site-1.dict")
    for part in (f'Alias "/d/" "{tmp_path}/"', 'match="/pages/*"', "max-age=",
                 'ElasticDictionaryLink "/d/site-1.dict"'):
        assert part in text
    assert "ElasticDictionaryStore" in configuration.server(options)


@pytest.mark.parametrize("words_", [
    [], ["--log", "x"], ["https://a/", "--renew"], ["https://a/", "--conf", "x"],
    ["https://a/", "--out", "/nowhere"], ["https://a/", "--match", '"'],
    ["https://a/", "--url", "d"], ["https://a/", "--visit", "1"], ["https://a/", "--rate", "x"],
    ["--log", "x", "--site", "a"]])
def test_wrong_usage(words_, capsys):
    with pytest.raises(SystemExit) as ended:
        parsed(["make", *words_])
    assert ended.value.code == 2 and "usage:" in capsys.readouterr().err


# --- all of it


def made_of(site, *more, count=12):
    urls = [f"{site.url}/page/{n}" for n in range(count)]
    return run("make", *urls, *more, "--rate", 1000)


def test_a_dictionary_is_made_and_renewed(site, tmp_path):
    out, conf = tmp_path / "out", tmp_path / "site.conf"
    out.mkdir()
    done = made_of(site, f"{site.url}/cookie", "--out", out, "--conf", conf)
    assert done.returncode == 0, done.stderr
    assert f"refused: {site.url}/cookie: sets the cookie sid" in done.stdout
    assert "12 of 13 pages were taken." in done.stdout
    assert "ElasticDictionaryStore" in done.stdout
    [first] = files.present(out)
    assert f'/dictionaries/{first}"' in conf.read_text()
    assert conf.read_text() in done.stdout and "CPU time of gzip 6" in done.stdout
    # Without the word nothing is replaced.
    again = made_of(site, "--out", out)
    assert again.returncode == 1 and "--renew" in again.stderr
    # The pages are the same: the previous one stays.
    again = made_of(site, "--out", out, "--renew")
    assert again.returncode == 0 and "The previous one stays" in again.stdout
    assert files.present(out) == [first] and first in again.stdout
    ODD.update({f"/page/{n}": (200, {"Content-Type": "text/html"}, (
        f"<title>{n}</title>{words('new', 400)}<p>{words(n, 60)}").encode()) for n in range(12)})
    try:
        done = made_of(site, "--out", out, "--renew", "--keep", 1, "--conf", conf)
    finally:
        for n in range(12):
            del ODD[f"/page/{n}"]
    assert done.returncode == 0 and "the previous one" in done.stdout, done.stderr
    second, previous = files.present(out)
    assert previous == first and second in conf.read_text()
    # Back again, with none kept.
    done = made_of(site, "--out", out, "--renew", "--keep", 0)
    assert done.returncode == 0 and f"Removed: {second}" in done.stdout
    assert len(files.present(out)) == 1


def test_too_few_pages_and_pages_that_share_nothing(site, tmp_path):
    done = made_of(site, "--out", tmp_path, count=7)
    assert done.returncode == 1 and "at least 8 different pages" in done.stderr
    done = run("make", "--urls", "/dev/null")
    assert done.returncode == 1 and "no URL is in it" in done.stderr
    done = run("make", "https://127.0.0.1:9/")
    assert done.returncode == 1 and "refused: https://127.0.0.1:9/: no " in done.stdout
    assert not list(tmp_path.iterdir())


def test_a_release_is_shown_beside_brotli(tmp_path):
    for name, seed in (("app.1.js", 1), ("app.2.js", 2)):
        (tmp_path / name).write_text(words("script", 2000) + words(seed, 20))
    done = run("compare", tmp_path / "app.1.js", tmp_path / "app.2.js")
    assert done.returncode == 0, done.stderr
    head, row = done.stdout.splitlines()
    assert head.split()[:6] == ["file", "bytes", "br", "5", "br", "11"]
    assert head.endswith("CPU of gzip 6")
    cells = row.replace(",", "").split()
    assert cells[0] == "app.2.js" and int(cells[4]) < 0.1 * int(cells[3])


def test_tables_are_of_equal_columns():
    assert report.table([["a", "bytes"], ["page", 12345.6]]) == "a      bytes\npage  12,346"
    assert report.path_of("https://a/b?" + "c" * 100).count("...") == 1
