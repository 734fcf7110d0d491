"""Metrics: the figures of ?auto and histograms of bodies, in Prometheus's text format."""

import gzip
import json
import re
import subprocess
from pathlib import Path

import pytest

from kit import CGID_RELOADED, bodies, check, env
from kit.config import HOLD, vhost

parser = pytest.importorskip("prometheus_client.parser", reason="prometheus_client is not there "
                             "(package python3-prometheus-client)")

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "contrib" / "elastic-alerts.yml"
DASHBOARD = ROOT / "contrib" / "elastic-dashboard.json"
MANUAL = ROOT / "docs" / "manual"

TEXT = "text/plain; version=0.0.4; charset=utf-8"
# As sent by Prometheus 2.
SCRAPER = ("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
           "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1")
WHOLE, STREAM = bodies.text(50000), bodies.text(300000) + b"the end"
FILES = {"a.txt": WHOLE, "i.png": WHOLE, "s.css": WHOLE, "s.css.gz": gzip.compress(WHOLE)}

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


@pytest.fixture(scope="module")
def site(httpd_shared):
    return httpd_shared(CONFIG, files=FILES, cgi={"hold.cgi": HOLD})


def families(server, path="/elastic-metrics"):
    """[family], with samples (name, labels, value, …)."""
    answer = server.get(path, headers={"Accept": SCRAPER})
    assert answer.status == 200
    return [*parser.text_string_to_metric_families(answer.body.decode())]


def samples(server, path="/elastic-metrics"):
    """{(name, labels): value}"""
    return {(sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in families(server, path) for sample in family.samples}


def labelled(**labels):
    return tuple(sorted(labels.items()))


# --- the format


@pytest.mark.smoke
def test_the_format_is_the_text_format_whatever_the_scraper_asks_for(site):
    """Each place has the same samples. The load's samples change meanwhile; the scrapes themselves
    are not compressed."""
    places = ("/elastic-metrics", "/elastic-status?openmetrics", "/elastic-status?openmetrics=")
    for accept in (None, "text/plain", "application/openmetrics-text", SCRAPER):
        for path in places:
            answer = site.get(path, headers={"Accept": accept} if accept else {})
            assert answer.status == 200 and answer.headers["Content-Type"] == TEXT, (path, answer)
            assert b"# EOF" not in answer.body and b"# UNIT" not in answer.body
            assert not answer.has_token("Vary", "Accept")
            assert answer.has_token("Cache-Control", "no-store")
    head = site.head(places[0])
    assert head.status == 200 and head.raw == b"" and head.headers["Content-Type"] == TEXT
    assert site.get(places[0], method="POST").status in (404, 405)
    moving = re.compile(r"uptime|samples|load_ratio|position|price|in_flight|pool|level|skipped|"
                        r"uncompressed")
    own, status = ({key: amount for key, amount in samples(site, path).items()
                    if not moving.search(key[0])} for path in places[:2])
    assert own == status and len(own) > 200


def test_each_family_says_what_it_is(site):
    """A family has a type, a unit, few labels with a bounded number of values, and a place in the
    manual. Those that are also keys of the status page are on its page."""
    there = set()
    for family in families(site):
        name = family.name
        there.add(name + "_total" * (family.type == "counter"))
        assert name.startswith("elastic_") and family.documentation, name
        assert (family.type == "histogram") == (
            name in ("elastic_encoding_seconds", "elastic_body_size_bytes")), name
        assert family.type in ("counter", "gauge", "histogram"), name
        unit = re.search(r"seconds|bytes|ratio", name)
        assert not unit or name.endswith("_" + unit[0]), name
        labels = {label for sample in family.samples for label in sample.labels}
        assert name.endswith("_info") or \
            labels <= {"coding", "engine", "reason", "vhost", "le"}, name
    text = (MANUAL / "metrics.md").read_text()
    tables = re.findall(r"(?m)^\|.*$", (MANUAL / "status.md").read_text() + text)
    rows = set(re.findall(r"`(elastic_\w+)`", "\n".join(tables)))
    # Only present with some configurations.
    some = {"elastic_follows_file", "elastic_byte_price_seconds"}
    assert some <= rows and rows - some == there - some
    assert set(re.findall(r"(?m)^\| `(Elastic\w+)`", text)) == \
        set(re.findall(r"alert: (\w+)", ALERTS.read_text()))


# --- the format


# --- the figures


def test_the_values_are_those_of_the_status_page(site):
    site.get("/a.txt", ae="gzip")
    status, found = site.status(), samples(site)
    for key, name, labels, scale in (
            ("ElasticCompressed", "elastic_compressed_responses_total", {}, 1),
            ("ElasticBytesIn", "elastic_input_bytes_total", {}, 1),
            ("ElasticBytesOut", "elastic_output_bytes_total", {}, 1),
            ("ElasticPrecompressed", "elastic_precompressed_responses_total", {}, 1),
            ("ElasticCpuUsec", "elastic_encoding_cpu_seconds_total", {}, 1e6),
            ("ElasticInterval", "elastic_sample_interval_seconds", {}, 1e3),
            ("ElasticCPUHigh", "elastic_cpu_high_ratio", {}, 1),
            ("ElasticMaxMemory", "elastic_memory_limit_bytes", {}, 1),
            ("ElasticInFlight", "elastic_in_flight_bodies", {}, 1),
            ("ElasticLevelGzip", "elastic_level", {"coding": "gzip"}, 1),
            *((f"ElasticSkipped-{reason}", "elastic_skipped_responses_total", {"reason": reason}, 1)
              for reason in ("off", "small", "tls-compression"))):
        assert found[name, labelled(**labels)] * scale == pytest.approx(float(status[key])), key
    assert found["elastic_build_info", labelled(
        engines=status["ElasticEngines"], version=status["ElasticVersion"])] == 1


@pytest.mark.parametrize("path,coding,engines,body", [
    ("/a.txt", "gzip", ("zlib", "isal", "libdeflate"), WHOLE), ("/a.txt", "br", ("brotli",), WHOLE),
    ("/hold.cgi?300000", "gzip", ("zlib", "isal", "libdeflate"), STREAM),
    ("/s.css", "gzip", ("precompressed",), WHOLE)])
def test_each_body_is_counted_by_its_coding_and_what_made_it(site, path, coding, engines, body):
    before = samples(site)
    sent = site.get(path, ae=coding)
    check.whole(sent, coding, body)
    engine = site.notes(sent)["elastic-engine"]
    assert engine in engines
    found = {key: amount - before.get(key, 0) for key, amount in samples(site).items()
             if amount != before.get(key, 0)}
    made, labels = labelled(coding=coding, engine=engine), labelled(coding=coding)
    assert {key: amount for key, amount in found.items() if key[0].startswith("elastic_coding")} \
        == {(f"elastic_coding_{name}_total", made): amount for name, amount in (
            ("responses", 1), ("input_bytes", len(body)), ("output_bytes", len(sent.raw)))}
    assert found["elastic_body_size_bytes_count", labels] == 1
    assert found["elastic_body_size_bytes_sum", labels] == len(body)
    file = engine == "precompressed"
    assert (("elastic_encoding_seconds_count", labels) in found) != file
    # More than nothing, but not hours, as if nanoseconds were taken for seconds.
    assert file or 0 < found["elastic_encoding_seconds_sum", labels] < 1000
    # Cumulative: every class from its own on.
    buckets = {dict(key[1])["le"] for key in found if key[0] == "elastic_body_size_bytes_bucket"}
    assert buckets == {le for le in ("65536.0", "131072.0", "262144.0", "1048576.0", "16777216.0",
                                     "+Inf") if float(le) >= len(body)}


def of_vhosts(server):
    """{vhost: {figure: value}}"""
    found = {}
    for (name, labels), value in samples(server).items():
        if name.startswith("elastic_vhost"):
            figure = name.removeprefix("elastic_vhost_").removesuffix("_total")
            found.setdefault(dict(labels)["vhost"], {})[figure] = value
    return found


# More names than have a series of their own; the main server's is the first.
NAMES = ["Example.org", "other", *(f"v{number}.example.org" for number in range(18))]


def test_virtual_hosts_are_counted_up_to_a_bound(httpd):
    """A reload keeps the counts of names that stay."""
    server = httpd(CONFIG + "".join(map(vhost, NAMES)) + vhost("EXAMPLE.org", "Elastic Off"),
                   files=FILES, allow_log=[CGID_RELOADED])

    def ask(name, path="/a.txt"):
        return server.get(path, ae="gzip", headers={"Host": name})

    sent = [len(ask("example.org").raw) for _ in range(2)]
    ask("example.org", "/i.png")
    ask("v0.example.org", "/s.css")
    for name in ("other", "v14.example.org", "v17.example.org"):
        assert ask(name).coding == "gzip"
    found = of_vhosts(server)
    # The scrapes count for this host, too.
    assert found["example.org"].pop("uncompressed_responses") >= 1
    assert found["example.org"] == {
        "compressed_responses": 2, "precompressed_responses": 0,
        "input_bytes": 2 * len(WHOLE), "output_bytes": sum(sent)}
    assert found["v0.example.org"]["precompressed_responses"] == 1
    assert found["other"]["compressed_responses"] == 3
    assert set(found) == {"localhost", "example.org", "other",
                          *(f"v{number}.example.org" for number in range(14))}
    server.configure(CONFIG + vhost("v0.example.org") + vhost("new.example.org"))
    server.graceful()
    server.wait_for(lambda: "example.org" not in of_vhosts(server), 60, "the new configuration")
    found = of_vhosts(server)
    assert found["v0.example.org"]["precompressed_responses"] == 1
    assert found["new.example.org"]["compressed_responses"] == 0 and "other" not in found
    for most, named in ((2, {"localhost", "v0.example.org"}), (0, set())):
        server.configure(CONFIG + f"ElasticVhosts {most}\n" + "".join(map(vhost, NAMES[2:])))
        server.restart()
        assert ask("v2.example.org").coding == "gzip"
        found = of_vhosts(server)
        assert set(found) == named | {"other"} and found["other"]["compressed_responses"] == 1


# --- users of the metrics


def queries():
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            yield (target["expr"].replace("$__rate_interval", "1m").replace("$__range", "1h")
                   .replace("$job", ".*").replace("$instance", ".*"))


def test_alerts_and_dashboard_ask_for_what_is_there(site):
    there = {key[0] for key in samples(site)} | {"elastic_follows_file"}
    asked = re.findall(r"\belastic_\w+", ALERTS.read_text() + " ".join(queries()))
    assert len(set(asked)) > 20 and set(asked) <= there, set(asked) - there


def test_promtool_has_nothing_to_say(site, tmp_path):
    """Uses promtool of Debian's package prometheus. The dashboard's queries are checked as
    recording rules."""
    program = env.DEBIAN / "usr/bin/promtool"
    if not program.exists():
        pytest.skip("promtool is not there (package prometheus)")
    rules = tmp_path / "rules.yml"  # JSON is YAML
    rules.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": [
        {"record": f"query:{number}", "expr": query} for number, query in enumerate(queries())]}]}))
    site.get("/a.txt", ae="gzip")
    for arguments, text in ((["metrics"], site.get("/elastic-metrics").body),
                            (["rules", ALERTS], b""), (["rules", rules], b"")):
        done = subprocess.run([program, "check", *arguments], input=text, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, done.stdout
        assert arguments != ["metrics"] or done.stdout == b""
