"""The status pages: ?auto, ?json, HTML, and the section in mod_status's page; and who may read them.
That all keys and reasons are there is proven by test_manual.py."""

import json
import re

import pytest

from kit import bodies, keep

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
def test_auto_has_every_key_once(site):
    lines = site.get("/elastic-status?auto").body.decode().splitlines()
    keys = [line.partition(": ")[0] for line in lines if line]
    assert len(keys) == len(set(keys)) > 50
    assert all(re.fullmatch(r"[\w-]+: \S.*", line) for line in lines if line)


@pytest.mark.smoke
def test_json_is_one_object_with_the_same_keys(site):
    """What ?auto has without quotes is a number there, unless it is text."""
    values, status = json.loads(site.get("/elastic-status?json").body), site.status()
    assert set(values) == set(status)
    texts = {key for key, value in values.items() if isinstance(value, str)}
    assert {key for key in texts if not key.startswith("ElasticCost-")} == \
        {"ElasticVersion", "ElasticEngines", "ElasticControl", "ElasticGoal", "ElasticLoad"}
    assert all(type(values[key]) in (int, float) for key in set(values) - texts)


@pytest.mark.smoke
def test_the_page_for_people_says_the_same(site):
    text, status = page_of(site), site.status()
    assert text.lstrip().lower().startswith("<!doctype html") and "</html>" in text.lower()
    shown = {key: value for value, key in
             re.findall(r"<td>([^<]*)</td><td><code>([\w-]+)</code>", text)}
    # Those of costs are not on it, those of the store and of dictionaries where they are used.
    some = "Elastic(Cost|Cache|Improved|Di)"
    assert set(shown) == {key for key in status if not re.match(some, key)}
    for key in ("ElasticVersion", "ElasticControl", "ElasticCPULow", "ElasticInterval"):
        assert shown[key] == status[key]


@pytest.mark.smoke
def test_mod_statuss_page_has_the_same_lines(site):
    site.get("/a.txt", ae="gzip")
    own = site.status()
    found = dict(re.findall(r"(?m)^(Elastic[\w-]+): (.*)$",
                            site.get("/server-status?auto").body.decode()))
    assert set(found) == set(own)
    for key in ("ElasticVersion", "ElasticControl", "ElasticInterval", "ElasticCompressed",
                "ElasticBytesIn", "ElasticBytesOut"):
        assert found[key] == own[key]
    text = site.get("/server-status").body.decode()
    assert "elastic" in text.lower() and "</html>" in text.lower()


def test_the_values_are_the_configurations(site):
    site.wait_for(lambda: int(site.status()["ElasticSamples"]) >= 2, 30, "two samples")
    status = site.status()
    assert (status["ElasticControl"], status["ElasticInterval"]) == ("step", "700")
    assert (status["ElasticCPULow"], status["ElasticCPUHigh"]) == ("0.400", "0.700")
    assert int(status["ElasticUptime"]) >= 1 and status["ElasticBypass"] == "0"
    assert 0 <= float(status["ElasticCPU"]) <= 1 and 0 <= float(status["ElasticPosition"]) <= 1


def test_counters_are_exact(site):
    before = site.status()
    answers = [site.get("/a.txt", ae="gzip") for _ in range(5)]
    after = site.status()
    for key, value in (("ElasticCompressed", 5), ("ElasticBytesIn", 5 * 50000),
                       ("ElasticBytesOut", sum(len(answer.raw) for answer in answers))):
        assert int(after[key]) - int(before[key]) == value, key
    assert int(after["ElasticCpuUsec"]) >= int(before["ElasticCpuUsec"])


def test_children_share_the_counters(httpd):
    """Every child that serves adds to the same numbers; a graceful reload keeps them."""
    server = httpd("Elastic On", files={"a.txt": bodies.text(5000)})
    connections = [server.connect() for _ in range(12)]
    for connection in connections:
        assert connection.request("/a.txt", ae="gzip").coding == "gzip"
        connection.close()
    assert server.status()["ElasticCompressed"] == "12"
    server.graceful()
    server.get("/a.txt", ae="gzip")
    assert server.status()["ElasticCompressed"] == "13"
    server.restart()
    assert server.status()["ElasticCompressed"] == "0"


def test_costs_are_corrected_by_what_was_measured(httpd):
    """White noise saves nothing, which the table does not expect."""
    def share():
        """What is left of bodies of up to 128 KB, in percent."""
        return float(server.status()["ElasticCost-gzip-6"].split()[3].split("/")[1])

    server = httpd("Elastic On\nElasticLevel gzip 6", files={"n.txt": bodies.noise(60000)})
    before = share()
    for _ in range(64):
        server.get("/n.txt", ae="gzip;q=1, identity;q=0")
    assert share() > 2 * before


# --- the page


def test_the_page_loads_nothing_from_elsewhere(site):
    rules = dict(rule.split(" ", 1) for rule in
                 site.get("/elastic-status").headers["Content-Security-Policy"].split("; "))
    assert rules.pop("default-src") == "'none'"
    assert set(rules.values()) <= {"'none'", "'self'"}
    text = page_of(site)
    assert "<style" not in text and " style=" not in text
    assert not re.search(r"<script[^>]*>\w", text)
    assert not re.search(r"""(?:href|src)="(?![?#])""", text), "parts of its own, and no others"
    for part, kind in (("style", "text/css"), ("script", "text/javascript")):
        assert f'="?{part}"' in text
        loaded = site.get("/elastic-status?" + part)
        assert loaded.headers["Content-Type"].startswith(kind) and loaded.body
        assert b"http" not in loaded.body


def luminance(color):
    shares = [int(color[at:at + 2], 16) / 255 for at in (0, 2, 4)]
    return sum(part * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
               for part, c in zip((0.2126, 0.7152, 0.0722), shares))


def test_its_colors_can_be_read(site):
    """By WCAG 2.1 (1.4.3), on the backgrounds that browsers have for light and for dark pages."""
    style = site.get("/elastic-status?style").body.decode()
    light, dark = re.findall(r"--load: #(\w+); --position: #(\w+)", style)
    assert "color-scheme: light dark" in style and "background" not in style
    for color in light:
        assert 1.05 / (luminance(color) + 0.05) >= 4.5
    for color in dark:
        assert (luminance(color) + 0.05) / (luminance("222222") + 0.05) >= 4.5


def test_the_page_says_what_was_saved_and_by_what(site):
    def saved():
        engine = site.notes(site.get("/a.txt", ae="br"))["elastic-engine"]
        text = page_of(site)
        assert f'<th scope="row">br, {engine}</th>' in text
        return re.search(r'<h2>Saved since the start</h2><p class="large">[0-9.]+ [KMG]B</p>', text)

    site.wait_for(saved, 60, "what was saved")


def test_each_reason_on_the_page_leads_to_what_it_means(site):
    site.get("/a.txt")
    text = page_of(site)
    assert '<a href="#reason-not-acceptable">' in text
    reasons = [key.partition("-")[2] for key in site.status() if key.startswith("ElasticSkipped-")]
    for reason in reasons:
        assert re.search(f'<dt id="reason-{reason}">{reason}</dt><dd>[^<]+</dd>', text), reason


def test_the_last_hour_is_drawn(site):
    def lines():
        return dict(re.findall(r'<polyline class="(\w+)" points="([^"]*)"/>', page_of(site)))

    site.wait_for(lambda: set(lines()) == {"load", "position"}, 60, "a sample")
    for points in lines().values():
        for x, y in re.findall(r"(\S+),(\S+)", points):
            assert 0 <= float(x) <= 600 and 0 <= float(y) <= 100


@pytest.mark.parametrize("config,text", [
    ("ElasticControl external\nElasticPosition {root}/none", "the position file is not followed"),
    ("ElasticCache On", "ElasticCache is off: ElasticCacheStore shmcb is not loaded"),
    ("ElasticInterval 100ms", "ElasticInterval: below 500ms")])
def test_the_page_has_the_warnings_of_the_start(httpd, config, text):
    """Those that the log has, until the configuration has them no more."""
    server = httpd("Elastic On\n" + config, allow_log=["elastic: "])

    def told():
        page = page_of(server)
        return re.findall("(?s)<li>(.*?)</li>", page[:page.index("Saved since")])

    server.wait_for(lambda: [line for line in told() if text.lower() in line.lower()], 30, text)
    server.configure("Elastic On")
    server.graceful()
    server.wait_for(lambda: not told() and "Warnings" not in page_of(server), 60, "no warnings")


def test_the_store_has_a_section_once_it_is_used(httpd):
    def sections():
        """{title: keys} of the page's figures."""
        return {title: re.findall(r"<td><code>(\S+)</code></td>", text) for title, text in
                re.findall(r"(?s)<h2>([^<]*)</h2>(.*?)</section>", page_of(server))
                if "<td><code>" in text}

    server = httpd(keep.KEEP, modules=keep.SHMCB)
    (title, keys), = sections().items()
    assert title == "Other figures" and not [key for key in keys if key.startswith("ElasticCache")]
    path, _ = keep.page(server)
    keep.twice(server, path)
    assert keep.is_kept(server, server.get(path, ae="gzip"))
    found = sections()
    assert list(found) == ["The store of encodings", "Other figures"]
    assert "ElasticCacheHits" in found["The store of encodings"]
    assert found["Other figures"] == keys


def test_no_form_of_the_status_shows_what_was_asked_for(site):
    """Paths are for those who may read the access log: they may have a tenant's secrets. And a query
    cannot write into the page."""
    for _ in range(3):
        for coding in ("gzip", None):
            site.get("/token-1234", ae=coding)
            site.get("/a.txt?token-1234", ae=coding)
    for query in ("", "?auto", "?json", "?openmetrics", "?<token-1234>", "?auto=token-1234"):
        assert b"token-1234" not in site.get("/elastic-status" + query).body, query


# --- who may read it: where the server's own configuration says so, and nobody who may only write
# .htaccess

HANDLERS = {"elastic-status": "ElasticVersion", "elastic-metrics": "elastic_"}

# A name that must not be told to whom other tenants' pages are none of their business.
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
    """Whether the answer has figures of the server."""
    return any(word.encode() in answer.body for word in (*HANDLERS.values(), "mod_elastic"))


@pytest.mark.smoke
def test_the_servers_own_configuration_opens_it(tenants):
    """A virtual host's there alone; AddHandler and rewriting do not. A reload changes nothing."""
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
    """Also where a SetHandler of the server's own, which names another handler, is in force."""
    htaccess(tenants, text % handler + "\n")
    answer = tenants.get(f"/tenant/{name}?auto")
    assert not told(answer), answer
    assert answer.status in (200, 403)
    # Sections of files, which have a SetHandler of their own, are merged behind .htaccess.
    assert answer.status == 403 or name == "page.other" or text.startswith(("Action", "ForceType"))


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
