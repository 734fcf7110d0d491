"""scripts/dictionary on a real httpd: browsers get the dictionary that it enables, and after any
failure everything is as before."""

import fcntl
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from kit import CGID_RELOADED, env, sanitizer, tls
from kit.debian import Debian
from kit.dictionary import decoded, make_store
from kit.dictionary_site import COUNT, HOST, SCRIPT, Site, files_of, listing, page, pages, words
from kit.process import Listener, free_port, until

pytestmark = pytest.mark.skipif(not env.HAS_ZSTD, reason="needs libzstd")

SECOND = "second.example.test"
DATE = r"\d{4}-\d\d-\d\d \d\d:\d\d"


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ca")
    folder.chmod(0o755)
    return tls.make(folder, HOST, SECOND)


@pytest.fixture
def site(httpd, authority):
    """start(files=, config=, cgi=) starts a site with a conf.d; `others`: names of other virtual
    hosts with the same pages; `store`: a folder of dictionaries exists already; `enabled`: it has
    a dictionary, and `control` is its apachectl."""
    ca, certificate = authority

    def start(files=None, config="", vhosts="", others=(), store=False, allow=(), enabled=False,
              **kw):
        server = httpd("", start=False, tls=True, files=files or {
            **pages(), "/index.html": listing(pages()), "/i.png": b"image"},
            modules=["authz_host", "rewrite"],
            # AH01909: one certificate for all.
            allow_log=(CGID_RELOADED, *allow, *["AH01909"] * bool(others)), **kw)
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
        if enabled:
            control(made, "")
            made.run("enable", "--yes")
        return made

    return start


def rewrite(site, template):
    for path, body in pages(template).items():
        site.server.write(path, body)


def remove_pages(site):
    for path in pages():
        (site.server.docs / path.strip("/")).unlink()


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
    # It is sent with as many bytes as the decision has assumed.
    assert len(one.get(url, "br").raw) == one.state()["figures"]["transfer"]
    said = one.run("status")
    assert "dictionary site-" in said and "last renewal: none yet" in said
    assert re.fullmatch(rf"<p>{one.url}/: dictionary since {DATE}; last renewal: none yet\s*</p>",
                        one.shown())
    assert "In force" in one.run("enable", "--yes") and one.link() == url
    one.run("disable")
    assert one.link() is None and one.get(url).status == 404
    assert files_of(one.root / "etc", one.root / "docs") == before
    assert not one.out.exists() and not one.store.exists()
    assert "No site has a dictionary" in one.run("status", code=1)


# --- renewal


@pytest.mark.long
def test_renewed_where_it_is_better_or_due(site, tmp_path):
    one = site(enabled=True)
    first_url = one.link()
    first = one.dictionary(first_url)
    assert "kept: with a new one pages would take 0.0 % less" in one.run("renew")
    assert one.link() == first_url and "kept: with a new one" in one.run("status")
    assert re.search(f"last renewal: {DATE}, kept: with a new one", one.shown())
    file = one.out / "state.json"
    for made in (int(time.time()) - 24 * 24 * 3600, 2082758400):  # in 2036, from a wrong clock
        whole = json.loads(file.read_text())
        whole["sites"][0]["made"] = made
        file.write_text(json.dumps(whole))
        assert "renewed: the previous one was about to expire" in one.run("renew")
        assert one.link() == first_url and abs(one.state()["made"] - time.time()) < 3600
    assert "about to expire" in one.run("status")
    assert "renewed: as was asked for" in one.run("renew", "--now")
    # What the site has deleted leaves the dictionary.
    rewrite(one, "second")
    assert "renewed: the previous one had text that is not on these pages" in one.run("renew")
    assert re.search(f"last renewal: {DATE}, renewed: the previous one had text", one.shown())
    second_url = one.link()
    second = one.dictionary(second_url)
    deleted = words("first", 400)[-40:].encode()
    assert second_url != first_url and deleted in first and deleted not in second
    assert one.get(first_url).status == 404
    check_pages(one, second, pages("second"), tmp_path)
    # Clients with the previous dictionary are served with it, and told of the new one.
    answer = one.visit("/1.html", first)
    assert second_url in answer.headers["Link"]
    assert decoded(answer, first, tmp_path) == pages("second")["/1.html"]
    # A site that changed wholly has no useless dictionary; the old figures are not shown for it.
    for n in range(COUNT):
        one.server.write(f"/{n}.html", f"<html>{words(f'own {n}', 300)}</html>".encode())
    said = one.run("renew", code=1)
    assert "a new one is not worth it, and the site has none now" in said
    assert one.link() is None and not one.out.exists()


def test_a_renewal_that_fails_leaves_the_previous_one(site):
    one = site(enabled=True)
    url, before = one.link(), files_of(one.root / "etc")

    def as_before():
        assert files_of(one.root / "etc") == before and one.link() == url
        assert {path.suffix for path in files_of(one.out)} == {".dict", ".br", ".json", ""}
        assert len(files_of(one.out)) == 4  # with the lock

    rewrite(one, "second")
    control(one, "exit 1")
    assert "failed: " in one.run("renew", code=1)
    as_before()
    # What a killed command leaves is taken back by the next one.
    control(one, "kill -KILL $PPID; sleep 0.2")
    one.run("renew", code=-9)
    assert files_of(one.root / "etc") != before and (one.out / "before.json").exists()
    control(one, "")
    assert "ended in its midst" in one.run("status")
    as_before()
    # What failed is said where cron mails it.
    remove_pages(one)
    done = subprocess.run([env.PYTHON, SCRIPT, "renew", "--out", one.out], capture_output=True,
                          text=True, timeout=300, check=False)
    for said in (done.stderr, one.run("status"), one.shown()):
        assert "failed: pages that can be used: 1" in said
    assert done.returncode == 1 and files_of(one.root / "etc") == before


def waiting(one, done, *words_, **more):
    """The output of a command that waits for the folder until `done` was called."""
    with open(one.out / "lock", "ab") as handle, ThreadPoolExecutor(1) as pool:
        fcntl.flock(handle, fcntl.LOCK_EX)
        log = one.root / "waits"
        log.unlink(missing_ok=True)
        said = pool.submit(one.run, *words_, log=log, **more)
        until(lambda: log.exists() and "Waiting for another" in log.read_text(), 60, "a wait")
        done()
        fcntl.flock(handle, fcntl.LOCK_UN)
    return said.result()


def test_one_command_at_a_time_changes_the_folder(site):
    one = site(enabled=True)
    assert (one.out / "lock").stat().st_mode & 0o777 == 0o600
    for command in ("renew", "disable"):
        before = files_of(one.root / "etc", one.out)

        def unchanged():
            assert files_of(one.root / "etc", one.out) == before

        waiting(one, unchanged, command)
    assert not one.out.exists()
    one.run("enable", "--yes")
    said = waiting(one, lambda: shutil.rmtree(one.out), "renew", code=1)
    assert f"No site has a dictionary in {one.out}" in said


def test_the_status_page_has_the_sites_of_a_store_of_ones_own(site):
    one = site(store=True)

    def lines():
        return one.server.get("/elastic-status?auto").body.count(b"\n")

    before, file = lines(), one.root / "dictionaries" / "sites"
    assert one.shown() == ""
    # A user who may write to the store cannot redirect root by a link.
    file.symlink_to(one.root / "elsewhere")
    one.run("enable", "--yes")
    assert f"{one.url}/: dictionary since" in one.shown() and not file.is_symlink()
    assert not env.IS_ROOT or file.stat().st_uid == env.child_user().pw_uid
    file.write_text("<b>&\n")
    assert b"<p>&lt;b&gt;&amp;" in one.server.get("/elastic-status").body and lines() == before
    file.unlink()
    os.mkfifo(file)  # without a writer
    assert one.shown() == ""
    one.run("disable")
    assert not file.exists() and one.shown() == "" and not (one.root / "elsewhere").exists()


@pytest.mark.root
def test_a_store_that_httpd_may_not_write_to_is_named(site):
    one = site()
    one.store.mkdir()
    one.store.chmod(0o700)
    said = one.run("enable", "--yes", code=1)
    assert f"httpd's user may not write to {one.store}" in said
    assert not one.out.exists() and one.store.exists()


# --- the site's origin

OTHERS = ["other.test", f"x{HOST}", f"{HOST}.other.test", HOST.replace(".", "x"), "localhost"]


def test_other_names_of_the_server_have_no_part_in_it(site, tmp_path):
    """Names with a virtual host of their own, and names that redirect to the site."""
    one = site(others=OTHERS[:-1])
    one.run("enable", "--yes")
    url = one.link()
    dictionary = one.dictionary(url)
    assert one.link(host=HOST.upper()) == url
    assert all(one.get(url, host=host).status == 404 for host in OTHERS[:-1])
    assert one.server.get(url).status == 404  # not by plain http either
    assert "Vary" not in one.get("/i.png").headers
    for host in OTHERS:
        assert one.link(host=host) is None, host
        answer = one.visit("/0.html", dictionary, host)
        assert answer.status == 200 and "Link" not in answer.headers
        assert answer.coding not in ("dcz", "dcb") and answer.body == pages()["/0.html"], host
    check_pages(one, dictionary, pages(), tmp_path)


# --- after any fault, everything is as before

PRIVATE = """
head("Content-Type: text/html", "Cache-Control: max-age=60")
out("<html><nav>" + "%s" * 3 + "</nav>")
out("".join(f'<a href="/index.cgi?id={n}">{n}</a>' for n in range(12)))
out(f"<p>{os.environ['QUERY_STRING']}<b>secret " + os.urandom(%d).hex() + "</b><p>end</html>")
"""


def refused(site, text, *, code=1, yes=True, answer="", running=True):
    """`enable` fails with the text; files and httpd are unchanged."""
    before = files_of(site.root / "etc")
    said = site.run("enable", *["--yes"] * yes, code=code, answer=answer)
    assert re.search(text, said), said
    assert files_of(site.root / "etc") == before
    assert not site.out.exists() and not site.store.exists()
    if running:
        assert site.get("/").status == 200 and site.link() is None


def test_nothing_private_gets_in(site):
    """Text that differs between two visits is in no dictionary; the rest is."""
    template = words("template", 200)
    one = site(files={"/robots.txt": b""}, cgi={"/index.cgi": PRIVATE % (template, 400)})
    said = one.run("enable", "--yes")
    dictionary = one.dictionary(one.link("/index.cgi"))
    assert template[:200].encode() in dictionary and b"secret" not in dictionary
    assert re.search(r"(?m)^/index.cgi\?id=3 +[\d,]+ +8\d\d$", said), said
    one.run("disable")
    one.server.cgi("/index.cgi", PRIVATE % (words("template", 10), 40000))
    refused(one, "is another page at each visit(.|\n)*can be used: ")


@pytest.mark.parametrize("config, text", [
    ("Header always set Set-Cookie sid=1", "sets the cookie sid(.|\n)*--accept-cookie"),
    ("Elastic Off", "does not name the dictionary|did not use the dictionary"),
    ('Header set Cache-Control no-store "expr=%{REQUEST_URI} =~ m#^/.well-known#"',
     "is another one, or may not be kept"),
    # Like Debian's DokuWiki at first.
    ("<Location />\nRequire local\n</Location>", "answers strangers with 401 or 403")])
def test_a_site_that_does_not_give_it_out(site, config, text):
    one = site(config=config, allow=["AH01630"])
    refused(one, text)
    if "Cookie" in config:
        assert "In force" in one.run("enable", "--yes", "--accept-cookie", "sid")


# (further arguments, what apachectl runs before a reload, the exit status, what is said)
FAULTS = [
    (["--pages", "/nowhere"], "", 1, "No such file"),
    (["--cafile", "/nowhere"], "", 1, "/nowhere: .*No such file"),
    (["--store", "/proc/nowhere/store"], "", 1, "/proc/nowhere"),
    (["--confdir", "/proc"], "", 1, "neither conf-available nor conf.d"),
    (["--confdir", "/nowhere"], "", 1, "/nowhere has neither conf-available nor conf.d"),
    (["--apachectl", "false"], "", 1, "false -t fails"),
    ([], "echo stays; exit 1", 1, "-k graceful fails:\nstays"),
    ([], "exit 0", 1, "does not name the dictionary after a reload"),
    *(([], f"kill -{name} $PPID; sleep 0.2", 130, "interrupted; what was begun is taken back")
      for name in ("INT", "TERM", "HUP"))]


@pytest.mark.long
def test_what_cannot_be_used_and_what_fails(site):
    one = site()
    more = one.more
    for words_, command, code, text in FAULTS:
        control(one, command)
        one.more = one.more[:4] + words_
        refused(one, text, code=code)
    one.more = more
    for answer in ("n\n", "\n", ""):
        refused(one, "nothing was changed", yes=False, answer=answer)
    certificate, other = one.ca, pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
    one.ca = other if other.exists() else one.server.root / "tls.pem"
    refused(one, "no connection: (self-signed|unable to get)")
    one.ca, broken = certificate, one.root / "etc" / "conf.d" / "broken.conf"
    broken.write_text("Nonsense\n")
    refused(one, "Nonsense")
    broken.unlink()
    one.out = pathlib.Path("/proc/nowhere")
    refused(one, "/proc/nowhere cannot be made")
    one.out = one.root / "out"
    (one.root / "etc" / "conf.d").rmdir()
    refused(one, "neither conf-available nor conf.d")
    (one.root / "etc" / "conf.d").mkdir()
    one.server.stop()
    refused(one, "httpd does not run", running=False)


def control(one, command):
    """An apachectl that runs `command` before a reload, under one name, which the state has."""
    script = one.root / "control"
    script.write_text(f'#!/bin/sh\ncase "$*" in *graceful*) {command} ;; esac\n'
                      f'exec {sanitizer.httpd(one.server.root)} -f {one.server.conf} "$@"\n')
    script.chmod(0o755)
    one.more = [*one.more[:3], str(script)]


def test_a_folder_that_others_may_write_to(site):
    """Somebody who can write there could choose the commands that root runs."""
    one = site(enabled=True)
    one.out.chmod(0o777)
    for command in ("enable", "renew", "status", "disable"):
        assert "may be changed by others than root" in one.run(command, code=1)
    one.out.chmod(0o755)
    file = one.out / "state.json"
    file.write_text(file.read_text().replace('"version": 1', '"version": "x"'))
    assert "state.json cannot be used" in one.run("status", code=1)


def test_a_site_of_this_machine_by_plain_http(site):
    """Browsers treat this machine as secure."""
    one = site()
    host, one.url = "localhost", f"http://localhost:{one.server.port}"
    one.url_of = lambda _: one.url
    said = one.run("enable", "--yes", host=host)
    assert "In force" in said
    answer = one.server.get("/0.html", "br", {"Host": f"localhost:{one.server.port}"})
    assert "/.well-known/elastic-dictionary/" in answer.headers["Link"]
    assert one.link() is None
    one.run("disable")


@pytest.mark.long
def test_a_site_whose_tls_a_proxy_in_front_does(site, authority, tmp_path):
    one = site(vhosts=f"<VirtualHost 127.0.0.1:{{port}}>\nServerName {HOST}\n</VirtualHost>\n")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority[1])

    def pass_on(sock):
        """Like nginx with `proxy_pass` and the usual fields, once for each client."""
        with context.wrap_socket(sock, server_side=True) as client, \
                socket.create_connection(("127.0.0.1", one.server.port)) as behind:
            line, _, rest = client.recv(65536).partition(b"\r\n")
            behind.sendall(line + b"\r\nX-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: https"
                           b"\r\nConnection: close\r\n" + rest)
            while piece := behind.recv(65536):
                client.sendall(piece)

    one.port = Listener(pass_on).port
    one.url = one.url_of(HOST)
    said = one.run("enable", "--yes", code=1)
    assert "does not take the visitor for a stranger" in said and "--origin http://" in said
    one.more += ["--origin", f"http://127.0.0.1:{one.server.port}"]
    told = "SetEnvIf X-Forwarded-Proto https HTTPS=on"
    assert told in one.run("enable", "--yes", code=1)
    (one.root / "etc/conf.d/proto.conf").write_text(told + "\n")
    one.server.graceful()
    assert "In force" in one.run("enable", "--yes")
    check_pages(one, one.dictionary(one.link()), pages(), tmp_path)
    assert "renewed: as was asked for" in one.run("renew", "--now")
    # A plain http request, without X-Forwarded-Proto, gets no dictionary.
    assert "Link" not in one.server.get("/0.html", headers={"Host": HOST}).headers
    one.run("disable")
    assert not one.out.exists()


# {path of a page that only this machine may see: configuration}; every kind: test_visitor.py
INSIDE = {"/local/x.html": "<Location /local>\nRequire local\n</Location>",
          "/htaccess/x.html": '<Directory "{docs}/htaccess">\nAllowOverride All\n</Directory>'}
WAYS_IN = ["/%6Cocal/x.html", "/to", *INSIDE]


def test_what_only_this_machine_may_see_is_never_read(site):
    secret = {path: page(path, "first").replace(b"</nav>", b"<b>secret</b></nav>")
              for path in INSIDE}
    one = site(files={**pages(), **secret, "/htaccess/.htaccess": b"Require local\n",
                      "/index.html": listing([*pages(), *WAYS_IN])},
               cgi={"/address.cgi": "head('Content-Type: text/html')\n"
                                    "out(os.environ['REMOTE_ADDR'])\n"},
               config="\n".join(INSIDE.values()) + "\nRedirect /to /local/x.html",
               allow=["AH01630"])
    one.server.write("/index.html", listing([
        *pages(), *WAYS_IN, f"{one.url}//local/x.html", "/address.cgi"]))
    for path in INSIDE:
        assert b"secret" in one.get(path).body, path
    said = one.run("enable", "--yes", "--most", "60")
    assert b"secret" not in one.dictionary(one.link())
    for path in [*WAYS_IN, "//local/x.html"]:
        assert f"not used: {one.url}{path}: has the status 403\n" in said, (path, said)
    assert not list(one.root.rglob("elastic.visitor"))
    assert one.get("/local/x.html", Elastic_Visitor="0" * 64).status == 200


def test_scripts_and_styles_with_a_version(site, tmp_path):
    head = ('<script src="/js/app.0a1b2c3d4e.js"></script><script src="/js/plain.js"></script>'
            '<link rel="stylesheet" href="/css/site-1.2.3.css">'
            '<link href="/css/theme.css?ver=6.1" rel=stylesheet>')
    old, new = (words("script", 500).encode() + extra for extra in (b"old", b"new"))
    one = site(files={**pages(head=head), "/index.html": listing(pages()),
                      "/js/app.ffff00004e.js": new, **dict.fromkeys((
                          "/js/app.0a1b2c3d4e.js", "/js/plain.js", "/css/site-1.2.3.css",
                          "/css/theme.css"), old)},
               config='<LocationMatch "^/css/theme.css|^/js/app">\n'
                      'Header set Cache-Control max-age=3600\n</LocationMatch>')
    said = one.run("enable", "--yes")
    assert "next: https://www.example.test" in said and "/js/app.0a1b2c3d4e.js" in said
    assert re.search("no rule: .*/css/site-1.2.3.css: has no Cache-Control: max-age", said)
    for path, use in (
            ("/js/app.0a1b2c3d4e.js", 'match="/js/app.*.js", match-dest=("script")'),
            ("/css/theme.css?ver=6.1", 'match="/css/theme.css?ver=*", match-dest=("style")')):
        answer = one.get(path)
        assert answer.headers["Use-As-Dictionary"] == use
        assert answer.headers["Cache-Control"] == "max-age=3600"
    for path in ("/js/plain.js", "/css/site-1.2.3.css"):
        assert "Use-As-Dictionary" not in one.get(path).headers
    # The tool recognizes its own configuration.
    assert one.run("enable", "--yes").count("Each release") == said.count("Each release")
    assert "kept: " in one.run("renew")
    answer = one.get("/js/app.ffff00004e.js", "gzip, br, dcz", old, Sec_Fetch_Dest="script",
                     Sec_Fetch_Site="same-origin", Sec_Fetch_Mode="no-cors")
    assert decoded(answer, old, tmp_path) == new and len(answer.raw) < 200


# --- Debian's layout

@pytest.fixture
def debian(authority):
    """A fresh apache2 with two https sites, and without mod_headers."""
    _, certificate = authority
    made = Debian()
    port = free_port()
    try:
        for path, body in {**pages(), "/index.html": listing(pages())}.items():
            made.write(path.strip("/"), body)
        host = (f"<VirtualHost 127.0.0.1:{port}>\nServerName %s\nDocumentRoot {made.docs}\n"
                f"SSLEngine on\nSSLCertificateFile {certificate}\n</VirtualHost>\n")
        (made.conf / "sites-available" / "tls.conf").write_text(
            f"Listen 127.0.0.1:{port}\n" + "".join(host % name for name in (HOST, SECOND)))
        made.edit("ports.conf", (r"(?m)^\s*Listen 443$", ""))
        made.edit("mods-available/ssl.conf", (r"(?m)^\s*SSLPassPhraseDialog .*\n", ""))
        made.run("a2enmod", "-q", "ssl", "elastic")
        made.run("a2ensite", "-q", "tls")
        made.start()
        one = Site(made, port, authority[0])
        one.environ = {"PATH": f"{env.DEBIAN}/usr/sbin:{os.environ['PATH']}",
                       "APACHE_CONFDIR": str(made.conf),
                       "APACHE_STATE_DIRECTORY": str(made.root / "lib")}
        yield one
    finally:
        made.stop()
        complaints = made.complaints()
        made.remove()
    complaints = [one for one in complaints if "AH01909" not in one]  # one certificate for both
    assert not complaints, "\n".join(complaints)


CONF_FILE = "conf-enabled/elastic-dictionary.conf"


@pytest.mark.debian
@pytest.mark.smoke
def test_enabled_and_disabled_in_debians_layout(debian, tmp_path):
    folders = debian.root / "etc", debian.root / "lib", debian.root / "html"
    before = files_of(*folders)

    def check_as_before():
        assert files_of(*folders) == before
        assert not debian.out.exists() and not debian.store.exists()

    debian.run("enable", "--yes")
    assert (debian.server.conf / CONF_FILE).is_symlink()
    check_pages(debian, debian.dictionary(debian.link()), pages(), tmp_path)
    # The other site has none.
    assert "Link" not in debian.server.get("/0.html").headers
    assert "kept: " in debian.run("renew")
    debian.run("disable")
    check_as_before()
    assert debian.link() is None
    debian.server.edit("sites-available/tls.conf", ("SSLEngine on", "SSLEngine on\nElastic Off"))
    debian.server.start("graceful")
    before = files_of(*folders)
    assert "Elastic On" in debian.run("enable", "--yes", code=1)
    check_as_before()


@pytest.mark.long
@pytest.mark.debian
@pytest.mark.parametrize("first", [HOST, SECOND])
def test_two_sites_enabled_renewed_and_disabled_in_each_order(debian, first):
    """httpd restarts after each step, without mod_headers."""
    folders = debian.root / "etc", debian.root / "lib"
    before = files_of(*folders)
    other = SECOND if first == HOST else HOST

    def in_force(*hosts):
        debian.server.start("restart")
        for host in (HOST, SECOND):
            link = debian.link(host=host)
            assert bool(link) == (host in hosts), host
            if link:
                assert debian.visit("/1.html", debian.dictionary(link, host), host).coding == "dcz"

    debian.run("enable", "--yes")
    in_force(HOST)
    debian.run("enable", "--yes", host=SECOND)
    in_force(HOST, SECOND)
    assert debian.run("status").count("dictionary site-") == 2
    for path, body in pages("new").items():
        debian.server.write(path.strip("/"), body)
    assert debian.run("renew").count("renewed: ") == 2
    in_force(HOST, SECOND)
    debian.run("enable", "--yes", host=other)
    debian.run("disable", f"https://{first}:{debian.port}/")
    in_force(other)
    assert debian.store.exists()
    assert debian.run("status").count("dictionary site-") == 1
    assert debian.run("renew").count("kept: ") == 1
    debian.run("disable")
    in_force()
    assert files_of(*folders) == before
    assert not debian.out.exists() and not debian.store.exists()


@pytest.mark.debian
def test_what_the_operator_turns_off_is_said_and_stays_off(debian):
    debian.run("enable", "--yes")
    conf = debian.server.conf / CONF_FILE
    target = os.readlink(conf)
    conf.unlink()
    debian.server.start("graceful")
    for command in ("status", "renew"):
        assert "a2enconf elastic-dictionary" in debian.run(command, code=1)
    assert not conf.exists()
    conf.symlink_to(target)
    assert "httpd does not read /" not in debian.run("status")
    (debian.server.conf / "conf-available/elastic-dictionary.conf").write_text("# nothing\n")
    assert "does not serve it" in debian.run("status", code=1)
    debian.run("disable")
    assert not conf.is_symlink() and not debian.out.exists()
