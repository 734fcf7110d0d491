"""Sections, virtual hosts and .htaccess: setting one field never resets another."""

import gzip
import time

import pytest

from kit import bodies, check
from kit.counters import counted

# Inherited everywhere. No field has its default, so that a reset shows.
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
    "minimum": 200, "tag": "suffix", "precompressed": False, "padded": False, "explained": False,
}

# (a directive that a place adds, the facts that it changes)
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
    ("ElasticMinSize 300", {"minimum": 300}),
    ("ElasticETag weak", {"tag": "weak"}),
    ("ElasticETag remove", {"tag": "removed"}),
    ("ElasticPrecompressed On", {"precompressed": True}),
    ("ElasticPadding 50", {"padded": True}),
    ("ElasticExplain On", {"explained": True}),
]
HTACCESS = ("Elastic", "ElasticTypes", "ElasticCodings", "ElasticPrecompressed", "ElasticPadding")

OLD = int(time.time()) - 1000
PRECOMPRESSED = gzip.compress(bodies.text(5000), mtime=0)
FILES = {"plain.txt": bodies.text(5000), "style.css": bodies.text(5000),
         "image.svg": bodies.text(5000), "sized.txt": bodies.text(5000),
         "sized.txt.gz": PRECOMPRESSED,
         **{f"{n}.txt": bodies.text(n) for n in (199, 200, 299, 300)}}


def facts(server, folder, headers=None):
    def get(name, ae="gzip, br"):
        answer = server.get(f"{folder}/{name}", ae=ae, headers=headers)
        assert answer.status == 200
        return answer

    def level(coding):
        answer = get("plain.txt", coding)
        return server.notes(answer).get("elastic-level") if answer.coding == coding else None

    plain, gzip = get("plain.txt"), get("plain.txt", "gzip")
    tag = gzip.headers.get("ETag", "")
    rule = {"": "removed", "W/": "weak"}.get(tag[:2], "suffix")
    encoded = [n for n in (199, 200, 299, 300) if get(f"{n}.txt").coding]
    return {
        "plain": plain.coding is not None, "preferred": plain.coding,
        "css": get("style.css").coding is not None, "svg": get("image.svg").coding is not None,
        "gzip": level("gzip"), "br": level("br"), "minimum": min(encoded, default=None),
        "tag": (rule if rule == "removed" or tag.endswith('-gzip"') else "kept")
        if gzip.coding else None,
        "precompressed": get("sized.txt", "gzip").raw == PRECOMPRESSED,
        "padded": "Elastic-Padding" in plain.headers,
        "explained": "Elastic-Explain" in plain.headers,
    }


def fill(server, *folders):
    """Writes files that are old enough for strong tags: httpd's are weak for a second after a
    change."""
    for folder in folders:
        for name, data in FILES.items():
            server.write(f"{folder}/{name}", data, OLD)
    return server


# For each change a directory, a location below two others, and a virtual host; the first host is
# the default.
SECTIONS = """
<Directory {docs}/place{n}>
    {line}
</Directory>
<Location /deep/inner/place{n}>
    {line}
</Location>
<VirtualHost 127.0.0.1:{port}>
    ServerName host{n}
    {line}
</VirtualHost>
"""
DEEP = """
<Directory {docs}/deep>
    ElasticLevel br 4
</Directory>
<Directory {docs}/deep/inner>
    ElasticLevel gzip 6
</Directory>
<VirtualHost 127.0.0.1:{port}>
    ServerName others
</VirtualHost>
"""


@pytest.fixture(scope="module")
def site(httpd_shared):
    sections = [SECTIONS.replace("{n}", str(n)).replace("{line}", line)
                for n, (line, _) in enumerate(CHANGES)]
    return fill(httpd_shared(BASE + DEEP + "".join(sections)), ".", *(
        f"{above}place{n}" for above in ("", "deep/inner/") for n in range(len(CHANGES))))


def test_the_base_is_what_the_tests_below_compare_with(site):
    assert facts(site, "") == INHERITED


@pytest.mark.parametrize("folder,host,inherited", [
    ("/place{n}", "others", {}), ("/deep/inner/place{n}", "others", {"gzip": "6", "br": "4"}),
    ("", "host{n}", {})], ids=["directory", "location", "vhost"])
@pytest.mark.parametrize("n", range(len(CHANGES)), ids=[line for line, _ in CHANGES])
def test_a_directory_changes_its_field_only(site, folder, host, inherited, n):
    """A location over two directories and a virtual host change only their field, too."""
    found = facts(site, folder.format(n=n), {"Host": host.format(n=n)})
    assert found == {**INHERITED, **inherited, **CHANGES[n][1]}


@pytest.fixture(scope="module")
def overridden(httpd_shared):
    """Directories whose .htaccess files the tests write; no reload is needed."""
    return fill(httpd_shared(BASE + "<Directory {docs}/allowed>\nAllowOverride FileInfo\n"
                             "</Directory>\n<Directory {docs}/other>\n"
                             "AllowOverride AuthConfig Limit\n</Directory>\n"),
                "allowed", "other", "ignored")


ALLOWED_IN_HTACCESS = [row for row in CHANGES if row[0].split()[0] in HTACCESS]


@pytest.mark.smoke
@pytest.mark.parametrize("line,change", ALLOWED_IN_HTACCESS)
def test_htaccess_changes_its_field_only(overridden, line, change):
    overridden.write("allowed/.htaccess", line + "\n")
    assert facts(overridden, "/allowed") == {**INHERITED, **change}


def test_htaccess_enables(httpd):
    server = httpd("<Directory {docs}>\nAllowOverride FileInfo\n</Directory>", files=FILES)
    for line, coding in (("", None), ("Elastic On", "gzip"), ("SetOutputFilter ELASTIC", "gzip")):
        server.write(".htaccess", line + "\n")
        answer, grown = counted(server, lambda: server.get("/plain.txt", ae="gzip"))
        check.whole(answer, coding, FILES["plain.txt"])
        assert answer.varies == bool(coding) and grown == {"compressed" if coding else "off": 1}
        assert server.reason(answer) == (None if coding else "off")


IF = '<If "true">\n%s\n</If>'


@pytest.mark.parametrize("section,line,coding", [
    ("%s", "Elastic On", None), ("%s", IF % "Elastic On", "gzip"), (IF, IF % "Elastic On", None),
    (IF, IF % (IF % "Elastic On"), "gzip")],
    ids=["Location", "If in .htaccess", "If in Location", "If in an If in .htaccess"])
def test_what_holds_against_htaccess(httpd, section, line, coding):
    """As hosting.md says."""
    server = httpd("<Directory {docs}>\nAllowOverride FileInfo\n</Directory>\n"
                   f"<Location />\n{section % 'Elastic Off'}\n</Location>\n", files=FILES)
    server.write(".htaccess", line + "\n")
    assert server.get("/plain.txt", ae="gzip").coding == coding


def test_only_a_list_of_directives_forbids_one_in_htaccess(httpd):
    server = httpd("<Directory {docs}>\nAllowOverride None\nAllowOverrideList Redirect\n"
                   "</Directory>\n", files=FILES)
    for line in ("Elastic On", IF % "Elastic On", IF % (IF % "Elastic On")):
        server.write(".htaccess", line + "\n")
        assert server.get("/plain.txt", ae="gzip").status == 500, line
    server.expect_log("not allowed here")


def test_htaccess_needs_fileinfo(overridden):
    overridden.write("other/.htaccess", "Elastic On\n")
    overridden.expect_log("not allowed here")
    assert overridden.get("/other/plain.txt", ae="gzip").status == 500
    assert any("Elastic" in line for line in overridden.log.lines("not allowed here"))
    overridden.write("ignored/.htaccess", "Elastic Off\n")
    assert overridden.get("/ignored/plain.txt", ae="gzip").coding == "gzip"


@pytest.mark.parametrize("line,said", [
    *((line, f"{line.split()[0]} not allowed here") for line in (
        "ElasticLevel gzip 1 9", "ElasticMinSize auto", "ElasticETag weak", "ElasticMTU 1500",
        "ElasticCPU 50 80", "ElasticInterval 1s", "ElasticControl step", "ElasticBypass 95",
        "ElasticProcStat /proc/stat", "ElasticLoad stat", "ElasticGoal cpu",
        "ElasticPosition /run/elastic.position", "ElasticMaxTime 20ms", "ElasticExplain On")),
    # Bad values.
    *((line, line.replace(" ", ".*")) for line in (
        "Elastic Maybe", "ElasticTypes html", "ElasticCodings lzma", "ElasticPrecompressed 2")),
    # A coding that is not built in is no error: the file is read for each request, so it must not
    # fill the log either.
    ("ElasticCodings zstd gzip", None)])
def test_htaccess_refuses_other_directives_and_values(overridden, line, said):
    overridden.write("allowed/.htaccess", line + "\n")
    if said:
        overridden.expect_log(said)
    answer = overridden.get("/allowed/plain.txt", ae="zstd, gzip")
    overridden.write("allowed/.htaccess", "")
    if said:
        assert answer.status == 500 and overridden.log.lines(said)
    else:
        assert answer.coding in ("gzip", "zstd") and answer.body == FILES["plain.txt"]
