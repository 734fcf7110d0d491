"""Visits of ten pages by Chromium: with mod_brotli 5, mod_deflate 6, and this module with what
`elastic-dictionary enable` has made of 200 other pages of the site.

    scripts/check clients -k visits -n0 -s --visits 9 [--http1]    # prints what docs/internals has
"""

import base64
import collections
import hashlib
import html
import json
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import pytest

import test_dokuwiki
import test_mediawiki
import test_wordpress
import visits
from benchkit import stats
from kit import env, tls
from kit.chromium import Chromium
from kit.dictionary import make_store
from kit.dictionary_site import HOST, Site
from kit.procstat import ProcStat
from site_of import TYPES, run

pytestmark = [pytest.mark.debian, pytest.mark.skipif(not env.HAS_ZSTD, reason="needs libzstd")]

MANUAL = env.DEBIAN / "usr/share/doc/apache2-doc/manual"
ENABLED, WORDS = 200, 600
# Dictionaries are for sites of known authorities, which the tests' own is not.
ANY_ROOT = "--disable-features=CompressionDictionaryTransportRequireKnownRootCert"
DICTIONARY, HIGHEST, BROTLI, DEFLATE = (
    "dictionary", "dictionary, control off", "mod_brotli 5", "mod_deflate 6")
ON = "Elastic On\nIncludeOptional {root}/etc/conf.d/*.conf\n"
WAYS = {
    # As on an idle machine, however busy this one is.
    DICTIONARY: (ON + "ElasticProcStat {root}/stat", []),
    HIGHEST: (ON + "ElasticControl off", []),
    BROTLI: (f"BrotliCompressionQuality 5\nAddOutputFilterByType BROTLI_COMPRESS {TYPES}",
             ["filter", "brotli"]),
    DEFLATE: (f"DeflateCompressionLevel 6\nAddOutputFilterByType DEFLATE {TYPES}",
              ["filter", "deflate"])}


def articles():
    """{name: the first WORDS words of a page of the httpd manual, paragraph by paragraph}."""
    found = {}
    for path in sorted((MANUAL / "en").rglob("*.html")):
        body = path.read_text(errors="replace").partition('id="page-content"')[2]
        parts = [" ".join(html.unescape(re.sub("<[^>]*>", "", part)).split())
                 for part in re.findall("(?s)<p>(.*?)</p>", body)]
        kept, count = [], 0
        for part in filter(None, parts):
            kept.append(re.sub(r"[^\w\s.,;:()-]", "", part))
            count += len(part.split())
            if count >= WORDS:
                break
        found["-".join(path.relative_to(MANUAL / "en").with_suffix("").parts).lower()] = kept
    return {name: parts for name, parts in found.items() if sum(map(len, parts)) > 500}


class Made(NamedTuple):
    """A site: who serves it, as Application, and paths of its pages."""
    application: object
    docs: str
    paths: list
    options: str = ""  # of `enable`


def documentation():
    class Files:
        """A copy: the children may not enter root's own folder, where the clone may be."""
        def serve(self, site, docs):
            self.folder = Path(tempfile.mkdtemp(prefix="elastic-visits-"))
            self.folder.chmod(0o755)
            shutil.copytree(docs, self.folder / "manual")
            return site(f'Alias /manual "{self.folder}/manual"', [])

        def stop(self):
            shutil.rmtree(self.folder)

    names = sorted(path.relative_to(MANUAL.parent) for path in (MANUAL / "en").rglob("*.html"))
    return Made(Files(), MANUAL, [f"/{name}" for name in names])


def dokuwiki():
    texts = articles()
    made = test_dokuwiki.make({f"manual:{name}": f"====== {name} ======\n" + "\n\n".join(parts)
                               for name, parts in texts.items()})
    return Made(made, test_dokuwiki.WIKI, [f"/doku.php?id=manual:{name}" for name in texts],
                "--accept-private --accept-cookie DokuWiki --accept-cookie DW{cookie}")


def mediawiki():
    texts = articles()
    made = test_mediawiki.make({name: "\n\n".join(parts) for name, parts in texts.items()},
                               "$wgDisableOutputCompression = true;\n")
    return Made(made, test_mediawiki.WIKI, [
        f"/index.php/{name[0].upper()}{name[1:]}" for name in texts], "--accept-private")


POSTS = """define('WP_INSTALLING', true);
$_SERVER['HTTP_HOST'] = 'localhost';
require 'wp-load.php';
require 'wp-admin/includes/upgrade.php';
wp_install('A site', 'joe', 'joe@example.com', true, '', 'a long secret');
foreach (json_decode(file_get_contents('php://stdin'), true) as $title => $text) {
    $ids[] = wp_insert_post(['post_title' => $title, 'post_content' => $text,
                             'post_status' => 'publish']);
}
echo "\\n", json_encode($ids);
"""


def wordpress():
    made = test_wordpress.Wordpress("https")
    posts = {name: "\n\n".join(parts) for name, parts in articles().items()}
    said = run("php", "-r", POSTS, cwd=made.root / test_wordpress.FOLDER,
               input=json.dumps(posts).encode())
    return Made(made, test_wordpress.FOLDER, [
        f"/?p={id}" for id in json.loads(said.rpartition(b"\n")[2])])


@pytest.fixture
def servers(httpd, tmp_path, pytestconfig):
    """servers(made): {way: Site}, of https."""
    tmp_path.chmod(0o755)
    ca, certificate = tls.make(tmp_path, HOST)

    def start(name, made):
        def serve(config, modules, allow_log=()):
            own, more = WAYS[name]
            server = httpd("", start=False, tls=True, h2=not pytestconfig.getoption("http1"),
                           modules=[*modules, *more],
                           elastic="dictionary" in name, allow_log=allow_log)
            (server.root / "etc" / "conf.d").mkdir(parents=True)
            stat = ProcStat(server.root / "stat")
            server.configure(
                visits.LOG + own + f"\n<VirtualHost 127.0.0.1:{server.tls_port}>\n"
                f"ServerName {HOST}\nSSLEngine on\nSSLCertificateFile {certificate}\n"
                f"{config}\n</VirtualHost>\n")
            server.start()
            if name == DICTIONARY:
                server.wait_for(lambda: stat.busy(20) or server.status()["ElasticSamples"] > "1",
                                30, "samples")
            return server

        server = made.application.serve(serve, made.docs)
        site = Site(server, server.tls_port, ca)
        site.more = ["--confdir", server.root / "etc", "--apachectl",
                     f"{env.HTTPD} -f {server.conf}", *made.options.format(
                         cookie=hashlib.md5(b"/%d" % site.port).hexdigest()).split()]
        return site

    return lambda made: {name: start(name, made) for name in WAYS}


@pytest.fixture
def browser(servers, tmp_path):
    key = subprocess.run(["openssl", "x509", "-in", tmp_path / "site.crt", "-pubkey", "-noout"],
                         check=True, capture_output=True).stdout
    key = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "der"], input=key, check=True,
                         capture_output=True).stdout
    pin = base64.b64encode(hashlib.sha256(key).digest()).decode()
    with Chromium(tmp_path / "profile", f"--ignore-certificate-errors-spki-list={pin}",
                  f"--host-resolver-rules=MAP {HOST} 127.0.0.1", ANY_ROOT) as made:
        yield made


def enable(site, paths, folder, *more):
    (folder / "pages").write_text("".join(f"{site.url}{path}\n" for path in paths))
    site.more += more
    site.run("enable", "--yes", "--pages", folder / "pages")


def copy(site, other):
    """The same dictionary for another server of the site."""
    [conf] = (site.root / "etc" / "conf.d").iterdir()
    (other.root / "etc" / "conf.d" / conf.name).write_text(
        conf.read_text().replace(str(site.store), str(make_store(other.server)))
        .replace(f"{HOST}:{site.port}", f"{HOST}:{other.port}"))
    other.server.graceful()


BYTES = {"ten pages": lambda one: sum(one.pages), "2-10": lambda one: sum(one.pages[1:]),
         "everything": lambda one: one.all}
TIMES = {"the visit": lambda one: sum(one.cpu), "2-10": lambda one: sum(one.cpu[1:])}


def table(name, rows, site, seconds):
    """What was seen of each way, and its part of brotli's bytes and mod_deflate's CPU time."""
    figures = site.state()["figures"]
    print(f"\n{name}: dictionary {figures['dictionary']:,} bytes, sent as {figures['transfer']:,}; "
          f"{seconds:.0f} s from enable to the first smaller page")
    levels = collections.Counter(re.findall(
        r"dcz (\d+)", (site.server.root / "visits.log").read_text()))
    print("levels of dcz:", ", ".join(f"{one} ({levels[one]} pages)" for one in sorted(levels)))
    for way, found in rows.items():
        print(f"{way:23}", "; ".join(
            f"{what} {sum(map(of, found)) / len(found):,.0f} bytes, "
            f"{sum(map(of, found)) / sum(map(of, rows[BROTLI])):.3f}" for what, of in BYTES.items()))
        for what, of in TIMES.items():
            middle, low, high = stats.interval(
                of(one) / of(other) for one, other in zip(found, rows[DEFLATE]))
            print(f"{'':23} CPU of {what}: {1e3 * stats.median(map(of, found)):.1f} ms, "
                  f"{middle:.2f} ({low:.2f}-{high:.2f})")


@pytest.mark.parametrize("make, limit", [
    (documentation, 0.72), (dokuwiki, 0.45), (mediawiki, 0.50), (wordpress, 0.25)])
def test_visits(make, limit, servers, browser, tmp_path, pytestconfig):
    """`limit`: of brotli's bytes; levels that follow the machine's speed may make some more, and
    so may an application's next release."""
    count = pytestconfig.getoption("visits")
    made = make()
    try:
        sites = servers(made)
        paths = sorted(made.paths, key=lambda path: hashlib.sha256(path.encode()).digest())
        visited, others = paths[:-ENABLED], paths[-ENABLED:]
        sets = [visited[at:at + visits.COUNT] for at in range(0, len(visited), visits.COUNT)]
        sets = [one for one in sets if len(one) == visits.COUNT][:3]
        begin = time.monotonic()
        enable(sites[DICTIONARY], others, tmp_path, *["--rate", "8"] * (count > 1))
        rows = {name: [] for name in sites}
        for number in range(count + 1):
            for name, site in sites.items():
                if (number, name) == (0, HIGHEST):
                    copy(sites[DICTIONARY], site)
                visitor = visits.Visitor(browser, site.server, site.url)
                found = visitor.visit(sets[number % len(sets)],
                                      others[0] if "dictionary" in name else "")
                if number:
                    rows[name].append(found)
                elif name == DICTIONARY:
                    seconds = visitor.has_it - begin
        table(make.__name__, rows, sites[DICTIONARY], seconds)
        for one in rows[DICTIONARY] + rows[HIGHEST]:
            assert one.codings[1:].count("dcz") >= visits.COUNT // 2, one
        assert sum(sum(one.pages) for one in rows[HIGHEST]) \
            < limit * sum(sum(one.pages) for one in rows[BROTLI])
    finally:
        made.application.stop()
