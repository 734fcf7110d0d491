"""Installed as Debian would: the commands of docs/manual/debian.md on a private /etc/apache2."""

import re
from pathlib import Path

import pytest

from kit import bodies, check, env
from kit.debian import Debian
from kit.process import until

pytestmark = pytest.mark.debian

BODY = bodies.html(30000)
ROOT = Path(__file__).parents[2]
SMALL = b"x" * 60  # below mod_deflate's 68 bytes


@pytest.fixture(scope="module")
def installed():
    if not env.MODULE:
        pytest.skip("ELASTIC_MODULE does not name a mod_elastic.so")
    made = Debian()
    try:
        made.write("index.html", BODY)
        made.write("small.html", SMALL)
        made.start()
        files = made.package_files()
        yield made
        assert made.package_files() == files, "a file of the distribution was changed"
    finally:
        made.stop()
        complaints = made.complaints()
        made.remove()
    assert not complaints, "\n".join(complaints)


@pytest.fixture
def debian(installed):
    """As it was installed, before and after each test."""
    yield installed
    switch(installed, "a2dismod -f elastic elastic-deflate elastic-brotli brotli",
           "a2enmod deflate")
    assert installed.mapped() == {"deflate"}
    tag(installed, "gzip")
    tag(installed, None, "br")


@pytest.fixture
def brotli_conf(debian):
    file = debian.available / "brotli.conf"
    file.write_text("BrotliCompressionQuality 4\n"
                    "AddOutputFilterByType BROTLI_COMPRESS text/html\n")
    yield
    debian.run("a2dismod", "-f", "brotli")
    file.unlink()


def switch(debian, *commands):
    """Runs each command successfully; then the configuration is valid and in force."""
    for command in commands:
        debian.run(*command.split())
    said = debian.run("apache2ctl", "configtest")
    # Modules and settings cause no messages; Debian has no ServerName.
    assert "Syntax OK" in said and "AH01574" not in said and "elastic:" not in said, said
    debian.start("graceful")


def tag(debian, coding, ae=None):
    """The tag of the page, which must come in `coding`, once, and whole. For the stock modules,
    too: they send Accept-Ranges, which check.encoded() refuses."""
    answer = debian.get("/", ae=ae or coding)
    check.whole(answer, coding, BODY)
    assert answer.varies or not coding, answer
    return answer.headers["ETag"]


@pytest.mark.smoke
@pytest.mark.parametrize("commands,mapped,codings", [
    (["a2dismod -f deflate brotli", "a2enmod elastic"], {"elastic"}, {"gzip", "br"}),
    (["a2enmod brotli elastic"], {"elastic", "deflate", "brotli"}, {"gzip", "br"}),
    (["a2dismod -f deflate", "a2enmod elastic elastic-deflate elastic-brotli"], {"elastic"},
     {"gzip", "br"}),
    # Debian has no brotli.conf; without it the filter is not in use, as with the stock module.
    (["a2enmod elastic-brotli"], {"elastic", "deflate"}, {"gzip"}),
    (["a2dismod -f deflate", "a2enmod elastic-brotli elastic-deflate"], {"elastic"}, {"gzip"})])
def test_elastic_brotli_needs_no_brotli_conf(debian, commands, mapped, codings):
    switch(debian, *commands)
    assert debian.mapped() == mapped
    modules = debian.run("apache2ctl", "-M")
    assert "socache_shmcb_module" in modules or "elastic_module" not in modules
    for coding in ("gzip", "br"):
        tag(debian, coding if coding in codings else None, coding)
    tag(debian, None)


def test_the_drop_in_is_refused_beside_the_stock_module(debian):
    debian.run("a2enmod", "deflate", "brotli")
    for name in ("deflate", "brotli"):
        said = debian.run("a2enmod", f"elastic-{name}", ok=False)
        assert f"Module {name} is enabled" in said, said
    assert not list(debian.enabled.glob("elastic*"))


@pytest.mark.smoke
def test_elastic_deflate_reads_the_distributions_deflate_conf(debian):
    before = tag(debian, "gzip")
    switch(debian, "a2dismod -f deflate", "a2enmod elastic-deflate")
    assert debian.mapped() == {"elastic"} and tag(debian, "gzip") == before
    # Types that deflate.conf does not name stay uncompressed, and so do small bodies.
    debian.write("picture.bin", BODY)
    assert debian.get("/picture.bin", ae="gzip").coding is None
    check.plain(debian.get("/small.html", ae="gzip"), SMALL, varies=False)
    # The earlier tag now gives a 304, which it did not before.
    check.not_modified(debian.get("/", ae="gzip", headers={"If-None-Match": before}), before)


def test_elastic_brotli_reads_a_brotli_conf(debian, brotli_conf):
    switch(debian, "a2dismod -f deflate brotli", "a2enmod elastic-deflate elastic-brotli")
    assert debian.mapped() == {"elastic"}
    for coding, ae in (("gzip", "gzip"), ("br", "br"), ("br", "br, gzip;q=0.5"),
                       ("gzip", "br;q=0.5, gzip")):
        tag(debian, coding, ae)


@pytest.mark.parametrize("names", [["deflate"], ["deflate", "brotli"]], ids=["deflate", "both"])
def test_another_path_in_the_distributions_load_files(debian, brotli_conf, names):
    switch(debian, "a2enmod brotli")
    before = [tag(debian, coding) for coding in ("gzip", "br")]
    stock = "/usr/lib/apache2/modules/mod_{}.so".format
    for back in (False, True):
        for name in names:
            debian.edit(f"mods-available/{name}.load", (env.MODULE, stock(name)) if back else
                        (re.escape(stock(name)), env.MODULE))
        switch(debian)
        assert debian.mapped() == ({"deflate", "brotli"} if back else
                                   {"elastic", "brotli"} - set(names))
        assert [tag(debian, coding) for coding in ("gzip", "br")] == before


def test_a_package_that_enables_the_stock_module_again(debian):
    """httpd keeps the record that is loaded first, and warns."""
    switch(debian, "a2dismod -f deflate", "a2enmod elastic-deflate")
    debian.run("a2enmod", "deflate")
    assert "AH01574" in debian.run("apache2ctl", "configtest")
    debian.log.expect("AH01574")
    debian.start("graceful")
    tag(debian, "gzip")


def test_a_module_whose_files_were_removed_while_enabled(debian):
    """Without make uninstall, dangling links stay; a2dismod removes them."""
    switch(debian, "a2dismod -f deflate", "a2enmod elastic-deflate")
    files = {file: file.read_bytes() for file in debian.available.glob("elastic*")}
    for file in files:
        file.unlink()
    switch(debian, "a2dismod elastic-deflate", "a2enmod deflate")
    assert not list(debian.enabled.glob("elastic*"))
    tag(debian, "gzip")
    for file, data in files.items():
        file.write_bytes(data)


def test_the_log_that_the_manual_shows(debian):
    """The log has a line for each response, although the default site has a log of its own."""
    log = debian.root / "log" / "elastic.log"
    manual = (ROOT / "docs/manual/status.md").read_text()
    pieces = re.findall(r"^```apache\n(.*?)^```$", manual, re.M | re.S)
    [piece] = [piece for piece in pieces if "LogFormat" in piece]
    file = debian.conf / "conf-enabled" / "log.conf"
    file.write_text(piece)
    switch(debian, "a2enmod elastic")

    def logged():
        tag(debian, "gzip")  # the first ones perhaps by an old child with the old log
        return log.exists() and "coding=gzip" in log.read_text()

    until(logged, 60, "a line of the log")
    file.unlink()
