"""The status pages: ?auto, ?json, HTML, and the section in mod_status's page; and the access to
them. test_manual.py proves that all keys and reasons exist."""

import html
import json
import re
import time
from pathlib import Path

import pytest

from kit import bodies, env, faults, hour as hour_kit, keep
from kit.dictionary import make_store
from kit.driven import start_driven

FORMS = {"?auto": "text/plain", "?json": "application/json", "": "text/html"}

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


def page_of(server):
    return server.get("/elastic-status").body.decode()


def figures_of(page):
    """{key: value} of the tables of figures."""
    return {key: value for value, key in
            re.findall(r"<td>([^<]*)</td><td><code>([\w-]+)</code>", page)}


def facts_of(server):
    """{name: (value, note)} of the page's first figures."""
    found = re.findall("<dt>(.*?)</dt><dd><b>(.*?)</b>(.*?)</dd>", page_of(server))
    return {name: tuple(rest) for name, *rest in found}


# --- the figures


@pytest.mark.smoke
@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_a_page_of_its_type(site, form):
    answer = site.get("/elastic-status" + form)
    assert answer.status == 200 and answer.headers["Content-Type"].startswith(FORMS[form])
    head = site.head("/elastic-status" + form)
    assert head.status == 200 and head.raw == b""
    for method in ("POST", "PUT", "DELETE"):
        assert site.get("/elastic-status" + form, method=method).status in (403, 404, 405, 501)


@pytest.mark.smoke
def test_all_forms_have_the_same_figures(site):
    """?auto has every key once. Its unquoted values are numbers in the JSON, unless they are text.
    mod_status's page has the same lines."""
    site.wait_for(lambda: int(site.status()["ElasticSamples"]) >= 2, 30, "two samples")
    lines = site.get("/elastic-status?auto").body.decode().splitlines()
    assert all(re.fullmatch(r"[\w-]+: \S.*", line) for line in lines if line)
    keys = [line.partition(": ")[0] for line in lines if line]
    status = site.status()
    assert len(keys) == len(set(keys)) > 50 and set(keys) == set(status)

    values = json.loads(site.get("/elastic-status?json").body)
    texts = {key for key, value in values.items() if isinstance(value, str)}
    assert set(values) == set(status) and {key for key in texts if "ElasticCost-" not in key} == {
        "ElasticVersion", "ElasticEngines", "ElasticControl", "ElasticGoal", "ElasticLoad"}
    assert all(type(values[key]) in (int, float) for key in set(values) - texts)

    page, shown = page_of(site), figures_of(page_of(site))
    assert page.lstrip().lower().startswith("<!doctype html") and "</html>" in page.lower()
    assert set(shown) <= set(status) and len(shown) > 50
    lines = dict(re.findall(r"(?m)^(Elastic[\w-]+): (.*)$",
                            site.get("/server-status?auto").body.decode()))
    assert set(lines) == set(status)
    section = site.get("/server-status").body.decode().lower()
    assert "elastic" in section and "</html>" in section
    for key, value in (("ElasticControl", "step"), ("ElasticInterval", "700"),
                       ("ElasticCPULow", "0.400"), ("ElasticCPUHigh", "0.700"),
                       ("ElasticBypass", "0"), ("ElasticVersion", status["ElasticVersion"]),
                       ("ElasticBytesOut", status["ElasticBytesOut"])):
        assert status[key] == lines[key] == value and shown.get(key, value) == value, key
    assert int(status["ElasticUptime"]) >= 1
    assert 0 <= float(status["ElasticCPU"]) <= 1 and 0 <= float(status["ElasticPosition"]) <= 1


THRESHOLDS = {"ElasticCPULow", "ElasticCPUHigh"}
UNUSED = {*THRESHOLDS, "ElasticBypass"}
PINNED = "ElasticLevel gzip 6\nElasticLevel br 5\n" + "ElasticLevel zstd 3\n" * env.HAS_ZSTD


# (configuration, figures from which nothing follows, what the page says about the levels)
@pytest.mark.parametrize("config,unused,note", [
    ("", UNUSED, ".*"), ("ElasticBypass 95", set(), ".*"),
    ("ElasticIdle 10", UNUSED - {"ElasticCPULow"}, ".*"),
    ("ElasticControl step", {"ElasticBypass"},
     r"\d+ % of the way from the lowest to the highest levels"),
    ("ElasticControl mix\nElasticBypass 95", set(), ".*"),
    ("ElasticControl off", {*UNUSED, "ElasticCPU", "ElasticInterval", "ElasticSamples",
                            "ElasticSteps", "ElasticPosition"},
     "Always the highest levels: ElasticControl is off"),
    (PINNED, UNUSED, "Always these levels: ElasticLevel pins them"),
    ("ElasticGoal cost 1/h 0/GB", UNUSED,
     "Compressing as fast as possible: by ElasticGoal, sending bytes costs nothing")])
def test_people_see_no_figure_from_which_nothing_follows(httpd, config, unused, note):
    """Programs find every key, whatever the goal. Without a load the page shows none."""
    server = httpd("Elastic On\n" + config)
    keys = {key for key in server.status() if not key.startswith("ElasticCost-")}
    assert keys - set(figures_of(page_of(server))) == unused <= keys
    server.wait_for(lambda: re.fullmatch(note, facts_of(server)["Levels now"][1]), 60, note)
    if "ElasticCPU" in unused:
        assert list(facts_of(server)) == ["Saved since the start", "CPU time since the start",
                                          "Levels now"]
        assert "The last hour" not in page_of(server)


def test_children_share_the_counters(httpd):
    server = httpd("Elastic On", files={"a.txt": bodies.text(5000)})
    connections = [server.connect() for _ in range(12)]
    answers = []
    for connection in connections:
        answers.append(connection.request("/a.txt", ae="gzip"))
        connection.close()
    status = server.status()
    for key, value in (("ElasticCompressed", 12), ("ElasticBytesIn", 12 * 5000),
                       ("ElasticBytesOut", sum(len(answer.raw) for answer in answers))):
        assert status[key] == str(value), key
    server.graceful()
    server.get("/a.txt", ae="gzip")
    after = server.status()
    assert after["ElasticCompressed"] == "13"
    assert int(after["ElasticCpuUsec"]) >= int(status["ElasticCpuUsec"])
    server.restart()
    assert server.status()["ElasticCompressed"] == "0"


# --- the page


@pytest.mark.parametrize("query", ["", "?manual"])
def test_the_page_loads_nothing_from_elsewhere(site, query):
    answer = site.get("/elastic-status" + query)
    rules = dict(rule.split(" ", 1) for rule in
                 answer.headers["Content-Security-Policy"].split("; "))
    assert rules.pop("default-src") == "'none'" and rules.pop("style-src") == "'self'"
    assert set(rules.values()) <= {"'none'", "'self'"}
    text = answer.body.decode()
    assert "<style" not in text and " style=" not in text and "<script" not in text
    assert not re.search(r"""(?:href|src)="(?![?#])""", text), "parts of its own, and no others"
    assert '="?style"' in text
    style = site.get("/elastic-status?style")
    assert style.headers["Content-Type"].startswith("text/css")
    assert style.body and b"http" not in style.body and b"url" not in style.body


def luminance(color):
    shares = [int(color[at:at + 2], 16) / 255 for at in (0, 2, 4)]
    return sum(part * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
               for part, c in zip((0.2126, 0.7152, 0.0722), shares))


def test_its_colors_can_be_read(site):
    """By WCAG 2.1 (1.4.3, 1.4.11), on browsers' default backgrounds for light and dark pages. Only
    lines of tables and of the grid may have less contrast."""
    style = site.get("/elastic-status?style").body.decode()
    light, dark, ink = (dict(re.findall(r"--(\w+): #(\w+)", block))
                        for block in re.findall(r":root {(.*?)}", style))
    assert "color-scheme: light dark" in style and "background" not in style
    assert set(re.findall(r"#(\w+)", style)) == {*light.values(), *dark.values(), *ink.values()}
    assert set(light) == set(dark) == set(ink) == {"line", "red", "blue"}
    for name in ("red", "blue"):
        assert 1.05 / (luminance(light[name]) + 0.05) >= 4.5
        assert (luminance(dark[name]) + 0.05) / (luminance("222222") + 0.05) >= 4.5
        assert ink[name] == "000"


def test_the_page_says_what_was_saved_and_by_what(site):
    def saved():
        engine = site.notes(site.get("/a.txt", ae="br"))["elastic-engine"]
        assert f'<th scope="row">br, {engine}<svg' in page_of(site)
        facts = facts_of(site)
        return re.fullmatch("[0-9.]+ [KM]B", facts.get("Saved today", ("", ""))[0])

    site.wait_for(saved, 60, "what was saved")
    facts = facts_of(site)
    assert list(facts) == ["Saved today", "CPU time today", "Levels now", "CPU load, last minute"]
    assert re.fullmatch(r"\d+ % of [0-9.]+ [KM]B", facts["Saved today"][1])
    assert re.fullmatch(r"[0-9.]+ s", facts["CPU time today"][0])
    assert re.fullmatch(r"[0-9.]+ % of [0-9.]+ CPUs", facts["CPU time today"][1])
    assert re.fullmatch(r"gzip \d+, br \d+(, zstd \d+)?", facts["Levels now"][0])
    assert re.fullmatch(r"\d+ %", facts["CPU load, last minute"][0])
    assert re.fullmatch(r"of [0-9.]+ CPUs; last sample \d+ %", facts["CPU load, last minute"][1])


def test_a_price_is_told_in_words_and_its_number_in_the_details(httpd):
    driven = start_driven(httpd, "ElasticGoal time 5Mbit/s")

    def told(percent, words):
        driven.stat.busy(percent)
        return facts_of(driven.server)["Levels now"][1] == words

    for percent, words in ((2, "Compressing as hard as the idle CPU allows"),
                           (100, "Compressing very little: the CPU is nearly full")):
        driven.server.wait_for(lambda: told(percent, words), 60, words)
        page = page_of(driven.server)
        above, details = page.split("<summary>Details</summary>")
        assert float(figures_of(details)["ElasticPrice"]) > 0 and " ns" not in above


def test_the_last_minutes_have_their_load_and_the_bytes_that_each_saved(httpd, tmp_path):
    """The clock stands ten seconds into a minute at first. One busy moment does not look like a
    busy machine."""
    clock = faults.Clock(tmp_path)
    clock.skip(monotonic=int(70 - time.monotonic() % 60))
    driven = start_driven(httpd, "ElasticLevel gzip 6\n", **clock.options)
    server = driven.server
    server.write("page.txt", bodies.text(50000))
    saved = []
    for load, count in ((30, 1), (32, 3), (34, 0), (36, 2)):
        status = server.status()
        for _ in range(count):
            assert server.get("/page.txt", ae="gzip").coding == "gzip"
        after = driven.load(load)
        saved.append(sum(sign * (int(after[key]) - int(status[key])) for key, sign in (
            ("ElasticBytesIn", 1), ("ElasticBytesOut", -1))))
        clock.skip(monotonic=60)
    driven.load(96)

    # The last one first.
    page, units = page_of(server), {"bytes": 1, "KB": 1000, "MB": 1000000}
    rows = re.findall(
        r'<th scope="row">\d+</th><td>(\d+) %</td><td>\d+ %</td><td>([0-9.]+) (\w+)</td>', page)
    loads = [int(load) for load, _, _ in rows]
    rows = [float(number) * units[unit] for _, number, unit in rows]
    assert saved[0] > 20000 and saved[1] == 3 * saved[0]
    assert rows[:5] == pytest.approx([0, *saved[::-1]], rel=0.05, abs=100)
    bars = re.findall(r"M(\d+) 40v-([0-9.]+)h5v\2z", page)
    assert [int(x) for x, _ in bars] == [6 * (59 - age) for age in (4, 3, 1)]
    assert [float(high) for _, high in bars] == pytest.approx([40 / 3, 40, 80 / 3], abs=0.2)
    most = re.search("<text[^>]*>bytes saved, at most ([0-9.]+) KB a minute</text>", page)[1]
    assert float(most) == pytest.approx(saved[1] / 1000, abs=0.1)

    mean, note = facts_of(server)["CPU load, last minute"]
    # The clock goes on, and each tick counts the last sample once more.
    assert min(loads[:2]) - 1 <= int(mean.removesuffix(" %")) <= (2 * 96 + loads[1]) / 3
    assert note.endswith("; last sample 96 %")


def test_today_begins_at_midnight(httpd, tmp_path):
    def saved(pattern):
        server.wait_for(lambda: re.fullmatch(
            pattern, facts_of(server).get("Saved today", ("", ""))[0]), 60, pattern)

    clock = faults.Clock(tmp_path)
    server = httpd("Elastic On", files={"a.txt": bodies.text(50000)}, **clock.options)
    for _ in range(2):
        server.get("/a.txt", ae="gzip")
        saved("[0-9.]+ KB")
        clock.skip(calendar=24 * 3600)
        saved("0 bytes")
        assert facts_of(server)["CPU time today"][0] == "0.00 s"
    assert server.status()["ElasticCompressed"] == "2"


def test_each_reason_on_the_page_says_what_it_means_and_how_many(site):
    """A bar shows the share of all responses."""
    site.get("/a.txt")
    status = site.status()
    rows = re.findall(r'<th scope="row">(.*?)<svg.*?<rect width="([0-9.]+)".*?</th><td>(\d+)</td>',
                      page_of(site))
    counts = {name: (float(width), int(count)) for name, width, count in rows}
    responses = sum(count for _, count in counts.values())
    for key, value in status.items():
        note = key.removeprefix("ElasticSkipped-")
        found = [name for name in counts
                 if name.endswith(f': <a href="?manual#{note}">{note}</a>')]
        assert len(found) == (note != key and value != "0"), key
        # Each of the two requests counts as such a response.
        more = int(note == "not-acceptable")
        assert not found or counts[found[0]][1] == int(value) + more
    assert any(name.startswith("The client takes no coding that is enabled: ") for name in counts)
    for width, count in counts.values():
        assert abs(width - 100 * count / responses) < 0.1


def test_a_reasons_link_leads_to_its_section_of_the_manual(site):
    """The manual's own words."""
    source = (Path(__file__).parents[2] / "docs/manual/troubleshooting.md").read_text()
    text = re.sub(r" \([\w-]+\.md\)", "", site.get("/elastic-status?manual").body.decode())
    sections = dict(re.findall("(?s)<h2 id=([a-z-]+)>.*?</h2>(.*?)(?=<h2|</main>)", text))
    reasons = {key.removeprefix("ElasticSkipped-") for key in site.status()
               if key.startswith("ElasticSkipped-")}
    assert set(sections) == reasons
    for reason, words in re.findall(r"(?ms)^### (\S+)\n(.*?)(?=^##)", source):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)|(?m:^```.*$)", r"\1", words)
        shown = html.unescape(re.sub("<[^>]*>", "", sections[reason]))
        assert re.findall(r"\w+", shown) == re.findall(r"\w+", words)


def test_the_last_hour_has_lines_and_values(httpd, tmp_path):
    """The chart has axes and a legend, and its lines differ without colors, too."""
    hour = hour_kit.start(httpd, tmp_path, "ElasticControl step\n")
    text, style = page_of(hour), hour.get("/elastic-status?style").body.decode()
    rows = re.findall(r'<th scope="row">(\d+)</th><td>(\d+) %</td><td>(\d+) %</td>', text)
    lines = {name: re.findall(r"[ML](\d+) ([0-9.]+)h6", path) for name, path in
             re.findall(r'<path class="(\w+)" d="(M\d+ [0-9.]+h6[^"]*)"/>', text)}
    minutes, *values = ([int(row[i]) for row in reversed(rows)] for i in range(3))
    # A minute may begin with the previous load.
    pairs = list(zip(values[0][::-1], hour_kit.LOADS[::-1], hour_kit.LOADS[-2::-1]))
    assert len(pairs) > 50 and all(min(own, before) <= value <= max(own, before)
                                   for value, own, before in pairs)
    assert sum(value == own for value, own, _ in pairs) > len(pairs) / 2
    assert len(set(values[1])) > 3
    for name, shown in zip(("load", "level"), values):
        assert [int(x) for x, _ in lines[name]] == [6 * (59 - minute) for minute in minutes]
        for (_, y), value in zip(lines[name], shown):
            assert abs(100 - float(y) - value) < 0.6
    (chart,) = re.findall(r'(?s)<svg[^>]* role="img".*?</svg>', text)
    assert re.findall("<text[^>]*>(.*?)</text>", chart) == [
        "CPU load", "levels (100 %: the highest)", "100 %", "50 %", "0 %",
        "60 minutes ago", "30", "now", "bytes saved, at most 0 bytes a minute"]
    title = re.search('aria-labelledby="(.*?)"', chart)[1]
    assert re.search(f'<title id="{title}">[^<]+ in percent, [^<]+</title>', chart)
    rules = dict(re.findall(r"(?m)^\.(load|level) {(.*)}$", style))
    assert "dasharray" in rules["level"] and "dasharray" not in rules["load"]


@pytest.mark.parametrize("config,text", [
    ("ElasticControl external\nElasticPosition {root}/none", "the position file is not followed"),
    ("ElasticCache On", "ElasticCache is off: ElasticCacheStore shmcb is not loaded"),
    ("ElasticInterval 100ms", "ElasticInterval: below 500ms")])
def test_the_page_has_the_warnings_of_the_start(httpd, config, text):
    """Warnings in the log stay on the page until the configuration no longer causes them."""
    server = httpd("Elastic On\n" + config, allow_log=["elastic: "])

    def told():
        page = page_of(server)
        return re.findall("(?s)<li>(.*?)</li>", page[:page.index("<dl>")])

    server.wait_for(lambda: [line for line in told() if text.lower() in line.lower()], 30, text)
    server.configure("Elastic On")
    server.graceful()
    server.wait_for(lambda: not told() and "Warnings" not in page_of(server), 60, "no warnings")


@pytest.mark.parametrize("titles", [(), ("Cache",), ("Dictionaries",), ("Cache", "Dictionaries")])
def test_sections_are_in_order_and_those_of_options_where_they_are_on(httpd, titles):
    options = {"Cache": ("ElasticCache On\n", "ElasticCacheHits"),
               "Dictionaries": ("ElasticDictionaryStore {root}/dictionaries", "ElasticDifferences")}
    server = httpd("Elastic On\nElasticInterval 100ms\n"
                   + "".join(options[title][0] for title in titles), modules=keep.SHMCB,
                   start=False, allow_log=["elastic: ElasticInterval"])
    make_store(server)
    server.start()
    text = page_of(server)
    found = re.findall(r"<h2>(.*?)</h2>|(<dl>)|<summary>(.*?)</summary>", text)
    assert ["".join(parts) for parts in found] == [
        "Warnings", "<dl>", "The last hour", "Values", "Compressed responses", "Not compressed",
        *titles, "Virtual hosts", "Details"]
    for title, (_, key) in options.items():
        section = re.search(f"(?s)<h2>{title}</h2>(.*?)</section>", text)
        assert bool(section) == (title in titles)
        assert not section or f"<code>{key}</code>" in section[1]


def test_no_form_of_the_status_shows_what_was_asked_for(site):
    """Paths are for readers of the access log, because they may have a tenant's secrets. And a
    query cannot inject text into the page."""
    for _ in range(3):
        for coding in ("gzip", None):
            site.get("/token-1234", ae=coding)
            site.get("/a.txt?token-1234", ae=coding)
    for query in ("", "?auto", "?json", "?openmetrics", "?<token-1234>", "?auto=token-1234"):
        assert b"token-1234" not in site.get("/elastic-status" + query).body, query


# --- access: the server's own configuration opens the page, .htaccess does not

HANDLERS = {"elastic-status": "ElasticVersion", "elastic-metrics": "elastic_"}

# A name that other tenants must not learn.
SECRET = "secret-tenant.example"

SECTIONS = [
    ("Directory", "{docs}", "AllowOverride All\nOptions +Includes"),
    ("Location", "/own", "SetHandler elastic-status"),
    ("Directory", "{docs}/folder", "SetHandler elastic-status"),
    ("Files", "figures.html", "SetHandler Elastic-Metrics"),
    ("LocationMatch", "^/if",
     "<If \"%{QUERY_STRING} == 'yes'\">\nSetHandler elastic-status\n</If>"),
    ("Location", "/expression", 'SetHandler "elastic-%{QUERY_STRING}"'),
    ("FilesMatch", "[.]other$", "SetHandler default-handler"),
    ("Location", "/added", "AddHandler elastic-status .html"),
    ("Location", "/moved", "RewriteEngine On\nRewriteRule ^ - [H=elastic-status]"),
    ("VirtualHost", "127.0.0.1:{port}", "ServerName localhost"),
    ("VirtualHost", "127.0.0.1:{port}", f"ServerName {SECRET}\n"
     "<Location /only-here>\nSetHandler elastic-status\n</Location>"),
]


@pytest.fixture(scope="module")
def tenants(httpd_shared):
    files = {f"{folder}/{name}": "<p>a page</p>" for folder in ("tenant", "folder", "added", "moved")
             for name in ("page.html", "figures.html", "page.other")}
    return httpd_shared("Elastic On\nExtendedStatus Off\n" + "".join(
        f"<{kind} {where}>\n{lines}\n</{kind}>\n" for kind, where, lines in SECTIONS),
        files=files, modules=["rewrite", "status", "include", "actions"])


def htaccess(server, text):
    server.write("tenant/.htaccess", text)


def told(answer):
    return any(word.encode() in answer.body for word in (*HANDLERS.values(), "mod_elastic"))


@pytest.mark.smoke
def test_the_servers_own_configuration_opens_it(tenants):
    """A virtual host's configuration opens it there only; AddHandler and rewriting do not. A reload
    changes nothing."""
    htaccess(tenants, "")
    for _ in range(2):
        for path in ("/own?auto", "/folder/page.html?auto", "/tenant/figures.html", "/if?yes",
                     "/expression?status", "/expression?metrics"):
            answer = tenants.get(path)
            assert answer.status == 200 and told(answer), answer
            assert "no-store" in answer.headers["Cache-Control"]
        assert told(tenants.get("/only-here?auto", headers={"Host": SECRET}))
        for path, status in (("/only-here", 404), ("/added/page.html", 403),
                             ("/moved/page.html", 403)):
            assert tenants.get(path + "?auto").status == status
        keep.reload(tenants)


@pytest.mark.parametrize("handler", HANDLERS)
@pytest.mark.parametrize("text", [
    "SetHandler %s", "SetHandler \"%s\"", "<Files page.*>\nSetHandler %s\n</Files>",
    "<If \"true\">\nSetHandler %s\n</If>", "AddHandler %s .html .other",
    "RewriteEngine On\nRewriteRule ^ - [H=%s]", "ForceType %s",
    "Action own /tenant/page.html virtual\nAddHandler %s .html .other"])
@pytest.mark.parametrize("name", ["page.html", "page.other"])
def test_htaccess_does_not(tenants, handler, text, name):
    """Not even if a SetHandler of the server, for another handler, is in force."""
    htaccess(tenants, text % handler + "\n")
    answer = tenants.get(f"/tenant/{name}?auto")
    assert not told(answer), answer
    assert answer.status in (200, 403)
    # Sections of files with a SetHandler of their own are merged after .htaccess.
    assert answer.status == 403 or name == "page.other" or text.startswith(("Action", "ForceType"))


@pytest.mark.parametrize("text", [
    '<If "true">\nRequire all granted\n</If>', "Satisfy Any\nOrder Deny,Allow\nAllow from all"])
def test_a_tenant_opens_no_page_of_a_host_of_its_own(httpd, text):
    """As hosting.md says: a .htaccess may overrule a <Location>, and so open the page in its own
    host, but not in one without files of the tenant."""
    page = "SetHandler elastic-status\nRequire all denied\n</Location>\n"
    server = httpd("Elastic On\n<Directory {docs}>\nAllowOverride All\n</Directory>\n"
                   f"<Location /everywhere>\n{page}"
                   "<VirtualHost 127.0.0.1:{port}>\nServerName localhost\n</VirtualHost>\n"
                   "<VirtualHost 127.0.0.1:{port}>\nServerName status\n"
                   f"DocumentRoot {{root}}/nobodys\n<Location />\n{page}</VirtualHost>\n",
                   files={".htaccess": ""}, modules=["access_compat"], start=False)
    (server.root / "nobodys").mkdir()
    server.start()
    server.expect_log("AH01630|AH01797")
    asked = [("/everywhere?auto", {}), ("/?auto", {"Host": "status"})]
    assert [server.get(path, headers=host).status for path, host in asked] == [403, 403]
    server.write(".htaccess", text + "\n")
    assert [server.get(path, headers=host).status for path, host in asked] == [200, 403]


def test_mod_statuss_page_names_no_virtual_host_and_no_path(tenants):
    """A .htaccess may open that page."""
    path = "/a-path-that-is-nobodys-business.html"
    tenants.write(path, bodies.html(20000))
    for _ in range(3):
        assert tenants.get(path, ae="gzip", headers={"Host": SECRET}).coding == "gzip"
    htaccess(tenants, "SetHandler server-status\n")
    for query in ("", "?auto"):
        answer = tenants.get(f"/tenant/page.html{query}")
        assert told(answer)
        assert SECRET.encode() not in answer.body and path.encode() not in answer.body
