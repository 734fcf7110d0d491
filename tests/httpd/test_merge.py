"""Sections, virtual hosts and .htaccess: setting one field never resets another."""

import time

import pytest

from kit import bodies

# What every place inherits. No field has its default, so that a reset is seen.
BASE = """
Elastic On
ElasticTypes text/plain text/css
ElasticCodings gzip br
ElasticLevel gzip 3
ElasticLevel br 2
ElasticMinSize 200
ElasticETag suffix
"""

INHERITED = {
    "plain": True, "css": True, "svg": False, "preferred": "gzip", "gzip": "3", "br": "2",
    "minimum": (199, 200), "tag": "suffix", "sibling": False, "padded": False, "explained": False,
}

# (a directive that a place adds, what it changes)
CHANGES = [
    ("Elastic Off", {"plain": False, "css": False, "preferred": None, "gzip": None, "br": None,
                     "minimum": None, "tag": None}),
    ("ElasticTypes text/plain", {"css": False}),
    ("ElasticTypes +image/svg+xml", {"svg": True}),
    ("ElasticTypes -text/css", {"css": False}),
    ("ElasticTypes text/plain image/svg+xml", {"css": False, "svg": True}),
    ("ElasticCodings br gzip", {"preferred": "br"}),
    ("ElasticCodings gzip", {"br": None}),
    ("ElasticLevel gzip 7", {"gzip": "7"}),
    ("ElasticLevel br 5", {"br": "5"}),
    ("ElasticLevel gzip stock 6", {"gzip": "6"}),
    ("ElasticMinSize 300", {"minimum": (299, 300)}),
    ("ElasticETag weak", {"tag": "weak"}),
    ("ElasticETag remove", {"tag": "removed"}),
    ("ElasticPrecompressed On", {"sibling": True}),
    ("ElasticPadding 50", {"padded": True}),
    ("ElasticExplain On", {"explained": True}),
]
HTACCESS = ("Elastic", "ElasticTypes", "ElasticCodings", "ElasticPrecompressed", "ElasticPadding")

OLD = int(time.time()) - 1000
FILES = {"plain.txt": bodies.text(5000), "style.css": bodies.text(5000),
         "image.svg": bodies.text(5000), "sized.txt": bodies.text(5000), "sized.txt.gz": b"sibling",
         **{f"{n}.txt": bodies.text(n) for n in (199, 200, 299, 300)}}


def tag_rule(answer):
    tag = answer.headers.get("ETag")
    if answer.coding is None:
        return None
    if tag is None:
        return "removed"
    if not tag.endswith(f'-{answer.coding}"'):
        return "kept"
    return "weak" if tag.startswith("W/") else "suffix"


def facts(server, folder, headers=None):
    """How the place at `folder` behaves, field by field."""
    def get(name, ae="gzip, br"):
        answer = server.get(f"{folder}/{name}", ae=ae, headers=headers)
        assert answer.status == 200
        return answer

    def level(coding):
        answer = get("plain.txt", coding)
        return server.notes(answer).get("elastic-level") if answer.coding == coding else None

    encoded = [n for n in (199, 200, 299, 300) if get(f"{n}.txt").coding]
    below = [n for n in (199, 200, 299, 300) if n not in encoded]
    return {
        "plain": get("plain.txt").coding is not None,
        "css": get("style.css").coding is not None,
        "svg": get("image.svg").coding is not None,
        "preferred": get("plain.txt").coding,
        "gzip": level("gzip"), "br": level("br"),
        "minimum": (max(below), min(encoded)) if encoded else None,
        "tag": tag_rule(get("plain.txt", "gzip")),
        "sibling": get("sized.txt", "gzip").raw == b"sibling",
        "padded": "Elastic-Padding" in get("plain.txt").headers,
        "explained": "Elastic-Explain" in get("plain.txt").headers,
    }


def fill(server, *folders):
    """The files, old enough for strong tags: httpd's are weak for a second after a change."""
    for folder in folders:
        for name, data in FILES.items():
            server.write(f"{folder}/{name}", data, OLD)
    return server


def place(index):
    return f"place{index}"


def names(rows):
    return [row[0].replace(" ", "=") for row in rows]


@pytest.fixture(scope="module")
def site(httpd_shared):
    sections = [f"<Directory {{docs}}/{place(i)}>\n{line}\n</Directory>"
                for i, (line, _) in enumerate(CHANGES)]
    sections += [f"<Location /deep/inner/{place(i)}>\n{line}\n</Location>"
                 for i, (line, _) in enumerate(CHANGES)]
    sections.append("<Directory {docs}/deep>\nElasticLevel br 4\n</Directory>")
    sections.append("<Directory {docs}/deep/inner>\nElasticLevel gzip 6\n</Directory>")
    folders = ["base", *(place(i) for i in range(len(CHANGES))),
               *(f"deep/inner/{place(i)}" for i in range(len(CHANGES)))]
    return fill(httpd_shared(BASE + "\n".join(sections)), *folders)


def test_the_base_is_what_the_tests_below_compare_with(site):
    assert facts(site, "/base") == INHERITED


EACH_CHANGE = pytest.mark.parametrize("index", range(len(CHANGES)), ids=names(CHANGES))


@EACH_CHANGE
def test_a_directory_changes_its_field_only(site, index):
    assert facts(site, "/" + place(index)) == {**INHERITED, **CHANGES[index][1]}


@EACH_CHANGE
def test_a_location_merges_over_two_directories(site, index):
    inherited = {**INHERITED, "gzip": "6", "br": "4"}
    assert facts(site, f"/deep/inner/{place(index)}") == {**inherited, **CHANGES[index][1]}


@pytest.fixture(scope="module")
def hosts(httpd_shared):
    """A virtual host for each change; the base configuration is the main server's."""
    vhosts = [f"<VirtualHost 127.0.0.1:{{port}}>\nServerName {place(i)}\n{line}\n</VirtualHost>"
              for i, (line, _) in enumerate(CHANGES)]
    return fill(httpd_shared(BASE + "\n".join(vhosts)), ".")


@EACH_CHANGE
def test_a_virtual_host_changes_its_field_only(hosts, index):
    found = facts(hosts, "", {"Host": place(index)})
    assert found == {**INHERITED, **CHANGES[index][1]}


@pytest.fixture(scope="module")
def overridden(httpd_shared):
    """Directories whose .htaccess files the tests write; no reload is needed."""
    config = BASE + """
<Directory {docs}/allowed>
    AllowOverride FileInfo
</Directory>
<Directory {docs}/other>
    AllowOverride AuthConfig Limit
</Directory>
"""
    return fill(httpd_shared(config), "allowed", "other", "ignored")


ALLOWED_IN_HTACCESS = [row for row in CHANGES if row[0].split()[0] in HTACCESS]


@pytest.mark.smoke
@pytest.mark.parametrize("line,change", ALLOWED_IN_HTACCESS, ids=names(ALLOWED_IN_HTACCESS))
def test_htaccess_changes_its_field_only(overridden, line, change):
    overridden.write("allowed/.htaccess", line + "\n")
    assert facts(overridden, "/allowed") == {**INHERITED, **change}


def test_htaccess_enables(httpd):
    server = httpd("<Directory {docs}>\nAllowOverride FileInfo\n</Directory>", files=FILES)
    assert server.get("/plain.txt", ae="gzip").coding is None
    server.write(".htaccess", "Elastic On\n")
    answer = server.get("/plain.txt", ae="gzip")
    assert answer.coding == "gzip" and answer.body == FILES["plain.txt"]
    server.write(".htaccess", "SetOutputFilter ELASTIC\n")
    assert server.get("/plain.txt", ae="gzip").coding == "gzip"


def test_htaccess_needs_fileinfo(overridden):
    overridden.write("other/.htaccess", "Elastic On\n")
    overridden.expect_log("not allowed here")
    assert overridden.get("/other/plain.txt", ae="gzip").status == 500
    assert any("Elastic" in line for line in overridden.log.lines("not allowed here"))
    overridden.write("ignored/.htaccess", "Elastic Off\n")
    assert overridden.get("/ignored/plain.txt", ae="gzip").coding == "gzip"


REFUSED_IN_HTACCESS = [
    "ElasticLevel gzip 1 9", "ElasticMinSize auto", "ElasticETag weak", "ElasticMTU 1500",
    "ElasticCPU 50 80", "ElasticInterval 1s", "ElasticControl step", "ElasticBypass 95",
    "ElasticProcStat /proc/stat", "ElasticLoad stat", "ElasticGoal cpu",
    "ElasticPosition /run/elastic.position", "ElasticMaxTime 20ms", "ElasticExplain On",
]


def ask_with(server, line, ae="gzip"):
    """The response where .htaccess has that line."""
    server.write("allowed/.htaccess", line + "\n")
    answer = server.get("/allowed/plain.txt", ae=ae)
    server.write("allowed/.htaccess", "")
    return answer


@pytest.mark.parametrize("line", REFUSED_IN_HTACCESS)
def test_htaccess_refuses_other_directives(overridden, line):
    overridden.expect_log("not allowed here")
    assert ask_with(overridden, line).status == 500
    assert overridden.log.lines(line.split()[0] + " not allowed here")


@pytest.mark.parametrize("line", ["Elastic Maybe", "ElasticTypes html", "ElasticCodings lzma",
                                  "ElasticPrecompressed 2"])
def test_htaccess_refuses_bad_values_with_a_message(overridden, line):
    name, given = line.split()
    overridden.expect_log(name)
    assert ask_with(overridden, line).status == 500
    assert overridden.log.lines(f"{name}.*{given}")


def test_a_coding_that_is_not_built_in_is_no_error_in_htaccess(overridden):
    """It is read for each request, so it may not fill the log either."""
    answer = ask_with(overridden, "ElasticCodings zstd gzip", "zstd, gzip")
    assert answer.status == 200 and answer.body == FILES["plain.txt"]
    assert answer.coding in ("gzip", "zstd")
