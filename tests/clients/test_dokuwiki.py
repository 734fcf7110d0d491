"""DokuWiki in php-fpm: every page with and without a coding, logged in too."""

import hashlib

import pytest

from application import Application, Rules, Visitor

pytestmark = pytest.mark.debian

WIKI, ETC, DATA = "usr/share/dokuwiki", "etc/dokuwiki", "var/lib/dokuwiki/data"
SETTINGS = """<?php
$conf['title'] = 'A wiki';
$conf['useacl'] = 1;
$conf['superuser'] = '@admin';
$conf['savedir'] = '{data}';
$conf['disableactions'] = 'register';
$conf['updatecheck'] = 0;
$conf['proxy'] = ['host' => '127.0.0.1', 'port' => 9];
"""
RULES = Rules(
    most=40,
    skip=r"logout|do=(?!index|recent|revisions|backlink|login|media|search|export)|taskrunner"
         r"|feed\.php.*mode=list|indexer|[?&]rev|rev2|image=|ns=|https?%3A",
    blur=(r'name="sectok" value="\w*"', r"sectok=\w*", r"taskrunner\.php[^\"]*",
          r'"?sectok"?:"\w*"', r"tseed=\d+", r"\d+ ms"))


def make(pages):
    made = Application("dokuwiki")
    made.replace(f"{WIKI}/inc/preload.php", ("/etc/dokuwiki", f"{made.root}/etc/dokuwiki"))
    made.write(f"{ETC}/local.php", SETTINGS.format(data=made.root / DATA))
    word = hashlib.md5(b"secret").hexdigest()
    made.write(f"{ETC}/users.auth.php", f"# <?php exit()?>\njoe:{word}:Joe:a@b.c:admin,user\n")
    made.write(f"{ETC}/acl.auth.php", "# <?php exit()?>\n*\t@ALL\t1\n*\t@user\t8\n")
    for name, text in pages.items():
        made.write(f"{DATA}/pages/{name.replace(':', '/')}.txt", text)
    made.start(ETC, DATA)
    return made


@pytest.fixture(scope="module")
def wiki():
    made = make({f"n{n}:start": f"====== Page {n} ======\n[[n{n + 1}:start]]\n"
                 + "A line of text.\n\n" * 100 * n for n in range(10)})
    yield made
    made.stop()


def test_dokuwiki(site, wiki):
    """DokuWiki: every page, anonymous and logged in, and a page edited"""
    server = wiki.serve(site, WIKI)
    visitor = Visitor(server)
    first = ["/doku.php?id=n0:start", "/doku.php?id=wiki:syntax", "/doku.php?id=n1:start&do=index"]
    assert visitor.crawl(first, RULES) == RULES.most
    said = visitor.send("/doku.php?id=n1:start&do=login", {"u": "joe", "p": "secret"})
    assert said.status in (200, 302), said
    assert b"do=logout" in visitor.ask("/doku.php?id=n1:start", "br").body
    text = "A page that was edited.\n\n" * 300
    said = visitor.send("/doku.php?id=new:page&do=edit", {"wikitext": text, "do[save]": "1"})
    page = visitor.ask("/doku.php?id=new:page", "br")
    assert page.body.count(b"A page that was edited.") == 300, page
    assert visitor.crawl(["/doku.php?id=new:page", *first], RULES) == RULES.most
