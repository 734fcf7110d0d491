"""scripts/dictionary: versioned files, the process without privileges, who renews."""

import os
import pathlib
import pwd
import re
import types

import pytest

from dictionarykit import check, exchange, sources, state, timer, unprivileged

CONF = pathlib.Path(__file__).resolve().parents[2] / "conf"
HTML = ("content-type", "text/html; charset=utf-8")
SESSION = ("set-cookie", "sid=1; path=/")


# --- without privileges


def test_the_child_has_no_privileges_and_gives_back_what_it_made():
    own, is_root = os.getgroups(), os.geteuid() == 0
    try:
        if is_root:
            os.setgroups([0, 4])
        found = unprivileged.call(lambda: [*os.getresuid(), os.getgroups(), b"\x00\xff"])
    finally:
        if is_root:
            os.setgroups(own)
    uid, other = (pwd.getpwnam(name).pw_uid if is_root else os.getuid()
                  for name in (unprivileged.USER, "daemon"))
    assert found == [uid, uid, uid, [] if is_root else own, b"\x00\xff"]
    assert unprivileged.call(os.geteuid, uid=other) == other


@pytest.mark.parametrize("problem, said", [
    (exchange.Failed("no pages"), "no pages"), (OSError("no memory"), "no memory"),
    (exchange.Refused("no\x1bURL\n"), r"no\\x1bURL\\n"), (None, "ended early")])
def test_the_child_says_why_it_failed(problem, said):
    def fail():
        if problem:
            raise problem
        os._exit(3)

    with pytest.raises(exchange.Failed, match=said):
        unprivileged.call(fail)


# --- scripts and styles with a version

# As builds name them: (URL, match).
VERSIONED = [
    # webpack, also by Create React App, with numbers for its pieces
    ("/static/js/main.bb9c9b53.js", "/static/js/main.*.js"),
    ("/static/js/787.28cb0dcd.chunk.js", "/static/js/787.*.chunk.js"),
    ("/dist/vendors~main.3f1b2c4d5e6f7a8b9c0d.bundle.js", "/dist/vendors~main.*.bundle.js"),
    # vite, today's and that of version 3
    ("/assets/index-BrG0pPR4.js", "/assets/index-*.js"),
    ("/assets/index-BmtrZPm_.css", "/assets/index-*.css"),
    ("/assets/index-DYIkqkhu.js", "/assets/index-*.js"),
    ("/assets/vendor-em3rWA79.js", "/assets/vendor-*.js"),
    ("/assets/index.06d14ce2.css", "/assets/index.*.css"),
    # hugo
    ("/css/main.min.7cd6d3b5ff1a0ce1bcb8a6ae16e6bd1b5a4b7d5f1ef0a8c24d2b1ac6ebd5fd0e.css",
     "/css/main.min.*.css"),
    ("/en.search.min.2f80efdd2b9e5e9d7ae0a4e4c8f0e0cd0f6a3a25b8c2bb4b3b0b0e7d1f7c5e2a.js",
     "/en.search.min.*.js"),
    # mdBook, sphinx, its themes
    ("/searcher-c2a407aa.js", "/searcher-*.js"), ("/mark-09e88c2c.min.js", "/mark-*.min.js"),
    ("/_static/doctools.js?v=9a2dae69", "/_static/doctools.js?v=*"),
    ("/_static/theme.js?digest=8878045cc6db502f8baf", "/_static/theme.js?digest=*"),
    # WordPress, and releases by their numbers
    ("/js/jquery/jquery.min.js?ver=3.6.1", "/js/jquery/jquery.min.js?ver=*"),
    ("/css/style.min.css?ver=6.1.9", "/css/style.min.css?ver=*"),
    ("/js/jquery-1.7.1.min.js", "/js/jquery-*.min.js"), ("/css/app-v1.2.3.css", "/css/app-v*.css")]


@pytest.mark.parametrize("path, match", VERSIONED)
def test_a_version_is_recognised(path, match):
    rule = sources.rule_of("https://h" + path)
    assert rule.match == match
    assert rule.dest == ("style" if ".css" in path else "script")
    assert re.search(rule.location, path.partition("?")[0])


@pytest.mark.parametrize("path", [
    "/app.js", "/jquery.min.js", "/jquery-ui.min.js", "/bootstrap.bundle.min.js", "/js/sha256.js",
    "/js/jquery.mousewheel.js", "/js/date-FormData.js", "/js/i18n-en_US.js", "/d3.v7.min.js",
    "/bootstrap-datepicker.js", "/facade.decade.js", "/0a1b2c3d.js", "/app.0a1b2c3d.png",
    "/app.js?v=3&w=4", "/load-scripts.php?v=3", "/app.0a1b2c3d.js?x=1", "/a(b)/app.0a1b2c3d.js",
    "/../app.0a1b2c3d.js", "/style.css?id=7", "/a%20b/app.0a1b2c3d.js", "/a%22/app.0a1b2c3d.js",
    "/app.js?v=\u0663",
    '/a"\n.1a2b3c4d.js'])  # whatever the process that read the pages says
def test_a_name_without_a_version(path):
    assert sources.rule_of("https://h" + path) is None


JS = ("content-type", "text/javascript")


@pytest.mark.parametrize("fields, reason", [
    ([JS, ("cache-control", "max-age=60")], ""),
    ([JS, ("expires", "Thu, 01 Jan 2099 00:00:00 GMT")], ""),
    ([JS], "has no Cache-Control"), ([JS, ("cache-control", "no-cache")], "has no Cache-Control"),
    ([JS, ("cache-control", "max-age=0")], "has no Cache-Control"),
    ([JS, ("cache-control", "private, max-age=60")], "is private"),
    ([JS, ("vary", "Cookie"), ("cache-control", "max-age=60")], "varies by visitor"),
    ([JS, SESSION], "sets the cookie"), ([HTML], "has the status 200")])
def test_which_versioned_files_become_dictionaries(fields, reason):
    visitor = types.SimpleNamespace(ask=lambda *_: exchange.Response(200, tuple(fields), b"x"))
    found = sources.reason_against(visitor, "https://h/a", "script")
    assert found.startswith(reason) and bool(found) == bool(reason)


# --- who renews

SYSTEMCTL = """#!/bin/sh
echo "$@" >>{log}
exit {status}
"""


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """has(systemd=, cron=): a machine with these; what systemctl was told, and what cron has."""
    monkeypatch.setattr(timer.os, "geteuid", lambda: 0)
    monkeypatch.setattr(state, "FOLDER", "/default")
    monkeypatch.setenv("PATH", str(tmp_path))

    def has(systemd, cron, status=0):
        tool, log = tmp_path / "systemctl", tmp_path / "log"
        tool.write_text(SYSTEMCTL.format(log=log, status=status))
        tool.chmod(0o755)
        for name, there in (("SYSTEMD", systemd), ("CRON", cron)):
            folder = tmp_path / name.lower()
            monkeypatch.setattr(timer, name, str(folder))
            if there:
                folder.mkdir()
        return lambda: log.read_text().splitlines(), lambda: list((tmp_path / "cron").glob("*"))

    return has


def test_systemds_timer_is_turned_on_and_off(machine):
    told, crons = machine(systemd=True, cron=True)
    unit = "elastic-dictionary.timer"
    assert unit in timer.turn_on("/default")
    assert timer.status() == f"by {unit}"
    timer.turn_off("/default")
    assert told() == [f"--quiet enable --now {unit}", f"--quiet is-enabled {unit}",
                      f"--quiet disable --now {unit}", f"--quiet clean --what=state {unit}"]
    assert not crons()


def test_cron_where_there_is_no_systemd(machine):
    _, crons = machine(systemd=False, cron=True)
    assert "cron/elastic-dictionary" in timer.turn_on("/default")
    [file] = crons()
    # Nothing is said where the program is gone; what failed is mailed.
    assert re.search(r"(?m)^\d{1,2} [1-5] \* \* [0-6] root \[ ! -x (\S+) \] \|\| "
                     r"\1 renew >/dev/null$", file.read_text())
    assert timer.status() == f"by {file}"
    timer.turn_off("/default")
    assert not crons() and timer.status() == "by nobody"


@pytest.mark.parametrize("systemd, status, folder", [
    (False, 0, "/default"), (True, 1, "/default"), (True, 0, "/other")])
def test_nobody_renews(machine, systemd, status, folder):
    _, crons = machine(systemd, cron=systemd, status=status)
    assert "once a week: elastic-dictionary renew" in timer.turn_on(folder)
    assert not crons()


def test_the_units_fit_each_other():
    assert "[Install]" in (CONF / timer.UNIT).read_text()
    service = CONF / timer.UNIT.replace(".timer", ".service.in")
    assert re.search(r"(?m)^ExecStart=@bindir@/elastic-dictionary renew$", service.read_text())
    assert "[Install]" not in service.read_text()


# --- the site as a browser gets it


def browser(body_of, sleep=lambda _: None):
    """A browser to whom each visit gives `body_of()`."""
    checked = check.Browser(None, 1)
    checked.visitor.sleep = sleep
    checked.ask = lambda *_: exchange.Response(200, (), body_of())
    return checked


@pytest.mark.parametrize("body, visits, fine", [
    (b"<p>a<p>b", [b"<p>a<p>b"], True), (b"<p>a<p>x", [b"<p>a<p>b"], False),
    (b"<p>a<i>3<p>b", [b"<p>a<i>1<p>b", b"<p>a<i>2<p>b"], True),
    (b"<p>a<i>3<p>x", [b"<p>a<i>1<p>b", b"<p>a<i>2<p>b"], False),
    # Equal by chance at first.
    (b"<p>a<i>3<p>b", [b"<p>a<i>1<p>b", b"<p>a<i>1<p>b", b"<p>a<i>2<p>b"], True)])
def test_a_page_is_the_same_with_the_dictionary(body, visits, fine):
    left = list(visits)
    checked = browser(lambda: left.pop(0) if len(left) > 1 else left[0])
    assert checked.is_page("https://h/", body) is fine


def test_a_page_with_the_time_is_the_same_a_second_later():
    """As DokuWiki's, when all visits but that with the dictionary are in one second at first."""
    now = [10.0]
    checked = browser(lambda: b"<p>a<i>%d<p>b" % now[0],
                      lambda seconds: now.append(now.pop() + seconds))
    assert checked.is_page("https://h/", b"<p>a<i>9<p>b")
    assert not checked.is_page("https://h/", b"<p>x<i>9<p>b")


@pytest.mark.parametrize("coding", ["dcz", "gzip", "br", "zstd", "x"])
def test_a_broken_body_is_no_page(coding):
    answer = exchange.Response(200, (("content-encoding", coding),), b"broken")
    with pytest.raises(exchange.Failed, match="a response is broken"):
        check.decoded(answer, b"dictionary")
