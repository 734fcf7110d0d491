"""Installed as Debian would: the commands of docs/manual/migration.md on a private /etc/apache2."""

import re
from pathlib import Path

import pytest

from kit import bodies, check, env
from kit.debian import Debian
from kit.process import until

pytestmark = pytest.mark.debian

BODY = bodies.html(30000)
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "manual" / "migration.md"
SMALL = b"x" * 60  # below mod_deflate's 68 bytes

STOCK_DEFLATE = r"/usr/lib/apache2/modules/mod_deflate\.so"
STOCK_BROTLI = r"/usr/lib/apache2/modules/mod_brotli\.so"


@pytest.fixture
def debian(request):
    if not env.MODULE:
        pytest.skip("ELASTIC_MODULE does not name a mod_elastic.so")
    if not (env.DEBIAN / "usr" / "sbin" / "a2enmod").exists():
        pytest.skip("a2enmod is not there (package apache2)")
    made = Debian()
    try:
        made.write("index.html", BODY)
        made.write("small.html", SMALL)
        made.start()
        files = made.package_files()
        yield made
        if not request.node.get_closest_marker("edits"):
            assert made.package_files() == files, "a file of the distribution was changed"
    finally:
        made.stop()
        complaints = made.complaints()
        made.remove()
    assert not complaints, "\n".join(complaints)


def switch(debian, *commands):
    """Each command goes well; then the configuration is right and in force."""
    for command in commands:
        ok, said = debian.a2(*command.split())
        assert ok, (command, said)
    ok, said = debian.ctl("configtest")
    assert ok and "Syntax OK" in said, said
    # Nothing is said of modules or settings; Debian has no ServerName.
    assert "AH01574" not in said and "elastic:" not in said, said
    debian.graceful()


def page(debian, coding, ae=None):
    """The page comes in `coding`, once, and whole; the response. From the stock modules, too: they
    say Accept-Ranges, which check.encoded() refuses."""
    answer = debian.get("/", ae=ae or coding)
    check.whole(answer, coding, BODY)
    assert answer.varies, answer
    return answer


def identity(debian, ae):
    check.whole(debian.get("/", ae=ae), None, BODY)


@pytest.mark.smoke
def test_elastic_in_place_of_both(debian):
    switch(debian, "a2dismod -f deflate brotli", "a2enmod elastic")
    assert "deflate_module" not in debian.modules()
    assert "socache_shmcb_module" in debian.modules(), "a2enmod brings what elastic.conf needs"
    assert debian.mapped() & {"mod_elastic", "mod_deflate"} == {"mod_elastic"}
    page(debian, "gzip")
    page(debian, "br")
    identity(debian, None)
    # ... and back.
    switch(debian, "a2dismod elastic", "a2enmod deflate")
    assert debian.mapped() & {"mod_elastic", "mod_deflate"} == {"mod_deflate"}
    page(debian, "gzip")
    identity(debian, "br")


def test_elastic_beside_what_is_enabled(debian):
    switch(debian, "a2enmod brotli", "a2enmod elastic")
    assert debian.mapped() >= {"mod_elastic", "mod_deflate", "mod_brotli"}
    page(debian, "gzip")
    page(debian, "br")
    switch(debian, "a2dismod elastic")
    page(debian, "gzip")


@pytest.mark.parametrize("name", ["deflate", "brotli"])
def test_the_drop_in_is_refused_beside_the_stock_module(debian, name):
    switch(debian, "a2enmod deflate brotli")
    ok, said = debian.a2("a2enmod", f"elastic-{name}")
    assert not ok and f"Module {name} is enabled" in said, said
    assert not list(debian.enabled.glob("elastic*"))


def test_the_stock_module_asks_before_it_goes(debian):
    """deflate counts as essential: why the page says -f."""
    ok, said = debian.a2("a2dismod", "deflate")
    assert not ok and "essential" in said, said


@pytest.mark.smoke
def test_elastic_deflate_reads_the_distributions_deflate_conf(debian):
    before = page(debian, "gzip").headers["ETag"]
    switch(debian, "a2dismod -f deflate", "a2enmod elastic-deflate")
    assert debian.modules() & {"deflate_module", "elastic_module"} == {"deflate_module"}
    assert debian.mapped() & {"mod_elastic", "mod_deflate"} == {"mod_elastic"}
    assert page(debian, "gzip").headers["ETag"] == before
    # What deflate.conf does not name stays as it is, and so does what is too small.
    debian.write("picture.bin", BODY)
    assert debian.get("/picture.bin", ae="gzip").coding is None
    check.plain(debian.get("/small.html", ae="gzip"), SMALL, varies=False)
    # The tag that was handed out is good for a 304, which it was not before.
    again = debian.get("/", ae="gzip", headers={"If-None-Match": before})
    assert (again.status, again.headers["ETag"], again.varies) == (304, before, True), again
    switch(debian, "a2dismod elastic-deflate", "a2enmod deflate")
    assert debian.mapped() & {"mod_elastic", "mod_deflate"} == {"mod_deflate"}
    assert page(debian, "gzip").headers["ETag"] == before


@pytest.mark.edits
def test_elastic_brotli_reads_a_brotli_conf(debian):
    (debian.available / "brotli.conf").write_text(
        "BrotliCompressionQuality 4\nAddOutputFilterByType BROTLI_COMPRESS text/html\n")
    switch(debian, "a2dismod -f deflate brotli", "a2enmod elastic-deflate elastic-brotli")
    assert debian.modules() >= {"deflate_module", "brotli_module"}
    assert debian.mapped() & {"mod_elastic", "mod_deflate", "mod_brotli"} == {"mod_elastic"}
    page(debian, "gzip")
    page(debian, "br")
    page(debian, "br", ae="br, gzip;q=0.5")
    page(debian, "gzip", ae="br;q=0.5, gzip")
    switch(debian, "a2dismod elastic-brotli elastic-deflate", "a2enmod deflate brotli")
    page(debian, "gzip")
    page(debian, "br")


def test_elastic_brotli_needs_no_brotli_conf(debian):
    """Debian has none; then nothing names the filter, as with the stock module."""
    switch(debian, "a2enmod elastic-brotli")
    assert "brotli_module" in debian.modules()
    identity(debian, "br")
    page(debian, "gzip")


def test_all_three_records(debian):
    switch(debian, "a2dismod -f deflate brotli", "a2enmod elastic elastic-deflate elastic-brotli")
    assert debian.modules() >= {"elastic_module", "deflate_module", "brotli_module"}
    page(debian, "gzip")
    page(debian, "br")
    switch(debian, "a2dismod elastic")
    page(debian, "gzip")
    identity(debian, "br")


@pytest.mark.edits
@pytest.mark.parametrize("with_brotli", [False, True], ids=["deflate", "both"])
def test_another_path_in_the_distributions_load_files(debian, with_brotli):
    (debian.available / "brotli.conf").write_text(
        "AddOutputFilterByType BROTLI_COMPRESS text/html\n")
    switch(debian, "a2enmod brotli")
    before = {coding: page(debian, coding).headers["ETag"] for coding in ("gzip", "br")}
    swaps = [("mods-available/deflate.load", STOCK_DEFLATE)]
    if with_brotli:
        swaps.append(("mods-available/brotli.load", STOCK_BROTLI))
    for file, stock in swaps:
        debian.edit(file, (stock, env.MODULE))
    switch(debian)
    stock = {"mod_brotli"} if not with_brotli else set()
    assert debian.mapped() & {"mod_elastic", "mod_deflate", "mod_brotli"} == {"mod_elastic", *stock}
    for coding in ("gzip", "br"):
        assert page(debian, coding).headers["ETag"] == before[coding]
    for file, stock in swaps:
        debian.edit(file, (env.MODULE, stock.replace("\\", "")))
    switch(debian)
    assert debian.mapped() & {"mod_elastic", "mod_deflate", "mod_brotli"} == \
        {"mod_deflate", "mod_brotli"}
    for coding in ("gzip", "br"):
        assert page(debian, coding).headers["ETag"] == before[coding]


def test_a_package_that_enables_the_stock_module_again(debian):
    """Nothing refuses it: httpd keeps the record that it loads first, and says so."""
    switch(debian, "a2dismod -f deflate", "a2enmod elastic-deflate")
    ok, said = debian.a2("a2enmod", "deflate")
    assert ok, said
    ok, said = debian.ctl("configtest")
    assert ok and "AH01574" in said, said
    debian.log.expect("AH01574")
    debian.graceful()
    page(debian, "gzip")


def test_a_module_whose_files_were_removed_while_enabled(debian):
    """Without make uninstall, dangling links stay, which a2dismod takes away."""
    switch(debian, "a2dismod -f deflate", "a2enmod elastic-deflate")
    for file in debian.available.glob("elastic*"):
        file.unlink()
    switch(debian, "a2dismod elastic-deflate", "a2enmod deflate")
    assert not list(debian.enabled.glob("elastic*"))
    page(debian, "gzip")


def pieces_of(page):
    """The pieces of configuration on a page."""
    return re.findall(r"^```apache\n(.*?)^```$", page.read_text(), re.M | re.S)


def test_the_log_that_the_pages_show(debian):
    """It has a line for each response, though the default site has a log of its own."""
    log = debian.root / "log" / "elastic.log"
    for page_of in (ROOT / "README.md", ROOT / "docs" / "manual" / "status.md"):
        [piece] = [piece for piece in pieces_of(page_of) if "LogFormat" in piece]
        (debian.conf / "conf-enabled" / "log.conf").write_text(piece)
        switch(debian, "a2enmod elastic")

        def logged():
            page(debian, "gzip")  # at first perhaps by a child that writes to the log before
            return log.exists() and "coding=gzip" in log.read_text()

        until(logged, 60, f"a line of the log in {page_of.name}")
        log.unlink()


def test_the_pages_configuration(debian):
    """Each piece of configuration on the page is one that httpd takes."""
    pieces = pieces_of(PAGE)
    switch(debian, "a2dismod -f deflate",
           "a2enmod elastic elastic-deflate elastic-brotli headers rewrite")
    for piece in pieces:
        (debian.conf / "conf-enabled" / "piece.conf").write_text(re.sub(r"(?m)^#(?=\w)", "", piece))
        ok, said = debian.ctl("configtest")
        assert ok and "warn" not in said, (piece, said)
    assert len(pieces) > 5
