"""scripts/dictionary on a real httpd: what it enables is what a browser gets, and whatever goes
wrong, everything is as before."""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import time

import pytest

from kit import CGID_RELOADED, client, env, tls
from kit.debian import Debian
from kit.dictionary import decoded, field
from kit.process import free_port

pytestmark = pytest.mark.skipif(not env.HAS_ZSTD, reason="needs libzstd")

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "dictionary"
HOST = "www.example.test"
COUNT = 16
HTML = "Content-Type: text/html"


def words(seed, count):
    return " ".join(hashlib.sha256(f"{seed} {n}".encode()).hexdigest()[:9] for n in range(count))


def page(number, template, head=""):
    return (f"<html><head><title>{number}</title>{head}</head><nav>{words(template, 400)}</nav>"
            f"<p>{words(number, 150)}</p></html>").encode()


def pages(template="first", head=""):
    """{path: body} of pages that have most in common."""
    return {f"/{n}.html": page(n, template, head) for n in range(COUNT)}


def listing(paths):
    """A page of links."""
    return ("<html>" + "".join(f'<a href="{path}">{path}</a>' for path in paths)
            + words("index", 50) + "</html>").encode()


class Site:
    """A site of https, with the folders that `enable` writes to. `server` has root and log."""

    def __init__(self, server, port, ca):
        self.server, self.port, self.ca = server, port, ca
        self.root = server.root
        self.out, self.store = self.root / "out", self.root / "store"
        self.url = f"https://{HOST}:{port}"
        self.more = []  # words of every command

    def run(self, command, *words_, code=0, answer="", environ=None):
        """What it said."""
        words_ = [self.url + "/"] * (command == "enable") + [*map(str, words_)]
        if command == "enable":
            words_ += ["--address", "127.0.0.1", "--cafile", self.ca, "--store", self.store,
                       "--rate", "1000", *self.more]
        done = subprocess.run(
            [env.PYTHON, SCRIPT, command, *words_, "--out", self.out], input=answer, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False,
            env={**os.environ, **(environ or {})})
        assert done.returncode == code, done.stdout
        return done.stdout

    def get(self, path, ae="gzip, br, zstd", dictionary=b"", **more):
        fields = {"Host": f"{HOST}:{self.port}"}
        if dictionary:
            fields["Available-Dictionary"] = field(dictionary)
        fields.update({name.replace("_", "-"): value for name, value in more.items()})
        with client.Connection(("127.0.0.1", self.port), True, name=HOST) as connection:
            return connection.request(path, "GET", ae, fields)

    def visit(self, path, dictionary):
        return self.get(path, "gzip, br, zstd, dcz", dictionary, Sec_Fetch_Dest="document",
                        Sec_Fetch_Mode="navigate", Sec_Fetch_Site="none")

    def link(self):
        """The dictionary that pages name; None: they name none."""
        found = re.findall(r'^<(/dictionaries/[^>]*)>; rel="compression-dictionary"$',
                           self.get("/0.html").headers.get("Link", ""))
        return found[0] if found else None

    def dictionary(self, url):
        answer = self.get(url)
        assert answer.status == 200, answer
        assert answer.headers["Use-As-Dictionary"] == 'match="/*", match-dest=("document")'
        return answer.body

    def state(self):
        return json.loads((self.out / f"{HOST}_{self.port}" / "state.json").read_text())


def files_of(*folders):
    """{path: content} of all that is there."""
    return {str(path): path.read_bytes() if path.is_file() else None
            for folder in folders for path in sorted(pathlib.Path(folder).rglob("*"))}


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ca")
    folder.chmod(0o755)
    return tls.make(folder, HOST)


@pytest.fixture
def site(httpd, authority):
    """start(files=, config=, cgi=) starts one, with a conf.d."""
    ca, certificate = authority

    def start(files=None, config="", **kw):
        server = httpd("", start=False, tls=True, files=files or {
            **pages(), "/index.html": listing(pages())}, modules=["rewrite"],
            allow_log=(CGID_RELOADED,), **kw)
        (server.root / "etc" / "conf.d").mkdir(parents=True)
        server.configure(
            "Elastic On\nIncludeOptional {root}/etc/conf.d/*.conf\n"
            f"<VirtualHost 127.0.0.1:{server.tls_port}>\nServerName {HOST}\nSSLEngine on\n"
            f"SSLCertificateFile {certificate}\nDirectoryIndex index.html index.cgi\n"
            f"{config}\n</VirtualHost>\n")
        server.start()
        made = Site(server, server.tls_port, ca)
        made.more = ["--confdir", server.root / "etc",
                     "--apachectl", f"{env.HTTPD} -f {server.conf}"]
        return made

    return start


def check_pages(site, dictionary, bodies, folder):
    for path in bodies:
        answer = site.visit(path, dictionary)
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
    one.run("disable")
    assert one.link() is None and one.get(url).status == 404
    assert files_of(one.root / "etc", one.root / "docs") == before
    assert not one.out.exists() and not one.store.exists()
    assert "has no dictionary" in one.run("status", code=1)
