"""The status pages: ?auto, ?json, HTML, and the section in mod_status's page."""

import contextlib
import json
import re

import pytest

from kit import bodies, keep

REASONS = ("off", "type", "small", "encoded", "not-acceptable", "env", "no-transform", "range",
           "status", "head", "bypass", "not-smaller", "memory", "tls-compression", "error")
KEYS = ("ElasticVersion", "ElasticUptime", "ElasticControl", "ElasticGoal", "ElasticCPU",
        "ElasticCPULow", "ElasticCPUHigh", "ElasticLoad", "ElasticInterval", "ElasticSamples",
        "ElasticSteps",
        "ElasticPosition",
        "ElasticLevelGzip", "ElasticLevelBr", "ElasticBypass", "ElasticCompressed",
        "ElasticBytesIn", "ElasticBytesOut", "ElasticCpuUsec", "ElasticPrecompressed",
        *(f"ElasticSkipped-{reason}" for reason in REASONS))
# The other values are numbers.
WORDS = ("ElasticVersion", "ElasticControl", "ElasticGoal", "ElasticLoad")

CONFIG = """
Elastic On
ElasticCPU 40 70
ElasticInterval 700ms
<Location /server-status>
    SetHandler server-status
</Location>
ExtendedStatus On
"""


@pytest.fixture(scope="module")
def site(httpd_shared):
    return httpd_shared(CONFIG, modules=["status"], files={"a.txt": bodies.text(50000)})


@pytest.mark.smoke
def test_auto_has_every_key_once(site):
    answer = site.get("/elastic-status?auto")
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/plain")
    lines = answer.body.decode().splitlines()
    keys = [line.partition(": ")[0] for line in lines if line]
    assert len(keys) == len(set(keys))
    assert set(KEYS) <= set(keys), set(KEYS) - set(keys)
    assert all(re.fullmatch(r"[\w-]+: \S.*", line) for line in lines if line)


@pytest.mark.smoke
def test_json_is_one_object_with_the_same_keys(site):
    answer = site.get("/elastic-status?json")
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("application/json")
    values = json.loads(answer.body)
    assert set(values) == set(site.status())
    for key in set(KEYS) - set(WORDS) - {"ElasticCPU"}:
        assert isinstance(values[key], (int, float)) and not isinstance(values[key], bool), key


def test_the_values_are_the_configurations(site):
    status = site.status()
    assert status["ElasticControl"] == "step"
    assert re.match(r"(stat|cgroup) \(.+\)$", status["ElasticLoad"])
    assert float(status["ElasticCPULow"]) == pytest.approx(0.40)
    assert float(status["ElasticCPUHigh"]) == pytest.approx(0.70)
    assert int(status["ElasticInterval"]) == 700
    assert 0 <= float(status["ElasticPosition"]) <= 1
    assert 1 <= int(status["ElasticLevelGzip"]) <= 9
    assert 0 <= int(status["ElasticLevelBr"]) <= 6
    assert status["ElasticBypass"] == "0"


def test_samples_and_uptime_grow(site):
    before = site.status()
    site.wait_for(lambda: int(site.status()["ElasticSamples"]) >= int(before["ElasticSamples"]) + 2,
                  10, "two samples")
    after = site.status()
    assert int(after["ElasticUptime"]) >= int(before["ElasticUptime"]) + 1
    assert 0 <= float(after["ElasticCPU"]) <= 1


def test_counters_are_exact(site):
    before = site.status()
    sent = 0
    for _ in range(5):
        answer = site.get("/a.txt", ae="gzip")
        assert answer.coding == "gzip"
        sent += len(answer.raw)
    after = site.status()

    def grown(key):
        return int(after[key]) - int(before[key])

    assert grown("ElasticCompressed") == 5
    assert grown("ElasticBytesIn") == 5 * 50000
    assert grown("ElasticBytesOut") == sent
    assert grown("ElasticCpuUsec") >= 0


@pytest.mark.smoke
def test_the_page_for_people_says_the_same(site):
    answer = site.get("/elastic-status")
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/html")
    text = answer.body.decode()
    assert text.lstrip().lower().startswith("<!doctype html")
    assert "</html>" in text.lower()
    shown = {key: value for value, key in
             re.findall(r"<td>([^<]*)</td><td><code>([\w-]+)</code>", text)}
    assert set(KEYS) <= set(shown)
    status = site.status()
    for key in ("ElasticVersion", "ElasticControl", "ElasticCPULow", "ElasticInterval"):
        assert shown[key] == status[key]


def test_the_page_loads_nothing_from_elsewhere(site):
    answer = site.get("/elastic-status")
    rules = dict(rule.split(" ", 1) for rule in
                 answer.headers["Content-Security-Policy"].split("; "))
    assert rules.pop("default-src") == "'none'"
    assert set(rules.values()) <= {"'none'", "'self'"}
    text = answer.body.decode()
    assert "<style" not in text and " style=" not in text
    assert not re.search(r"<script[^>]*>\w", text)
    assert not re.search(r"""(?:href|src)="(?![?#])""", text), "parts of its own, and no others"
    for part, kind in (("style", "text/css"), ("script", "text/javascript")):
        assert f'="?{part}"' in text
        loaded = site.get("/elastic-status?" + part)
        assert loaded.headers["Content-Type"].startswith(kind) and loaded.body
        assert b"http" not in loaded.body


def test_the_page_says_what_was_saved_and_by_what(site):
    def saved():
        answer = site.get("/a.txt", ae="br")
        engine = site.notes(answer)["elastic-engine"]
        text = site.get("/elastic-status").body.decode()
        assert f'<th scope="row">br, {engine}</th>' in text
        return re.search(r'<h2>Saved since the start</h2><p class="large">[0-9.]+ [KMG]B</p>', text)

    site.wait_for(saved, 60, "what was saved")


def test_each_reason_on_the_page_leads_to_what_it_means(site):
    site.get("/a.txt")
    text = site.get("/elastic-status").body.decode()
    assert '<a href="#reason-not-acceptable">' in text
    for reason in REASONS:
        assert re.search(f'<dt id="reason-{reason}">{reason}</dt><dd>[^<]+</dd>', text), reason


def test_the_last_hour_is_drawn(site):
    def lines():
        text = site.get("/elastic-status").body.decode()
        return dict(re.findall(r'<polyline class="(\w+)" points="([^"]*)"/>', text))

    site.wait_for(lambda: set(lines()) == {"load", "position"}, 60, "a sample")
    for points in lines().values():
        for x, y in re.findall(r"(\S+),(\S+)", points):
            assert 0 <= float(x) <= 600 and 0 <= float(y) <= 100


def test_the_page_warns(httpd, site):
    assert "Warnings" not in site.get("/elastic-status").body.decode()
    server = httpd("Elastic On\nElasticControl external\nElasticPosition {root}/none\n",
                   allow_log=["elastic: .*/none"])
    text = server.get("/elastic-status").body.decode()
    assert "<h2>Warnings</h2>" in text and "position file is not followed" in text


@pytest.mark.parametrize("config,text", [
    ("ElasticCache On", "ElasticCache is off: ElasticCacheStore shmcb is not loaded"),
    ("ElasticInterval 100ms", "ElasticInterval: below 500ms")])
def test_the_page_has_the_warnings_of_the_start(httpd, config, text):
    """Those that the log has, until the configuration has them no more."""
    server = httpd("Elastic On\n" + config, allow_log=["elastic: Elastic"])

    def told():
        page = server.get("/elastic-status").body.decode()
        return re.findall("(?s)<li>(.*?)</li>", page[:page.index("Saved since")])

    assert [line for line in told() if line.startswith(text)]
    server.configure("Elastic On")
    server.graceful()
    server.wait_for(lambda: not told(), 60, "a page without warnings")


def sections(server):
    """{title: keys} of the page's figures."""
    page = server.get("/elastic-status").body.decode()
    return {title: re.findall(r"<td><code>(\S+)</code></td>", text) for title, text in
            re.findall(r"(?s)<h2>([^<]*)</h2>(.*?)</section>", page) if "<td><code>" in text}


def test_the_store_has_a_section_once_it_is_used(httpd):
    server = httpd(keep.KEEP, modules=keep.SHMCB)
    (title, keys), = sections(server).items()
    assert title == "Other figures" and not [key for key in keys if key.startswith("ElasticCache")]
    path, _ = keep.page(server)
    keep.twice(server, path)
    assert keep.is_kept(server, server.get(path, ae="gzip"))
    found = sections(server)
    assert list(found) == ["The store of encodings", "Other figures"]
    assert "ElasticCacheHits" in found["The store of encodings"]
    assert found["Other figures"] == keys


def test_no_form_of_the_status_shows_what_was_asked_for(site):
    """Paths are for those who may read the access log: they may have a tenant's secrets."""
    for _ in range(3):
        for coding in ("gzip", None):
            site.get("/token-1234", ae=coding)
            site.get("/a.txt?token-1234", ae=coding)
    for query in ("", "?auto", "?json", "?openmetrics"):
        assert "token-1234" not in site.get("/elastic-status" + query).body.decode(), query


def test_head_has_no_body_and_other_methods_are_refused(site):
    for query in ("?auto", "?json", ""):
        answer = site.head("/elastic-status" + query)
        assert answer.status == 200 and answer.raw == b""
    for method in ("POST", "PUT", "DELETE"):
        assert site.get("/elastic-status?auto", method=method).status in (403, 404, 405, 501)


def test_a_query_cannot_write_into_the_page(site):
    for query in ("?<script>alert(1)</script>", "?auto=<b>", "?json=%3Cb%3E"):
        assert b"<script>alert" not in site.get("/elastic-status" + query).body


@pytest.mark.smoke
def test_mod_statuss_page_has_the_same_lines(site):
    site.get("/a.txt", ae="gzip")
    own = site.status()
    text = site.get("/server-status?auto").body.decode()
    found = dict(re.findall(r"^(Elastic[\w-]+): (.*)$", text, re.M))
    assert set(found) == set(own)
    for key in ("ElasticVersion", "ElasticControl", "ElasticInterval", "ElasticCompressed",
                "ElasticBytesIn", "ElasticBytesOut"):
        assert found[key] == own[key]


def test_mod_statuss_page_for_people_has_a_section(site):
    text = site.get("/server-status").body.decode()
    assert "elastic" in text.lower() and "</html>" in text.lower()


@pytest.mark.parametrize("config", ["Elastic On", "Elastic Off"])
def test_the_own_page_is_there_without_mod_status(httpd, config):
    assert set(KEYS) <= set(httpd(config).status())


@pytest.mark.parametrize("config,gzip,br", [
    ("ElasticLevel gzip 4\nElasticLevel br 3", "4", "3"),
    ("ElasticControl off", "9", "6"),
    ("ElasticControl off\nElasticLevel gzip 2 7\nElasticLevel br 1 5", "7", "5")])
def test_levels_are_those_of_the_next_response(httpd, config, gzip, br):
    server = httpd(f"Elastic On\n{config}", files={"a.txt": bodies.text(5000)})
    status = server.status()
    assert (status["ElasticLevelGzip"], status["ElasticLevelBr"]) == (gzip, br)
    for coding, level in (("gzip", gzip), ("br", br)):
        assert server.notes(server.get("/a.txt", ae=coding))["elastic-level"] == level


def test_children_share_the_counters(httpd):
    """Every child that serves adds to the same numbers; a graceful reload keeps them."""
    server = httpd("Elastic On", files={"a.txt": bodies.text(5000)})
    with contextlib.ExitStack() as stack:
        for connection in [stack.enter_context(server.connect()) for _ in range(12)]:
            assert connection.request("/a.txt", ae="gzip").coding == "gzip"
    assert server.status()["ElasticCompressed"] == "12"
    server.graceful()
    server.get("/a.txt", ae="gzip")
    assert server.status()["ElasticCompressed"] == "13"
    server.restart()
    assert server.status()["ElasticCompressed"] == "0"


def pairs(value):
    return [tuple(map(float, pair.split("/"))) for pair in value.split(" ")]


def test_each_level_within_the_bounds_has_its_costs(site):
    """Five sizes each; by far, the highest level takes longer than the lowest and makes less."""
    status = site.status()
    for coding, low, high in (("gzip", 1, 9), ("br", 0, 6)):
        assert f"ElasticCost-{coding}-{high + 1}" not in status
        rows = [pairs(status[f"ElasticCost-{coding}-{level}"]) for level in range(low, high + 1)]
        assert all(len(row) == 5 for row in rows)
        for (fast, large), (slow, small) in zip(rows[0], rows[-1]):
            assert 0 < fast < slow and 100 > large > small > 0


def test_costs_are_corrected_by_what_was_measured(httpd):
    """White noise saves nothing, which the table does not expect."""
    server = httpd("Elastic On\nElasticLevel gzip 6", files={"n.txt": bodies.noise(60000)})
    before = pairs(server.status()["ElasticCost-gzip-6"])
    for _ in range(64):
        server.get("/n.txt", ae="gzip;q=1, identity;q=0")
    after = pairs(server.status()["ElasticCost-gzip-6"])
    assert after[3][1] > 2 * before[3][1]
