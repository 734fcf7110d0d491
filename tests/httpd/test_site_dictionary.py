"""scripts/dictionary on a real httpd: what it enables is what a browser gets, and whatever goes
wrong, everything is as before."""

import fcntl
import json
import os
import pathlib
import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

from kit import CGID_RELOADED, env, sanitizer, tls
from kit.debian import Debian
from kit.dictionary import decoded, make_store
from kit.dictionary_site import COUNT, HOST, Site, files_of, listing, page, pages, words
from kit.process import free_port, until

pytestmark = pytest.mark.skipif(not env.HAS_ZSTD, reason="needs libzstd")

DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d"

@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ca")
    folder.chmod(0o755)
    return tls.make(folder, HOST)


@pytest.fixture
def site(httpd, authority):
    """start(files=, config=, cgi=) starts one, with a conf.d; `others`: names of other virtual
    hosts with the same pages; `store`: there is a folder of dictionaries already."""
    ca, certificate = authority

    def start(files=None, config="", vhosts="", others=(), store=False, **kw):
        server = httpd("", start=False, tls=True, files=files or {
            **pages(), "/index.html": listing(pages()), "/i.png": b"image"},
            modules=["authz_host", "rewrite"],
            allow_log=(CGID_RELOADED, *["AH01909"] * bool(others)), **kw)  # one certificate for all
        (server.root / "etc" / "conf.d").mkdir(parents=True)
        if store:
            make_store(server)
        host = (f"<VirtualHost 127.0.0.1:{server.tls_port}>\nServerName %s\nSSLEngine on\n"
                f"SSLCertificateFile {certificate}\n%s\n</VirtualHost>\n")
        server.configure(
            "Elastic On\nIncludeOptional {root}/etc/conf.d/*.conf\n"
            + "ElasticDictionaryStore {root}/dictionaries\n" * store
            + host % (HOST, f"DirectoryIndex index.html index.cgi\n{config}")
            + "".join(host % (name, "") for name in others) + vhosts)
        server.start()
        made = Site(server, server.tls_port, ca)
        made.more = ["--confdir", server.root / "etc",
                     "--apachectl", f"{sanitizer.httpd(server.root)} -f {server.conf}"]
        return made

    return start


def check_pages(site, dictionary, bodies, folder):
    for path in bodies:
        answer = site.visit(path, dictionary)
        assert "Link" not in answer.headers and answer.has_token("Vary", "Available-Dictionary")
        assert decoded(answer, dictionary, folder) == bodies[path]
        assert len(answer.raw) < len(site.get(path, "br").raw)


@pytest.mark.smoke
def test_enabled_visited_and_disabled(site, tmp_path):
    one = site()
    before = files_of(one.root / "etc", one.root / "docs")
    said = one.run("enable", answer="y\n")
    assert "Use these pages? [y/N]" in said and "In force" in said and "/0.html" in said
    url = one.link()
    dictionary = one.dictionary(url)
    check_pages(one, dictionary, pages(), tmp_path)
    said = one.run("status")
    assert url.rpartition("/")[2] in said and "last renewal: none yet" in said
    assert re.fullmatch(rf"<p>{one.url}/: dictionary since {DATE}, until {DATE}; last renewal: "
                        r"none yet\s*</p>", one.shown())
    assert "In force" in one.run("enable", "--yes") and one.link() == url
    one.run("disable")
    assert one.link() is None and one.get(url).status == 404
    assert files_of(one.root / "etc", one.root / "docs") == before
    assert not one.out.exists() and not one.store.exists()
    assert "No site has a dictionary" in one.run("status", code=1)


# --- renewal


def rewrite(site, template):
    for path, body in pages(template).items():
        site.server.write(path, body)


def test_renewed_where_it_is_better(site, tmp_path):
    one = site()
    one.run("enable", "--yes")
    first_url = one.link()
    first = one.dictionary(first_url)
    assert "kept: a new one would make pages 0 % smaller" in one.run("renew")
    assert one.link() == first_url and "kept: a new one" in one.run("status")
    assert re.search(f"last renewal: {DATE}, kept: a new one", one.shown())
    rewrite(one, "second")
    assert re.search(r"renewed: pages take [\d.]+ % less than with the previous one",
                     one.run("renew"))
    assert re.search(f"last renewal: {DATE}, renewed: pages take", one.shown())
    second_url = one.link()
    second = one.dictionary(second_url)
    assert second_url != first_url and second != first
    check_pages(one, second, pages("second"), tmp_path)
    # Who has the previous one is served with it, is told of the new one, and may ask for it again.
    answer = one.visit("/1.html", first)
    assert second_url in answer.headers["Link"]
    assert decoded(answer, first, tmp_path) == pages("second")["/1.html"]
    assert one.dictionary(first_url) == first
    one.run("disable")
    assert one.link() is None and not one.out.exists()


def test_renewed_before_it_expires(site):
    one = site()
    one.run("enable", "--yes")
    url = one.link()
    file = one.out / f"{HOST}_{one.port}" / "state.json"
    known = one.state()
    file.write_text(json.dumps({**known, "made": known["made"] - 24 * 24 * 3600}))
    assert "renewed: the previous one was about to expire" in one.run("renew")
    assert one.link() == url and one.state()["made"] >= known["made"]
    assert "about to expire" in one.run("status")


def test_a_renewal_that_fails_leaves_the_previous_one(site):
    one = site()
    one.run("enable", "--yes")
    url = one.link()
    before = files_of(one.root / "etc")
    for path in pages():
        (one.server.docs / path.strip("/")).unlink()
    said = one.run("renew", code=1)
    assert "failed, and the previous one stays: pages that can be used: 1" in said
    assert files_of(one.root / "etc") == before and url
    for said in (one.run("status"), one.shown()):
        assert "failed, and the previous one stays: pages that can be used: 1" in said


def test_one_command_at_a_time_changes_the_folder(site):
    one = site()
    one.run("enable", "--yes")
    file = one.out / "lock"
    assert file.stat().st_mode & 0o777 == 0o600
    waits = re.compile(rf"-> FLOCK .*:{file.stat().st_ino} ")
    for words_ in (["renew"], ["enable", "--yes"], ["disable"]):
        before = files_of(one.root / "etc"), files_of(one.out)
        with open(file, "ab") as handle, ThreadPoolExecutor(1) as pool:
            fcntl.flock(handle, fcntl.LOCK_EX)
            said = pool.submit(one.run, *words_)
            until(lambda: waits.search(pathlib.Path("/proc/locks").read_text()), 60, "who waits")
            assert (files_of(one.root / "etc"), files_of(one.out)) == before
            fcntl.flock(handle, fcntl.LOCK_UN)
        assert "Waiting for another elastic-dictionary" in said.result()
    assert not one.out.exists()


def test_who_waited_for_what_was_taken_away_is_told(site):
    one = site()
    one.run("enable", "--yes")
    file = one.out / "lock"
    waits = re.compile(rf"-> FLOCK .*:{file.stat().st_ino} ")
    with open(file, "ab") as handle, ThreadPoolExecutor(1) as pool:
        fcntl.flock(handle, fcntl.LOCK_EX)
        said = pool.submit(one.run, "renew", code=1)
        until(lambda: waits.search(pathlib.Path("/proc/locks").read_text()), 60, "who waits")
        shutil.rmtree(one.out)
        fcntl.flock(handle, fcntl.LOCK_UN)
    assert f"No site has a dictionary in {one.out}" in said.result()


def test_the_status_page_has_the_sites_of_a_store_of_ones_own(site):
    one = site(store=True)
    before = one.server.get("/elastic-status?auto").body.count(b"\n")
    assert one.shown() == ""
    file = one.root / "dictionaries" / "sites"
    # Who may write to the store cannot lead root elsewhere by it.
    file.symlink_to(one.root / "elsewhere")
    one.run("enable", "--yes")
    assert f"{one.url}/: dictionary since" in one.shown() and not file.is_symlink()
    assert not env.IS_ROOT or file.stat().st_uid == env.child_user().pw_uid
    file.write_text("<b>&\n")
    assert b"<p>&lt;b&gt;&amp;" in one.server.get("/elastic-status").body
    assert one.server.get("/elastic-status?auto").body.count(b"\n") == before
    file.unlink()
    os.mkfifo(file)  # which has no writer
    assert one.shown() == ""
    one.run("disable")
    assert not file.exists() and one.shown() == "" and not (one.root / "elsewhere").exists()


# --- whose it is

OTHERS = ["other.test", f"x{HOST}", f"{HOST}.other.test", HOST.replace(".", "x"), "localhost"]


def test_other_names_of_the_server_have_no_part_in_it(site, tmp_path):
    """Names that a virtual host of their own has, and those that lead to the site's."""
    one = site(others=OTHERS[:-1])
    one.run("enable", "--yes")
    dictionary = one.dictionary(one.link())
    assert one.link(host=HOST.upper()) == one.link()
    assert "Vary" not in one.get("/i.png").headers
    for host in OTHERS:
        assert one.link(host=host) is None, host
        answer = one.visit("/0.html", dictionary, host)
        assert answer.status == 200 and "Link" not in answer.headers
        assert answer.coding not in ("dcz", "dcb") and answer.body == pages()["/0.html"], host
    check_pages(one, dictionary, pages(), tmp_path)


# --- whatever is wrong, everything is as before

PRIVATE = """
head("Content-Type: text/html", "Cache-Control: max-age=60")
out("<html><nav>" + "%s" * 3 + "</nav>")
out("".join(f'<a href="/index.cgi?id={n}">{n}</a>' for n in range(12)))
out(f"<p>{os.environ['QUERY_STRING']}<b>secret " + os.urandom(%d).hex() + "</b><p>end</html>")
"""


def refused(site, text, *words_):
    """`enable` fails with the text; files and httpd are as they were."""
    before = files_of(site.root / "etc")
    said = site.run("enable", "--yes", *words_, code=1)
    assert re.search(text, said), said
    assert files_of(site.root / "etc") == before
    assert not site.out.exists() and not site.store.exists()
    assert site.get("/index.html").status == 200 and site.link() is None
    return said


def test_nothing_private_gets_in(site, tmp_path):
    """What differs between two visits is in no dictionary; what does not is."""
    template = words("template", 200)
    one = site(files={"/robots.txt": b""}, cgi={"/index.cgi": PRIVATE % (template, 400)})
    said = one.run("enable", "--yes")
    dictionary = one.dictionary(one.link("/index.cgi"))
    assert template[:200].encode() in dictionary and b"secret" not in dictionary
    assert re.search(r"(?m)^/index.cgi\?id=3 +[\d,]+ +8\d\d$", said), said


def test_a_page_that_is_another_one_at_each_visit(site):
    one = site(files={"/index.html": b"<a href=\"/index.cgi?id=1\">"},
               cgi={"/index.cgi": PRIVATE % (words("template", 10), 40000)})
    refused(one, "is another page at each visit(.|\n)*can be used: 1")


def test_a_site_that_sets_cookies_on_every_page(site):
    one = site(config="Header always set Set-Cookie sid=1")
    refused(one, "sets the cookie sid(.|\n)*--accept-cookie")
    assert "In force" in one.run("enable", "--yes", "--accept-cookie", "sid")


@pytest.mark.parametrize("words_, text", [
    (["--pages", "/nowhere"], "No such file"),
    (["--cafile", "/nowhere"], "/nowhere: .*No such file"),
    (["--store", "/proc/nowhere/store"], "/proc/nowhere/store cannot be made"),
    (["--confdir", "/proc"], "neither conf-available nor conf.d"),
    (["--confdir", "/nowhere"], "/nowhere has neither conf-available nor conf.d"),
    (["--apachectl", "false"], "false -t fails"),
    (["--address", "127.0.0.9"], "no response: .*refused")])
def test_what_cannot_be_used(site, words_, text):
    one = site()
    one.more += words_
    refused(one, text)


def test_another_certificate_than_the_sites(site):
    one = site()
    one.ca = "/etc/ssl/certs/ca-certificates.crt"
    if not pathlib.Path(one.ca).exists():
        one.ca = one.server.root / "tls.pem"
    refused(one, "no connection: (self-signed|unable to get)")


def test_a_folder_that_cannot_be_written(site):
    one = site()
    (one.root / "etc" / "conf.d").rename(one.root / "etc" / "other")
    refused(one, "neither conf-available nor conf.d")
    (one.root / "etc" / "other").rename(one.root / "etc" / "conf.d")
    one.out = pathlib.Path("/proc/nowhere")
    said = one.run("enable", "--yes", code=1)
    assert "/proc/nowhere cannot be made" in said


def control(one, command):
    """An apachectl that runs `command` before a reload."""
    script = one.root / "control"
    script.write_text(f'#!/bin/sh\ncase "$*" in *graceful*) {command} ;; esac\n'
                      f'exec {sanitizer.httpd(one.server.root)} -f {one.server.conf} "$@"\n')
    script.chmod(0o755)
    one.more += ["--apachectl", script]


@pytest.mark.parametrize("command, text", [
    ("echo stays; exit 1", "-k graceful fails:\nstays"),
    ("exit 0", "does not name the dictionary after a reload")])
def test_httpd_that_does_not_reload(site, command, text):
    one = site()
    control(one, command)
    refused(one, text)


def test_a_renewal_that_is_not_reloaded_leaves_the_previous_one(site):
    one = site()
    control(one, "")
    one.run("enable", "--yes")
    url, before = one.link(), files_of(one.root / "etc")
    control(one, "exit 1")
    rewrite(one, "second")
    assert "failed, and the previous one stays" in one.run("renew", code=1)
    assert files_of(one.root / "etc") == before and one.link() == url
    assert {path.suffix for path in files_of(one.out)} == {".dict", ".br", ".json", ""}
    assert len(files_of(one.out)) == 4  # with the lock


def test_a_configuration_that_is_broken_already(site):
    one = site()
    (one.root / "etc" / "conf.d" / "broken.conf").write_text("Nonsense\n")
    refused(one, "Nonsense")


def test_httpd_that_does_not_run(site):
    one = site()
    one.server.stop()
    before = files_of(one.root / "etc")
    assert "httpd does not run" in one.run("enable", "--yes", code=1)
    assert files_of(one.root / "etc") == before and not one.out.exists()


@pytest.mark.parametrize("config, text", [
    ("Elastic Off", "does not name the dictionary|did not use the dictionary"),
    ('RewriteEngine On\nRewriteRule ^/dictionaries - [F]', "has the status 403"),
    ('<LocationMatch "^/dictionaries">\nHeader set Cache-Control no-store\n</LocationMatch>',
     "not given out as a dictionary")])
def test_a_site_that_does_not_give_it_out(site, config, text):
    one = site(config=config)
    refused(one, text)


def test_who_says_no(site):
    refused_ = site()
    before = files_of(refused_.root / "etc")
    for answer in ("n\n", "\n", ""):
        assert "nothing was changed" in refused_.run("enable", answer=answer, code=1)
    assert files_of(refused_.root / "etc") == before and not refused_.out.exists()


def test_what_only_some_addresses_may_see(site):
    """Of a <Location> it is left out; of others the command warns."""
    one = site(files={**pages(), "/index.html": listing([*pages(), "/inside/"]),
                      "/inside/index.html": page("inside", "first")}, vhosts=
               '<VirtualHost *:1>\nServerName other.test\n<Location "/3.html">\nRequire local\n'
               '</Location>\n<Directory "/o">\nRequire ip 10.9.0.0/16\n</Directory>\n'
               '</VirtualHost>\n',
               config='<Location "/inside/">\nRequire local\n</Location>\n'
                      '<Directory "{docs}/other">\nRequire ip 10.0.0.0/8\n</Directory>')
    said = one.run("enable", "--yes")
    assert not re.search("(?m)^/inside/", said) and "Require ip 10.0.0.0/8" in said
    assert "Require local" not in said
    # Rules of another site.
    assert re.search("(?m)^/3.html", said) and "10.9.0.0" not in said


def test_robots_and_a_sitemap(site):
    one = site(files={**pages(), "/index.html": listing([]),
                      "/robots.txt": b"User-agent: *\nDisallow: /3.html\nSitemap: {url}/map.xml\n"})
    for name, text in (("robots.txt", f"User-agent: *\nDisallow: /3.html\n"
                                      f"Sitemap: {one.url}/map.xml\n"),
                       ("map.xml", "".join(f"<loc>{one.url}{path}</loc>" for path in pages()))):
        one.server.write(name, text)
    said = one.run("enable", "--yes")
    assert f"not used: {one.url}/3.html: robots.txt forbids it" in said
    assert said.count(".html  ") == COUNT - 1


def test_a_log_of_the_most_wanted(site):
    one = site()
    log = one.root / "log"
    log.write_text("".join(
        f'20.0.{n}.{m} - - [23/Nov/2026:10:00:00 +0000] "GET {path} HTTP/1.1" 200 1\n'
        for n, path in enumerate(pages()) for m in range(5 if n else 4)))
    log.chmod(0o600)
    said = one.run("enable", "--yes", "--log", log)
    assert "/1.html" in said and "/0.html" not in said


def test_scripts_and_styles_with_a_version(site, tmp_path):
    head = ('<script src="/js/app.0a1b2c3d4e.js"></script><script src="/js/plain.js"></script>'
            '<link rel="stylesheet" href="/css/site-1.2.3.css">'
            '<link href="/css/theme.css?ver=6.1" rel=stylesheet>')
    old, new = (words("script", 500).encode() + extra for extra in (b"old", b"new"))
    one = site(files={**pages(head=head), "/index.html": listing(pages()),
                      "/js/app.0a1b2c3d4e.js": old, "/js/app.ffff00004e.js": new,
                      "/js/plain.js": old, "/css/site-1.2.3.css": old, "/css/theme.css": old},
               config='<Location "/css/theme.css">\nHeader set Cache-Control max-age=3600\n'
                      '</Location>')
    said = one.run("enable", "--yes")
    assert "next: https://www.example.test" in said and "/js/app.0a1b2c3d4e.js" in said
    assert re.search("no rule: .*/css/site-1.2.3.css: has no Cache-Control: max-age", said)
    script = one.get("/js/app.0a1b2c3d4e.js")
    assert script.headers["Use-As-Dictionary"] == 'match="/js/app.*.js", match-dest=("script")'
    style = one.get("/css/theme.css?ver=6.1")
    assert style.headers["Use-As-Dictionary"] == (
        'match="/css/theme.css?ver=*", match-dest=("style")')
    assert style.headers["Cache-Control"] == "max-age=3600"
    for path in ("/js/plain.js", "/css/site-1.2.3.css"):
        assert "Use-As-Dictionary" not in one.get(path).headers
    answer = one.get("/js/app.ffff00004e.js", "gzip, br, dcz", old, Sec_Fetch_Dest="script",
                     Sec_Fetch_Site="same-origin", Sec_Fetch_Mode="no-cors")
    assert decoded(answer, old, tmp_path) == new and len(answer.raw) < 200


# --- Debian's layout


@pytest.fixture
def debian(authority):
    """A freshly installed apache2 with a site of https, and without mod_headers."""
    ca, certificate = authority
    made = Debian()
    port = free_port()
    try:
        for path, body in {**pages(), "/index.html": listing(pages())}.items():
            made.write(path.strip("/"), body)
        (made.conf / "sites-available" / "tls.conf").write_text(
            f"Listen 127.0.0.1:{port}\n<VirtualHost 127.0.0.1:{port}>\nServerName {HOST}\n"
            f"DocumentRoot {made.docs}\nSSLEngine on\nSSLCertificateFile {certificate}\n"
            "</VirtualHost>\n")
        made.edit("ports.conf", (r"(?m)^\s*Listen 443$", ""))
        made.edit("mods-available/ssl.conf", (r"(?m)^\s*SSLPassPhraseDialog .*\n", ""))
        made.run("a2enmod", "-q", "ssl", "elastic")
        made.run("a2ensite", "-q", "tls")
        made.start()
        one = Site(made, port, ca)
        one.environ = {"PATH": f"{env.DEBIAN}/usr/sbin:{os.environ['PATH']}",
                       "APACHE_CONFDIR": str(made.conf),
                       "APACHE_STATE_DIRECTORY": str(made.root / "lib")}
        yield one
    finally:
        made.stop()
        complaints = made.complaints()
        made.remove()
    assert not complaints, "\n".join(complaints)


@pytest.mark.debian
@pytest.mark.smoke
def test_enabled_and_disabled_in_debians_layout(debian, tmp_path):
    folders = debian.root / "etc", debian.root / "lib", debian.root / "html"
    before = files_of(*folders)
    debian.run("enable", "--yes")
    name = f"elastic-dictionary-{HOST}_{debian.port}.conf"
    assert (debian.server.conf / "conf-enabled" / name).is_symlink()
    dictionary = debian.dictionary(debian.link())
    check_pages(debian, dictionary, pages(), tmp_path)
    # The other site has none.
    assert "Link" not in debian.server.get("/0.html").headers
    assert "kept: " in debian.run("renew")
    debian.run("disable")
    assert files_of(*folders) == before
    assert debian.link() is None and not debian.out.exists() and not debian.store.exists()


@pytest.mark.debian
def test_refused_and_taken_back_in_debians_layout(debian):
    debian.server.edit("sites-available/tls.conf", ("SSLEngine on", "SSLEngine on\nElastic Off"))
    debian.server.start("graceful")
    before = files_of(debian.root / "etc", debian.root / "lib")
    assert "Elastic On" in debian.run("enable", "--yes", code=1)
    assert files_of(debian.root / "etc", debian.root / "lib") == before
    assert not debian.out.exists() and not debian.store.exists()
