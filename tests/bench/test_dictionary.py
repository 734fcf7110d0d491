"""scripts/dictionary: which pages it takes, which dictionary is best, what it writes."""

import hashlib
import http.server
import io
import pathlib
import re
import subprocess
import sys
import threading
import time

import pytest

from codeckit import dictionaries
from dictionarykit import cli, enable, exchange, httpd, making, report, state, visit

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
    return cli.make_parser().parse_args(words_)


def run(*arguments_, **options):
    return subprocess.run([sys.executable, SCRIPT, *map(str, arguments_)],
                          capture_output=True, text=True, timeout=120, check=False, **options)


# --- which pages

# Paths of a site that are no pages: {path: (status, fields, body)}.
ODD = {
    "/cookie": (200, {"Content-Type": "text/html", "Set-Cookie": "sid=1"}, page("cookie")),
    "/error": (500, {"Content-Type": "text/html"}, b"error"),
    "/image": (200, {"Content-Type": "image/png"}, b"png"),
    "/empty": (200, {"Content-Type": "text/html"}, b""),
    "/large": (200, {"Content-Type": "text/html"}, bytes(exchange.PAGE_MOST + 1)),
    "/again": (200, {"Content-Type": "text/html"}, page("/page/1")),
    "/moved": (301, {"Location": "/page/2#top"}, b""),
    "/login": (302, {"Location": "/page/3", "Set-Cookie": "sid=1"}, b""),
    "/away": (302, {"Location": "http://elsewhere.invalid/"}, b""),
    "/circle": (302, {"Location": "/circle"}, b""),
    "/broken": (200, {"Content-Type": "text/html", "Content-Length": "100000"}, b"short"),
    "/nowhere": (302, {"Location": "//[bad"}, b""),
    "/denied": (403, {"Content-Type": "text/html"}, page("denied")),
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
    return visit.Visitor(exchange.origin(site.url), rate, seconds, exchange.Reach(), clock,
                         clock.sleep), clock


def test_pages_are_visited_without_cookies_and_refusals_named(site):
    visitor, _ = visitor_of(site)
    paths = ["/page/1", *ODD, "/page/4?a=b c"]
    other = "http://localhost:1/"
    pages, refused = visit.visit(visitor, [site.url + path for path in paths] + [
        other, "https://[bad/"],
                                 state.Options())
    assert [one.url.removeprefix(site.url) for one in pages] == ["/page/1", "/page/2",
                                                                 "/page/4?a=b c"]
    assert pages[0].body == page("/page/1")
    reasons = {url.removeprefix(site.url): reason for url, reason in refused.items()}
    assert reasons == {
        "/cookie": "sets the cookie sid", "/error": "has the status 500",
        "/image": "has the type image/png", "/empty": "is empty",
        "/large": f"has more than {exchange.PAGE_MOST} bytes",
        "/again": f"is the same as {site.url}/page/1", "/login": "sets the cookie sid",
        "/away": "leads to another site, http://elsewhere.invalid/",
        "/circle": "redirects again and again",
        "/broken": "breaks off", "/nowhere": "leads to what is no URL",
        "/denied": "has the status 403",
        "https://[bad/": "https://[bad/: Invalid IPv6 URL",
        other: "is of another origin"}
    assert not any("Cookie" in fields or "Authorization" in fields for _, fields in site.asked)
    assert "/page/4?a=b%20c" in [path for path, _ in site.asked]


def test_no_faster_and_no_longer_than_allowed(site):
    visitor, clock = visitor_of(site, rate=4, seconds=1)
    urls = [f"{site.url}/page/{n}" for n in range(8)]
    pages, refused = visit.visit(visitor, urls, state.Options())
    assert clock.slept == [0.25] * 3 and len(pages) == 4
    assert set(refused.values()) == {"the time was over"} and len(refused) == 4


# --- which dictionary


def pages_of(count):
    return [visit.Page(f"https://a/{n}", page(n), page(n)) for n in range(count)]


def test_each_page_is_in_one_part_and_stays_there():
    parts = making.split(pages_of(12))
    assert [len(part) for part in parts] == [3, 3, 6]
    assert sorted(sum(parts, [])) == sorted(pages_of(12))
    assert making.split(pages_of(12)[::-1]) == parts


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


def as_pages(bodies):
    return [visit.Page(f"https://a/{at}", body, body) for at, body in enumerate(bodies)]


def test_the_most_typical_page_comes_first_and_stands_last():
    odd = [words(f"odd {n}", 300).encode() for n in range(3)]
    typical, probes = page("typical"), as_pages(page(n) for n in range(3))
    made = list(making.join(as_pages([*odd, typical]), probes, 1 << 20))
    assert made[0].name == "1 page" and made[0].content == typical
    assert made[0].urls == ("https://a/3",)
    assert all(one.content.endswith(typical) for one in made)
    assert not list(making.join(as_pages([typical]), probes, 100))


def test_pages_of_one_template_are_far_smaller():
    parts = making.split(pages_of(16))
    without = making.baseline(parts.held)
    judged_ = [making.judge(one, parts.held) for one in making.make(parts, 512 << 10)]
    names = [one.name for one in judged_]
    assert {"1 page", "trained, 8 KB"} <= set(names)
    best = making.best(judged_, without, 100)
    assert best.page < 0.5 * without.page and best.urls
    assert all(report.reader(without.page, best.page, best.transfer, 100)
               <= report.reader(without.page, one.page, one.transfer, 100) for one in judged_)


def judged(name, page_, transfer):
    return making.Candidate(name, b"", (), transfer, [page_ - 1, page_ + 1])


def test_a_reader_gets_the_first_page_as_it_was_and_the_dictionary_and_heads():
    assert report.reader(100, 40, 500, 10) == 100 + 9 * 40 + 500
    one = visit.Page("u", b"x", b"x" * 1000, 300)
    without = making.baseline([one])
    with_it = making.judge(making.Candidate("c", b"x" * 100), [one])
    assert 300 < without.page < 350 and with_it.page > 300 + making.HEAD_DIFFERENCE


def test_from_which_page_on_a_dictionary_pays():
    # The third page: two pages saved 60 each, which is less than 150; with the fourth it is more.
    assert report.pays_from(100, 40, 150) == 4
    assert report.pays_from(100, 100, 1) is None


@pytest.mark.parametrize("transfer, pages, said, fine", [
    (10_000, 10, "55.0 % more", False), (10_000, 20, "2.5 % more", False),
    (10_000, 40, "23.8 % less", True), (100, 10, "44.0 % less", True),
    (4300, 20, "26.0 % less", True)])
def test_a_dictionary_is_refused_by_the_sum_with_its_own_bytes(transfer, pages, said, fine):
    """A first visit of ten pages with 10 KB of dictionary took more than without it, and was said
    to take less."""
    figures = state.Figures(1000, 500, transfer, 3 * transfer)
    assert said in report.verdict(figures, pages)
    options = state.Options(spread=pages)
    if fine:
        enable.check_gain(figures, options)
    else:
        with pytest.raises(exchange.Failed, match=f"would get {said} .* has to save 5 %"):
            enable.check_gain(figures, options)


def test_the_decision_is_for_a_reader_of_twenty_pages():
    assert parsed(["enable", "https://a/"]).spread == 20
    assert "From page 12 on" in report.verdict(state.Figures(1000, 500, 5000, 1), 20)
    assert "never pays" in report.verdict(state.Figures(1000, 1000, 5000, 1), 20)


def test_the_best_counts_its_own_transfer():
    without = judged("none", 100, 0)
    small, large = judged("small", 60, 50), judged("large", 20, 4000)
    assert making.best([small, large], without, 100).name == "large"
    assert making.best([small, large], without, 20).name == "small"
    assert making.best([], without, 100) is None


DAY = 24 * 3600


def made(page_, previous=100, is_gone=False):
    figures = [state.Figures(200, one, 1, 1) for one in (page_, previous)]
    return {"figures": figures[0], "previous": figures[1], "is_gone": is_gone}


@pytest.mark.parametrize("page_, age, reason", [
    (97, DAY, "3.0 % less"), (97.1, DAY, None), (97.1, 22 * DAY, None),
    (97.1, 23 * DAY, "about to expire"), (120, 23 * DAY, "about to expire"),
    (97.1, -DAY, "about to expire")])  # a state of the future
def test_a_renewal_is_better_or_due(page_, age, reason):
    found = enable.reason_for(made(page_), age)
    assert found is reason is None or reason in found
    assert enable.reason_for(made(page_), age, now=True)


def test_each_piece_of_a_dictionary_can_be_looked_for_on_pages():
    pages = as_pages([b"<p>one two three<b>four<i>Kim</i>", b"<p>five six seven<b>eight"])
    content = b"two three" + b"ve six sev" + b"<p>five six seven" + b"<b>four"
    text = making.Text(pages)
    found = text.cut(content)
    assert found.replace(making.CUT, b"") == content and found.count(making.CUT) == 1
    assert not text.lacks(found)
    assert all(making.Text([one]).lacks(found) for one in pages)
    text, trained = making.Text(pages_of(24)), making.train(pages_of(24), 64 << 10)
    found = [text.cut(one.content) for one in trained]
    assert found and not any(map(text.lacks, found))
    assert making.Text(pages_of(24)[:3]).lacks(found[-1])


def test_the_pieces_of_a_large_dictionary_are_found_soon():
    pages = as_pages(b"".join(b"<p>" + words(f"{n} {m}", 40).encode() for m in range(100))
                     for n in range(15))
    content = b"".join(page_.body[at:at + 60] for page_ in pages for at in range(5, 30_000, 600))
    text, begin = making.Text(pages), time.process_time()
    assert not text.lacks(text.cut(content))
    assert time.process_time() - begin < 60


def test_a_renewal_leaves_out_what_is_not_on_the_site_any_more():
    assert "not on these pages" in enable.reason_for(made(100, is_gone=True), DAY)
    pages = as_pages(page(n) for n in range(8))
    kept = pages[0].body + pages[3].body
    assert not making.Text(pages).lacks(kept)
    assert not making.Text(pages).lacks(kept[7:-5])  # as training cuts it
    assert making.Text(pages[:3]).lacks(kept)


# --- what two visits have in common


@pytest.mark.parametrize("first, second, same", [
    (b"<p>a<p>b", b"<p>a<p>b", b"<p>a<p>b"),
    (b"<p>a<i>nonce1<p>b", b"<p>a<i>nonce2<p>b", b"<p>a<p>b"),
    (b"<p>a<u>x<u>y<p>b", b"<p>a<u>y<p>b", b"<p>a<u>y<p>b"),
    (b"<i>1<b>a<td><td><b>c<i>2", b"<i>3<b>a<td><td><b>c<i>4", b"<b>a<td><td><b>c"),
    (b"<i>1<b>a<b>c<b>d<i>2", b"<i>3<b>d<b>a<b>c<i>4", b"<b>a<b>c"),
    (b"<p>a", b"<p>a<p>b", b"<p>a"), (b"x", b"y", b""), (b"", b"y", b"")])
def test_what_differs_is_left_out(first, second, same):
    assert visit.common(first, second) == same


def test_a_page_that_is_another_one_each_time_is_left_out(site):
    visitor, _ = visitor_of(site)
    pages, _ = visit.visit(visitor, [site.url + "/page/1", site.url + "/page/2"],
                           state.Options())
    ODD["/page/2"] = (200, {"Content-Type": "text/html"}, b"<p>" + words("other", 300).encode())
    try:
        found, refused = visit.again(visitor, pages, state.Options())
    finally:
        del ODD["/page/2"]
    assert [page_.url for page_ in found] == [site.url + "/page/1"]
    assert list(refused.values()) == ["is another page at each visit"]


# --- what is written


def test_a_dictionary_is_named_by_its_hash(tmp_path):
    name = state.name_of(page(1))
    assert state.NAME.match(name) and name[5:37] == hashlib.sha256(page(1)).hexdigest()[:32]
    state.replace(str(tmp_path / name), page(1))
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o644
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("words_", [
    [], ["a"], ["ftp://a/"], ["https://a/", "--spread", "1"], ["https://a/", "--rate", "x"],
    ["https://a/", "--store", '"'], ["https://a/", "--pages", "x", "--sitemap", "https://a/"],
    ["https://a/", "--out", '/a"b'], ["https://a/", "--out", "/a\nb"], ["https://a\n/"],
    ["https://user:password@a/"], ["https://a/\nInclude"], ["http://www.example.org/"]])
def test_wrong_usage(words_, capsys):
    with pytest.raises(SystemExit) as ended:
        parsed(["enable", *words_])
    assert ended.value.code == 2 and "usage:" in capsys.readouterr().err


def test_https_is_needed_but_on_this_machine():
    with pytest.raises(SystemExit):
        parsed(["enable", "http://www.example.org/"])
    assert parsed(["enable", "http://localhost:8080/"]).site == "http://localhost:8080/"


# --- all of it


def order_of(site, urls=(), **more):
    options = state.Options(rate=1000, **more)
    return enable.order_of(site.url + "/", options, exchange.Reach())._replace(urls=list(urls))


def fetched(site, *more, count=12):
    return visit.fetch(order_of(
        site, [f"{site.url}/page/{n}" for n in range(count)] + [f"{site.url}/cookie", *more]))


def test_pages_are_fetched_twice_and_a_dictionary_is_made_of_them(site, capsys):
    order = order_of(site, [f"{site.url}/page/{n}" for n in range(12)] + [f"{site.url}/cookie"])
    pages = enable.fetch(order)
    assert f"not used: {site.url}/cookie: sets the cookie sid" in capsys.readouterr().out
    made_ = enable.train(order, pages)
    assert TEMPLATE[:40].encode() in made_["content"] and made_["figures"].page_with > 0
    assert set(made_["urls"]) <= {page_.url for page_ in pages} and made_["previous"] is None
    asked = [path for path, _ in site.asked]
    assert asked.count("/page/3") == 2 and asked[0] == "/robots.txt"
    enable.check_gain(made_["figures"], state.Options())
    again = enable.train(order, pages, made_["content"])
    assert not again["is_gone"] and again["previous"] == again["figures"]


@pytest.mark.parametrize("line", ["base64", "https://[bad/", "/relative", "https://a b/"])
def test_one_bad_line_of_a_list_is_refused_by_name(site, line):
    found = fetched(site, line)
    assert len(found["pages"]) == 12
    assert [line] == [url for url, reason in found["refused"] if "/cookie" not in url and reason]


def with_odd(site, odd, **more):
    """What is fetched while these paths have these responses."""
    before = dict(ODD)
    ODD.update(odd)
    try:
        return visit.fetch(order_of(site, **more))
    finally:
        ODD.clear()
        ODD.update(before)


HTML = {"Content-Type": "text/html"}


def linking(*paths):
    return (200, HTML, (page("/") + "".join(f'<a href="{path}">' for path in paths).encode()))


def urls_of(site, found):
    return {page_.url.removeprefix(site.url) for page_ in found["pages"]}


@pytest.mark.parametrize("robots_, said", [
    ((503, {}, b""), "503, which forbids everything"),
    ((302, {"Location": "/robots.txt"}, b""), "redirects again and again"),
    ((302, {"Location": "http://elsewhere.invalid/"}, b""), "leads to another site")])
def test_robots_txt_that_cannot_be_had_forbids_everything(site, robots_, said):
    with pytest.raises(exchange.Failed, match=said):
        with_odd(site, {"/robots.txt": robots_})
    assert {path for path, _ in site.asked} == {"/robots.txt"}


def test_nothing_is_read_of_who_does_not_take_the_visitor_for_a_stranger(site, tmp_path):
    class Server:
        def run_folder(self):
            return str(tmp_path)

    file = tmp_path / httpd.VISITOR
    with httpd.stranger(Server(), exchange.Reach(("127.0.0.1",))) as reach:
        token = reach.fields["Elastic-Visitor"]
        assert file.read_text() == (
            f"elastic-visitor 1\nsha256 {hashlib.sha256(token.encode()).hexdigest()}\n")
        assert file.stat().st_mode & 0o777 == 0o644
        with pytest.raises(exchange.Failed, match="robots.txt: .*not take the visitor for a stran"):
            visit.fetch(order_of(site)._replace(reach=reach))
    assert not file.exists()
    assert [fields["Elastic-Visitor"] for _, fields in site.asked] == [token]


@pytest.mark.parametrize("hosts, addresses", [
    ([], ["127.0.0.1", "::1"]),
    ([("*:443", "a"), ("*:443", "b")], ["127.0.0.1", "::1"]),
    ([("*:443", "a"), ("10.0.0.1:443", "x"), ("127.0.0.1:443", "x")], ["::1"]),
    ([("*:443", "x"), ("10.0.0.1:443 [::2]:443", "a *.a")], ["10.0.0.1", "::2"]),
    ([("10.0.0.1:443", "x"), ("10.0.0.1:443", "A"), ("10.0.0.2:80", "a")], ["10.0.0.1"]),
    ([("10.0.0.1:443", "x")], ["10.0.0.1"]),
    ([("10.0.0.1:443", "x"), ("10.0.0.2:443", "y")], None),
    ([("10.0.0.1:443", "a"), ("10.0.0.2:443", "*")], None),
    ([("*:443", "a"), ("127.0.0.1:443", "a")], None),
    ([("*:443", "a"), ("127.0.0.1:443", "x"), ("[::1]:443", "y")], None)])
def test_the_virtual_host_that_is_asked_is_the_one_that_visitors_get(hosts, addresses):
    """Of several at other addresses one may be for insiders."""
    class Server(httpd.Httpd):
        def __init__(self):
            pass

        def dump(self):
            return [{}] + [{"VirtualHost": [places], "ServerName": [names.split()[0]],
                            "ServerAlias": [" ".join(names.split()[1:])], "DefinedAt": [str(at)]}
                           for at, (places, names) in enumerate(hosts)]

    if addresses:
        assert sorted(Server().addresses("https://a/")) == sorted(addresses)
    else:
        with pytest.raises(exchange.Failed, match="a (is several|has no).*--origin"):
            Server().addresses("https://a/")


def test_robots_txt_is_obeyed_behind_redirects(site):
    found = with_odd(site, {
        "/robots.txt": (301, {"Location": "/r1"}, b""), "/r1": (302, {"Location": "/r2"}, b""),
        "/r2": (200, {}, b"User-agent: *\nAllow: /\nDisallow: /secret/\nDisallow: /*hidden/\n"),
        "/sitemap.xml": (404, {}, b""), "/": linking("/secret/x", "/page/7", "/a/hidden/x", "/to"),
        "/to": (302, {"Location": "/secret/y"}, b"")})
    assert urls_of(site, found) == {"/", "/page/7"}
    asked = {path for path, _ in site.asked}
    assert "/to" in asked and not any("secret" in path or "hidden" in path for path in asked)


def test_no_robots_txt_allows_everything(site):
    found = with_odd(site, {"/robots.txt": (404, {}, b""), "/sitemap.xml": (404, {}, b""),
                            "/": linking("/page/7", "//[bad", "/img.png")})
    assert urls_of(site, found) == {"/", "/page/7"}


def test_a_renewal_looks_at_the_pages_of_the_dictionary_and_at_no_more_than_before(site):
    before = [f"{site.url}/page/{n}" for n in (7, 90)]
    map_ = "".join(f"<url><loc>{site.url}/page/{n}</loc></url>" for n in range(20))
    odd = {"/robots.txt": (404, {}, b""), "/sitemap.xml": (200, {}, f"<a>{map_}</a>".encode())}
    order = order_of(site, most=6)._replace(before=before)
    old = dict(ODD)
    ODD.update(odd)
    try:
        found = urls_of(site, visit.fetch(order))
        listed = [f"{site.url}/page/{n}" for n in range(1, 5)]
        of_list = urls_of(site, visit.fetch(order._replace(urls=listed)))
    finally:
        ODD.clear()
        ODD.update(old)
    assert len(found) == 6 and {"/page/7", "/page/90"} <= found
    assert of_list == {f"/page/{n}" for n in range(1, 5)}


def test_a_broken_sitemap_of_an_index_leaves_the_others(site):
    locs = "".join(f"<url><loc>{site.url}/page/{n}</loc></url>" for n in range(9))
    index = "".join(f"<sitemap><loc>{site.url}/{name}</loc></sitemap>" for name in ("x", "good"))
    found = with_odd(site, {
        "/robots.txt": (404, {}, b""), "/x": (500, {}, b""),
        "/good": (200, {}, f"<urlset>{locs}<url><loc>https://[bad/</loc></url></urlset>".encode()),
        "/sitemap.xml": (200, {}, f"<sitemapindex>{index}</sitemapindex>".encode())})
    assert len(found["pages"]) == 9
    assert [url for url, _ in found["refused"]] == ["https://[bad/"]


ESCAPED = {
    "/cookie": {"Set-Cookie": "\x1b]0;a title\x07=1"}, "/type": {"Content-Type": "\x1b[2J/\x9b8m"},
    "/moved": {"Location": "http://elsewhere.invalid/\x08\x7f"},
}


def test_what_a_site_sends_does_not_control_the_terminal(site):
    odd = {path: (302 if "Location" in fields else 200, fields, page(path))
           for path, fields in ESCAPED.items()}
    odd["/coded"] = (200, {**HTML, "Content-Encoding": "\x1b[31m"}, b"x")
    before = dict(ODD)
    ODD.update(odd)
    try:
        checked = run("check", site.url + "/coded")
        found = visit.fetch(order_of(site, [site.url + path for path in ESCAPED]))
    finally:
        ODD.clear()
        ODD.update(before)
    stream = io.StringIO()
    print(report.refusals(found["refused"]), file=report.Screen(stream))
    assert checked.returncode == 1
    for said in (checked.stdout + checked.stderr, stream.getvalue()):
        assert "\\x1b" in said
        assert all(one.isprintable() or one == "\n" for one in said), repr(said)
    assert len(re.findall("(?m)^not used: ", stream.getvalue())) == len(ESCAPED)


@pytest.mark.parametrize("text, shown", [
    ("/caf\u00e9 \\x", "/caf\u00e9 \\x"), ("\x1b[2J", "\\x1b[2J"), ("a\nb\tc", "a\\nb\\tc"),
    ("\x9b\u2028\u202e\udc9b", "\\x9b\\u2028\\u202e\\udc9b")])
def test_a_line_for_a_terminal(text, shown):
    assert report.plain(text) == shown
    assert report.refusals([("/x", text)]) == "not used: /x: " + shown
    stream = io.StringIO()
    print("first\n\t" + text.replace("\n", "").replace("\t", ""), file=report.Screen(stream))
    assert stream.getvalue() == "first\n\t" + shown.replace("\\n", "").replace("\\t", "") + "\n"


def test_too_few_pages(site, tmp_path):
    urls = [f"{site.url}/page/{n}" for n in range(7)] + [f"{site.url}/cookie"]
    with pytest.raises(exchange.Failed, match="can be used: 7.*--accept-cookie"):
        enable.fetch(order_of(site, urls))
    (tmp_path / "pages").write_text("# none\n")
    with pytest.raises(exchange.Failed, match="no URL is in it"):
        order_of(site, pages=str(tmp_path / "pages"))


def test_tables_are_of_equal_columns():
    assert report.table([["a", "bytes"], ["page", 12345.6]]) == "a      bytes\npage  12,346"
    assert report.pages([visit.Page("https://a/b?" + "c" * 100, b"")]).count("...") == 1
