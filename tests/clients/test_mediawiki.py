"""MediaWiki with SQLite in php-fpm, which compresses by itself what gzip is accepted for."""

import pytest

from application import Application, Rules, Visitor
from site_of import run

pytestmark = pytest.mark.debian

WIKI, DATA = "usr/share/mediawiki", "data"
SETTINGS = """
$wgServer = WebRequest::detectServer();
$wgJobRunRate = 0;
$wgEnableParserLimitReporting = false;
$wgEnableEmail = false;
$wgShowExceptionDetails = true;
"""
RULES = Rules(
    most=40,
    skip=r"UserLogout|action=(edit|delete|submit|protect|watch|unwatch|purge|rollback|markpatrol)"
         r"|veaction|printable=|returnto|oldid=|diff=|Special:(Random|Export|Log)|hidebots|limit="
         r"|days=|from=|offset=|dir=|rest\.php|mobileaction",
    blur=(r'"wgRequestId":"[^"]*"', r'(?s)<li id="pt-notifications-.*?</li>',
          r'( mw-echo-notification-unseen)? mw-echo-notification-unread',
          r'"wgEchoSeenTime":\{[^}]*\}', r'"wgUserEditCount":\d+',
          r'"wgBackendResponseTime":\d+', r'"\w*Token":"[^"]*"', r'name="\w*[tT]oken"[^>]*',
          r'value="[^"]*\+\\"[^>]*', r"<!-- Saved in.*?-->",
          r"\b20\d{12}\b", r"20\d\d-[-\d]*T[:\d]*Z", r"\d\d:\d\d(:\d\d)?"))
FIRST = [*[f"/index.php/Page_{n}" for n in range(8)], "/index.php/Special:RecentChanges",
         "/index.php/Special:AllPages", "/index.php/Special:Version", "/index.php/Special:Search",
         "/api.php?action=query&meta=siteinfo&format=json&siprop=namespaces%7Cmagicwords"]


def make(pages, settings=""):
    made = Application("mediawiki")
    folder = made.root / WIKI

    def php(script, *arguments):
        run("php", f"maintenance/{script}.php", *arguments, cwd=folder)

    (folder / "LocalSettings.php").unlink()
    (made.root / DATA).mkdir()
    php("install", "--dbtype", "sqlite", "--dbname", "wiki", "--dbpath", made.root / DATA,
        "--scriptpath", "", "--server", "http://127.0.0.1", "--pass", "a long secret", "--confpath",
        folder, "--with-extensions", "A wiki", "Joe")
    file = f"{WIKI}/LocalSettings.php"
    made.write(file, (made.root / file).read_text() + SETTINGS + settings)
    for title, text in pages.items():
        made.write(f"pages/{title}.txt", text)
    php("importTextFiles", "-u", "Joe", *(made.root / "pages").iterdir())
    made.start(DATA)
    return made


@pytest.fixture(scope="module")
def wiki():
    made = make({f"Page {n}": f"== Part {n} ==\n[[Page {n + 1}]] [[Main Page]]\n\n"
                 + "A line of text.\n\n" * 100 * n for n in range(8)})
    yield made
    made.stop()


def test_mediawiki(site, wiki):
    """MediaWiki: every page, anonymous and logged in, and a page edited"""
    server = wiki.serve(site, WIKI)
    visitor = Visitor(server)
    assert visitor.crawl(FIRST, RULES) == RULES.most
    user = {"wpName": "Joe", "wpPassword": "a long secret"}
    said = visitor.send("/index.php/Special:UserLogin", user)
    assert said.status == 302, said
    text = "A page that was edited.\n\n" * 300
    said = visitor.send("/index.php?title=New&action=edit", {"wpTextbox1": text, "wpSave": "1"})
    assert said.status == 302, said
    page = visitor.ask("/index.php/New", "br")
    assert page.coding == "br" and page.body.count(b"A page that was edited.") >= 300, page
    assert b"UserLogout" in page.body
    assert visitor.crawl(["/index.php/New", *FIRST], RULES) == RULES.most
