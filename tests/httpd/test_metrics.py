"""Metrics: the figures of ?auto and histograms of bodies, in Prometheus's text format."""

import gzip
import json
import os
import re
import signal
from pathlib import Path

import pytest

from kit import bodies
from kit.prometheus import Prometheus, promtool

parser = pytest.importorskip("prometheus_client.parser", reason="prometheus_client is not there "
                             "(package python3-prometheus-client)")

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "contrib" / "elastic-alerts.yml"
DASHBOARD = ROOT / "contrib" / "elastic-dashboard.json"
MANUAL = ROOT / "docs" / "manual"

TEXT = "text/plain; version=0.0.4; charset=utf-8"
# What Prometheus 2 sends.
SCRAPER = ("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
           "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1")
WHOLE = bodies.text(50000)
STREAM = bodies.text(300000)

CONFIG = """
Elastic On
ElasticLevel gzip 6
ElasticLevel br 4
ElasticPrecompressed On
ElasticMaxMemory 1G
<Location /elastic-metrics>
    SetHandler elastic-metrics
</Location>
"""

# The stream is held while the file is there.
HOLD = """
head("Content-Type: text/plain")
out(bodies.text(300000))
while os.path.exists(os.path.join(os.environ["DOCUMENT_ROOT"], "hold")):
    time.sleep(0.02)
"""


@pytest.fixture(scope="module")
def site(httpd_shared):
    server = httpd_shared(CONFIG, files={"a.txt": WHOLE, "i.png": WHOLE, "s.css": WHOLE},
                          cgi={"hold.cgi": HOLD})
    server.write("s.css.gz", gzip.compress(WHOLE))
    return server


def families(server, path="/elastic-metrics"):
    """{name: family}; its samples are (name, labels, value, …)."""
    answer = server.get(path, headers={"Accept": SCRAPER})
    assert answer.status == 200
    return {family.name: family
            for family in parser.text_string_to_metric_families(answer.body.decode())}


def samples(server, path="/elastic-metrics"):
    """{(name, labels): value}."""
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in families(server, path).values() for sample in family.samples}


def value(server, name, **labels):
    return samples(server)[name, tuple(sorted(labels.items()))]


@pytest.mark.smoke
@pytest.mark.parametrize("accept", [None, "text/plain", "application/openmetrics-text", SCRAPER])
def test_the_format_is_the_text_format_whatever_the_scraper_asks_for(site, accept):
    headers = {"Accept": accept} if accept else {}
    for path in ("/elastic-metrics", "/elastic-status?openmetrics"):
        answer = site.get(path, headers=headers)
        assert answer.status == 200 and answer.headers["Content-Type"] == TEXT, (path, answer)
        assert b"# EOF" not in answer.body and b"# UNIT" not in answer.body
        assert not answer.has_token("Vary", "Accept")
        assert answer.has_token("Cache-Control", "no-store")


def test_head_and_other_methods(site):
    head = site.head("/elastic-metrics")
    assert head.status == 200 and head.raw == b"" and head.headers["Content-Type"] == TEXT
    assert site.get("/elastic-metrics", method="POST").status in (404, 405)


def test_promtool_has_nothing_to_say(site):
    site.get("/a.txt", ae="gzip")
    text = site.get("/elastic-metrics").body
    assert promtool("check", "metrics", text=text) == (True, "")


def test_each_place_has_the_same_samples(site):
    """Those of the load change meanwhile, and the scrapes themselves are not compressed."""
    moving = re.compile(r"uptime|samples|load_ratio|position|price|in_flight|pool|level|skipped|"
                        r"uncompressed")

    def still(found):
        return {key: amount for key, amount in found.items() if not moving.search(key[0])}

    own, status = still(samples(site)), still(samples(site, "/elastic-status?openmetrics"))
    assert own == status and len(own) > 200


def test_each_family_says_what_it_is(site):
    for name, family in families(site).items():
        assert name.startswith("elastic_") and family.documentation, name
        assert family.type in ("counter", "gauge", "histogram"), name
        unit = re.search(r"seconds|bytes|ratio", name)
        assert not unit or name.endswith("_" + unit[0]), name


def test_the_labels_are_few(site):
    """Each has a bounded number of values; an info has one sample."""
    found = {label for key in samples(site) for label, _ in key[1] if not key[0].endswith("_info")}
    assert found == {"coding", "engine", "reason", "vhost", "le"}
    histograms = {name for name, family in families(site).items() if family.type == "histogram"}
    assert histograms == {"elastic_encoding_seconds", "elastic_body_size_bytes"}


def test_the_values_are_those_of_the_status_page(site):
    site.get("/a.txt", ae="gzip")
    status, found = site.status(), samples(site)
    for key, name, scale in (
            ("ElasticCompressed", "elastic_compressed_responses_total", 1),
            ("ElasticBytesIn", "elastic_input_bytes_total", 1),
            ("ElasticBytesOut", "elastic_output_bytes_total", 1),
            ("ElasticPrecompressed", "elastic_precompressed_responses_total", 1),
            ("ElasticCpuUsec", "elastic_encoding_cpu_seconds_total", 1e6),
            ("ElasticInterval", "elastic_sample_interval_seconds", 1e3),
            ("ElasticCPUHigh", "elastic_cpu_high_ratio", 1),
            ("ElasticMaxMemory", "elastic_memory_limit_bytes", 1)):
        assert found[name, ()] * scale == pytest.approx(float(status[key])), key
    for reason in ("off", "small", "tls-compression"):
        key = ("elastic_skipped_responses_total", (("reason", reason),))
        assert found[key] == float(status["ElasticSkipped-" + reason])
    assert found["elastic_level", (("coding", "gzip"),)] == float(status["ElasticLevelGzip"])
    build = ("elastic_build_info", (("engines", status["ElasticEngines"]),
                                    ("version", status["ElasticVersion"])))
    assert found[build] == 1


def grown(server, act):
    before = samples(server)
    act()
    return {key: amount - before.get(key, 0) for key, amount in samples(server).items()
            if amount != before.get(key, 0)}


@pytest.mark.parametrize("path,coding,engines,body", [
    ("/a.txt", "gzip", ("zlib", "isal", "libdeflate"), WHOLE),
    ("/a.txt", "br", ("brotli",), WHOLE),
    ("/hold.cgi", "gzip", ("zlib", "isal", "libdeflate"), STREAM),
    ("/s.css", "gzip", ("precompressed",), WHOLE)])
def test_each_body_is_counted_by_its_coding_and_what_made_it(site, path, coding, engines, body):
    def ask():
        sent.append(site.get(path, ae=coding))
        assert sent[0].coding == coding and sent[0].body == body
        engine.append(site.notes(sent[0])["elastic-engine"])

    sent, engine = [], []
    found = grown(site, ask)
    assert engine[0] in engines
    made = (("coding", coding), ("engine", engine[0]))
    assert found["elastic_coding_responses_total", made] == 1
    assert found["elastic_coding_input_bytes_total", made] == len(body)
    assert found["elastic_coding_output_bytes_total", made] == len(sent[0].raw)
    assert not {key for key in found if key[0].startswith("elastic_coding") and key[1] != made}
    labels = (("coding", coding),)
    assert found["elastic_body_size_bytes_count", labels] == 1
    assert found["elastic_body_size_bytes_sum", labels] == len(body)
    file = engine[0] == "precompressed"
    assert (("elastic_encoding_seconds_count", labels) in found) != file
    # Neither instantly nor, as it would be if nanoseconds were taken for seconds, for hours.
    assert file or 0 < found["elastic_encoding_seconds_sum", labels] < 1000
    # Cumulative: every class from its own up.
    buckets = {dict(key[1])["le"] for key in found if key[0] == "elastic_body_size_bytes_bucket"}
    assert buckets == {le for le in ("65536.0", "131072.0", "262144.0", "1048576.0", "16777216.0",
                                     "+Inf") if float(le) >= len(body)}


def test_what_is_not_compressed_is_counted_by_reason(site):
    found = grown(site, lambda: site.get("/i.png", ae="gzip"))
    assert found["elastic_skipped_responses_total", (("reason", "type"),)] >= 1
    assert not any(key[0].startswith("elastic_body") for key in found)


def vhost(name, *lines):
    return (f"<VirtualHost 127.0.0.1:{{port}}>\nServerName {name}\n" + "\n".join(lines)
            + "\n</VirtualHost>\n")


# More names than have a series of their own; the main server's is the first.
NAMES = ["Example.org", "other", *(f"v{number}.example.org" for number in range(18))]
OTHERS = ("other", "v14.example.org", "v17.example.org")


def test_virtual_hosts_are_counted_up_to_a_bound(httpd):
    """A reload keeps the counts of those that stay."""
    server = httpd(CONFIG + "".join(map(vhost, NAMES)) + vhost("EXAMPLE.org", "Elastic Off"),
                   files={"a.txt": WHOLE, "i.png": WHOLE, "s.css": WHOLE})
    server.write("s.css.gz", gzip.compress(WHOLE))

    def counted(name):
        found = samples(server)
        return {key[0].removeprefix("elastic_vhost_").removesuffix("_total"): value
                for key, value in found.items() if key[1] == (("vhost", name),)}

    def ask(name, path):
        return server.get(path, ae="gzip", headers={"Host": name})

    sent = [len(ask("example.org", "/a.txt").raw) for _ in range(2)]
    ask("example.org", "/i.png")
    ask("v0.example.org", "/s.css")
    for name in OTHERS:
        assert ask(name, "/a.txt").coding == "gzip"
    found = counted("example.org")
    # The scrapes are of this host, too.
    assert found.pop("uncompressed_responses") >= 1
    assert found == {"compressed_responses": 2, "precompressed_responses": 0,
                     "input_bytes": 2 * len(WHOLE), "output_bytes": sum(sent)}
    assert counted("v0.example.org")["precompressed_responses"] == 1
    assert counted("other")["compressed_responses"] == len(OTHERS)
    names = {dict(key[1])["vhost"] for key in samples(server) if key[0].startswith("elastic_vhost")}
    assert names == {"localhost", "example.org", "other", *(f"v{i}.example.org" for i in range(14))}
    ok = promtool("check", "metrics", text=server.get("/elastic-metrics").body)
    assert ok == (True, "")
    server.configure(CONFIG + vhost("v0.example.org") + vhost("new.example.org"))
    server.graceful()
    server.wait_for(lambda: not counted("example.org"), 60, "the new configuration")
    assert counted("v0.example.org")["precompressed_responses"] == 1
    assert counted("new.example.org")["compressed_responses"] == 0
    assert not counted("other")


@pytest.mark.parametrize("most,named", [(2, {"localhost", "v0.example.org"}), (0, set())])
def test_the_configuration_says_how_many_virtual_hosts_are_counted(httpd, most, named):
    server = httpd(CONFIG + f"ElasticVhosts {most}\n"
                   + "".join(vhost(f"v{number}.example.org") for number in range(3)),
                   files={"a.txt": WHOLE})
    assert server.get("/a.txt", ae="gzip", headers={"Host": "v2.example.org"}).coding == "gzip"
    found = {dict(key[1])["vhost"]: value for key, value in samples(server).items()
             if key[0] == "elastic_vhost_compressed_responses_total"}
    assert set(found) == named | {"other"} and found["other"] == 1


def in_flight(server, count):
    server.wait_for(lambda: value(server, "elastic_in_flight_bodies") == count, 60,
                    f"{count} bodies in flight")


def test_bodies_in_flight_are_counted_until_they_end_or_their_child_is_killed(httpd):
    server = httpd(CONFIG, cgi={"hold.cgi": HOLD})
    server.write("hold", "")
    with server.stream("/hold.cgi", ae="gzip") as one:
        assert one.coding == "gzip"
        with server.stream("/hold.cgi", ae="gzip"):
            in_flight(server, 2)
        (server.docs / "hold").unlink()
        assert one.read_all() == STREAM
    in_flight(server, 0)
    server.write("hold", "")
    server.expect_log("exit signal Killed|AH00052")
    with server.stream("/hold.cgi", ae="gzip"):
        in_flight(server, 1)
        killed = set(server.children())
        for pid in killed:
            os.kill(pid, signal.SIGKILL)
        # One that has not gone yet may still take a connection, and resets it.
        server.wait_for(lambda: not killed & set(server.children()), 60, "the children's end")
        in_flight(server, 0)
    (server.docs / "hold").unlink()


@pytest.mark.debian
def test_prometheus_scrapes_it(site):
    """A scrape that takes too long on a busy machine is made up for by the next. They are gzip."""
    for _ in range(3):
        site.get("/a.txt", ae="br")
    name = "elastic_coding_responses_total"
    server = Prometheus(site.port, "/elastic-metrics", ALERTS)

    def comes(query, is_right):
        site.wait_for(lambda: any(is_right(number) for _, number in server.query(query)), 120,
                      query)

    try:
        count = name + '{coding="br",engine="brotli"}'
        wanted = value(site, name, coding="br", engine="brotli")
        comes(count, lambda number: number == wanted >= 3)
        comes('histogram_quantile(0.5, elastic_body_size_bytes_bucket{coding="br"})',
              lambda number: 30000 < number < 70000)
        site.get("/a.txt", ae="br")
        comes(count, lambda number: number == wanted + 1)
        site.wait_for(lambda: set(server.rules().values()) == {"ok"}, 120, "the rules")
        for query in queries():
            server.query(query)
    finally:
        server.stop()


def queries():
    """Those of the dashboard."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    for panel in panels:
        for target in panel["targets"]:
            yield (target["expr"].replace("$__rate_interval", "1m").replace("$__range", "1h")
                   .replace("$job", ".*").replace("$instance", ".*"))


def test_the_alerts_are_as_promtool_wants_them():
    ok, said = promtool("check", "rules", ALERTS)
    assert ok, said


def test_alerts_and_dashboard_ask_for_what_is_there(site):
    there = {key[0] for key in samples(site)} | {"elastic_follows_file"}
    asked = re.findall(r"\belastic_\w+", ALERTS.read_text() + " ".join(queries()))
    assert len(set(asked)) > 20 and set(asked) <= there, set(asked) - there


def test_the_manual_has_every_family_and_alert(site):
    """Those that are keys of the status page as well, on its page."""
    text = (MANUAL / "metrics.md").read_text()
    tables = re.findall(r"(?m)^\|.*$", (MANUAL / "status.md").read_text() + text)
    rows = set(re.findall(r"`(elastic_\w+)`", "\n".join(tables)))
    there = {re.sub("_total$", "", name) + ("_total" if family.type == "counter" else "")
             for name, family in families(site).items()}
    # Only with some configurations.
    some = {"elastic_follows_file", "elastic_byte_price_seconds"}
    assert some <= rows and rows - some == there - some
    assert set(re.findall(r"(?m)^\| `(Elastic\w+)`", text)) == \
        set(re.findall(r"alert: (\w+)", ALERTS.read_text()))
