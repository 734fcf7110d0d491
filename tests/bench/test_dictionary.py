"""scripts/dictionary: which pages it takes, which dictionary is best, what it writes."""

import hashlib
import http.server
import io
import pathlib
import re
import subprocess
import sys
import threading

import pytest

from codeckit import dictionaries
from dictionarykit import (arguments, candidates, cli, common, configuration, failure, files, judge,
                           renew, report, response, sources, state, versioned, visit)

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


# --- which pages

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
    return visit.Visitor(sources.origin(site.url), rate, seconds, visit.Reach(), clock,
                         clock.sleep), clock


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
        "/away": "leads to another site, http://elsewhere.invalid/",
        "/circle": "redirects again and again",
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
    return [visit.Page(f"https://a/{n}", page(n), page(n)) for n in range(count)]


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
    without = judge.baseline(parts.held)
    judged_ = [judge.judge(one, parts.held) for one in candidates.make(parts, 512 << 10)]
    names = [one.name for one in judged_]
    assert {"1 page", "text of 1/2 of them", "trained, 8 KB"} <= set(names)
    best = judge.best(judged_, without, 100)
    assert best.page < 0.5 * without.page
    assert all(judge.saved(best, without, 100) >= judge.saved(one, without, 100)
               for one in judged_)


def judged(name, page_, transfer):
    return judge.Judged(name, b"", transfer, {"dcz": [page_ - 1, page_ + 1]})


def test_a_visit_counts_its_first_page_and_heads():
    assert judge.visit_of(100, 40) == 100 + 9 * 40
    one = visit.Page("u", b"x", b"x" * 1000, 300)
    without = judge.baseline([one])
    with_it = judge.judge(candidates.Candidate("c", b"x" * 100), [one])
    assert 300 < without.page < 350 and with_it.page > 300 + judge.HEAD_DIFFERENCE


def test_from_which_page_on_a_dictionary_pays():
    without = judge.Baseline([90, 110])
    # The third page: two pages saved 60 each, which is less than 150; with the fourth it is more.
    assert judge.pays_from(judged("one", 40, 150), without) == 4
    assert judge.pays_from(judged("none", 100, 1), without) is None


def test_the_best_counts_its_own_transfer():
    without = judge.Baseline([100])
    small, large = judged("small", 60, 50), judged("large", 20, 4000)
    assert judge.best([small, large], without, 100).name == "large"
    assert judge.best([small, large], without, 50).name == "small"
    assert judge.best([], without, 100) is None


DAY = 24 * 3600


@pytest.mark.parametrize("page_, age, reason", [
    (97, DAY, "3.0 % less"), (97.1, DAY, None), (97.1, 22 * DAY, None),
    (97.1, 23 * DAY, "about to expire"), (120, 23 * DAY, "about to expire")])
def test_a_renewal_is_better_or_due(page_, age, reason):
    found = renew.reason_for({"page_with": page_}, {"page_with": 100}, age)
    assert found is reason is None or reason in found


# --- what two visits have in common


@pytest.mark.parametrize("first, second, same", [
    (b"<p>a<p>b", b"<p>a<p>b", b"<p>a<p>b"),
    (b"<p>a<i>nonce1<p>b", b"<p>a<i>nonce2<p>b", b"<p>a<p>b"),
    (b"<p>a<u>x<u>y<p>b", b"<p>a<u>y<p>b", b"<p>a<u>y<p>b"),
    (b"<p>a", b"<p>a<p>b", b"<p>a"), (b"x", b"y", b""), (b"", b"y", b"")])
def test_what_differs_is_left_out(first, second, same):
    assert common.common(first, second) == same


def test_what_is_too_long_to_compare_is_left_out():
    first = b"".join(b"<p>%d" % n for n in range(common.TOKENS_MOST + 10))
    assert common.common(b"<a>" + first + b"<b>", b"<a><x>" + first[:-3] + b"<y><b>") == b"<a><b>"


def test_a_page_that_is_another_one_each_time_is_left_out(site):
    visitor, _ = visitor_of(site)
    pages, _ = visit.visit(visitor, [site.url + "/page/1", site.url + "/page/2"],
                           response.Accepted())
    ODD["/page/2"] = (200, {"Content-Type": "text/html"}, b"<p>" + words("other", 300).encode())
    try:
        found, refused = visit.again(visitor, pages, response.Accepted())
    finally:
        del ODD["/page/2"]
    assert [page_.url for page_ in found] == [site.url + "/page/1"]
    assert list(refused.values()) == ["is another page at each visit"]


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


def test_the_configuration_names_the_dictionaries():
    site_ = configuration.Site("https://www.a.b/", "www.a.b", "/f", "/d/", "/s", True)
    rule = versioned.rule_of("https://www.a.b/x/app.0a1b2c3d.js")
    text = configuration.text_of(site_, ["site-2.dict", "site-1.dict"], ":a/=:", [rule])
    for part in ('AliasMatch "^/d/(site\\-2\\.dict|site\\-1\\.dict)$" "/f/$1"', "max-age=",
                 'ElasticDictionaryLink "/d/site-2.dict"', 'ElasticDictionaryStore "/s"',
                 r"m#^www\.a\.b(:[0-9]+)?$#i", "!= ':a/=:'", "LoadModule headers_module",
                 'match="/x/app.*.js" match-dest="script"'):
        assert part in text
    site_ = site_._replace(store="", load_headers=False)
    text = configuration.text_of(site_, ["site-2.dict"], "", [])
    assert "Store" not in text and "LoadModule" not in text


@pytest.mark.parametrize("words_", [
    [], ["a"], ["ftp://a/"], ["https://a/", "--url", "d"], ["https://a/", "--rate", "x"],
    ["https://a/", "--store", '"'], ["https://a/", "--pages", "x", "--log", "y"],
    ["https://a/", "--out", '/a"b']])
def test_wrong_usage(words_, capsys):
    with pytest.raises(SystemExit) as ended:
        parsed(["enable", *words_])
    assert ended.value.code == 2 and "usage:" in capsys.readouterr().err


def test_https_is_needed_but_on_this_machine():
    with pytest.raises(failure.Failed, match="https only"):
        parsed(["enable", "http://www.example.org/"])
    assert parsed(["enable", "http://localhost:8080/"]).site == "http://localhost:8080/"


# --- all of it


def made_of(site, folder, *more, count=12):
    (folder / "pages").write_text("\n".join(
        [f"{site.url}/page/{n}" for n in range(count)] + [f"{site.url}/cookie"]))
    return run("enable", site.url, "--print", "--pages", folder / "pages", "--out", folder / "out",
               "--rate", 1000, *more)


def test_a_dictionary_is_made_and_printed(site, tmp_path):
    done = made_of(site, tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"not used: {site.url}/cookie: sets the cookie sid" in done.stdout
    folder = tmp_path / "out" / state.name_of(sources.origin(site.url))
    [name] = files.present(folder)
    assert f'ElasticDictionaryLink "/dictionaries/{name}"' in done.stdout
    assert "A visit of 10 pages takes" in done.stdout
    asked = [path for path, _ in site.asked]
    assert asked.count("/page/3") == 2 and asked[0] == "/robots.txt"


ESCAPED = {
    "/cookie": {"Set-Cookie": "\x1b]0;a title\x07=1"}, "/type": {"Content-Type": "\x1b[2J/\x9b8m"},
    "/moved": {"Location": "http://elsewhere.invalid/\x08\x7f"},
}


def test_what_a_site_sends_does_not_control_the_terminal(site, tmp_path):
    before = dict(ODD)
    ODD.update({path: (302 if "Location" in fields else 200, fields, page(path))
                for path, fields in ESCAPED.items()})
    odd = "/\x1b[8m?\u202e"
    ODD["/%1B[8m?%E2%80%AE"] = (500, {}, b"")
    ODD["/coded"] = (200, {"Content-Type": "text/html", "Content-Encoding": "\x1b[31m"}, b"x")
    (tmp_path / "pages").write_text("\n".join(
        [site.url + path for path in (*ESCAPED, odd, "/page/1")]))
    try:
        few = run("enable", site.url, "--print", "--pages", tmp_path / "pages")
        checked = run("check", site.url + "/coded")
    finally:
        ODD.clear()
        ODD.update(before)
    for done, lines_ in ((few, 4), (checked, 0)):
        said = done.stdout + done.stderr
        assert done.returncode == 1 and "\\x1b" in said
        assert all(one.isprintable() or one == "\n" for one in said), repr(said)
        assert len(re.findall("(?m)^not used: ", said)) == lines_, said


@pytest.mark.parametrize("text, shown", [
    ("/caf\u00e9 \\x", "/caf\u00e9 \\x"), ("\x1b[2J", "\\x1b[2J"), ("a\nb\tc", "a\\nb\\tc"),
    ("\x9b\u2028\u202e\udc9b", "\\x9b\\u2028\\u202e\\udc9b")])
def test_a_line_for_a_terminal(text, shown):
    assert report.plain(text) == shown
    assert report.refusals({"/x": text}) == "not used: /x: " + shown
    stream = io.StringIO()
    print("first\n\t" + text.replace("\n", "").replace("\t", ""), file=report.Screen(stream))
    assert stream.getvalue() == "first\n\t" + shown.replace("\\n", "").replace("\\t", "") + "\n"


def test_too_few_pages(site, tmp_path):
    done = made_of(site, tmp_path, count=7)
    assert done.returncode == 1 and "can be used: 7" in done.stderr
    assert "--accept-cookie" in done.stderr
    assert not (tmp_path / "out").exists()
    (tmp_path / "pages").write_text("# none\n")
    done = run("enable", site.url, "--print", "--pages", tmp_path / "pages")
    assert done.returncode == 1 and "no URL is in it" in done.stderr
    done = run("enable", "https://127.0.0.1:9/", "--print")
    assert done.returncode == 1 and "https://127.0.0.1:9/: no response" in done.stderr


def test_pages_that_have_little_in_common(site, tmp_path):
    ODD.update({f"/page/{n}": (200, {"Content-Type": "text/html"}, (
        f"<title>{words(n, 400)}").encode()) for n in range(12)})
    try:
        done = made_of(site, tmp_path)
    finally:
        for n in range(12):
            del ODD[f"/page/{n}"]
    assert done.returncode == 1 and "a dictionary has to save 10 %" in done.stderr


def test_a_release_is_shown_beside_brotli(tmp_path):
    for name, seed in (("app.1.js", 1), ("app.\x1b2.js", 2)):
        (tmp_path / name).write_text(words("script", 2000) + words(seed, 20))
    done = run("compare", tmp_path / "app.1.js", tmp_path / "app.\x1b2.js")
    assert done.returncode == 0, done.stderr
    head, row = done.stdout.splitlines()
    assert head.split()[:6] == ["file", "bytes", "br", "5", "br", "11"]
    assert head.endswith("CPU of gzip 6")
    cells = row.replace(",", "").split()
    assert cells[0] == "app.\\x1b2.js" and int(cells[4]) < 0.1 * int(cells[3])


def test_tables_are_of_equal_columns():
    assert report.table([["a", "bytes"], ["page", 12345.6]]) == "a      bytes\npage  12,346"
    assert report.path_of("https://a/b?" + "c" * 100).count("...") == 1
