"""scripts/dictionary: from one state to another as a whole, whatever ends it and where."""

import dataclasses
import errno
import itertools
import json
import os
import pathlib
import signal

import pytest

from dictionarykit import change, exchange, state

CONTENTS = [b"the first dictionary", b"the second dictionary"]


class Httpd:
    """One that "runs" the configuration as it was at its last reload, and needs its files."""

    is_debian, given = True, "apachectl"
    user = staticmethod(os.geteuid)

    def __init__(self, root):
        self.root, self.folder = root, str(root / "etc")
        self.running = root / "running"
        self.link = root / "etc/conf-enabled/elastic-dictionary.conf"
        for name in ("conf-available", "conf-enabled"):
            (root / "etc" / name).mkdir(parents=True, exist_ok=True)

    def conf_of(self):
        return str(self.root / "etc/conf-available/elastic-dictionary.conf")

    def is_switched(self):
        return self.link.exists()

    def switch(self, on):
        if on and not self.link.is_symlink():
            self.link.symlink_to(self.conf_of())
        elif not on:
            self.link.unlink(missing_ok=True)

    def text(self):
        return self.link.read_text() if self.link.exists() else ""

    def is_running(self):
        return True

    def configtest(self):
        for line in self.text().splitlines():
            if line.startswith("ElasticDictionaryFile"):
                assert os.path.exists(line.split('"')[1]), line

    def reload(self):
        self.running.write_text(self.text())


def site_of(number, content, host="a.example"):
    return state.Site(f"https://{host}/", state.name_of(content), number, state.Options(),
                      state.Figures(100, 50.5, 10, len(content)), [], [])


def place_of(root):
    folder = root / "out"
    folder.mkdir(exist_ok=True)
    return change.Place(str(folder), Httpd(root))


def check(place, known):
    """What is on the disk, and what httpd runs, is of the state, and nothing else is left."""
    text = known.configuration(place.folder) or ""
    assert place.server.running.read_text() == place.server.text() == text
    if not known.sites:
        assert not os.path.exists(place.folder) and not os.path.exists(place.server.conf_of())
        return
    assert place.read() == known
    names = {site.dictionary for site in known.sites}
    names |= {f"{name}.br" for name in names}
    assert set(os.listdir(place.folder)) - {"lock"} == {state.FILE, *names}
    assert os.listdir(os.path.dirname(place.server.conf_of())) == ["elastic-dictionary.conf"]


# What a change does: each of these is a step at which it may end.
STEPS = [(state, "replace"), (state, "remove"), (os, "replace"), (os, "unlink"), (os, "truncate"),
         (os, "rmdir"), (os, "makedirs"), (os, "fsync"), (Httpd, "switch"), (Httpd, "configtest"),
         (Httpd, "reload")]


class Ender:
    """Ends the change at its step `number`, before or after what the step does."""

    def __init__(self, monkeypatch, number, after, end):
        self.left, self.after, self.end = number, after, end
        for owner, name in STEPS:
            monkeypatch.setattr(owner, name, self.step(getattr(owner, name)))

    def step(self, real):
        def wrapped(*args, **kw):
            self.left -= 1
            if self.left == 0 and not self.after:
                self.end()
            is_last, result = self.left == 0, real(*args, **kw)
            if is_last and self.after:
                self.end()
            return result

        return wrapped


def full():
    raise OSError(errno.ENOSPC, "No space left on device")


def interrupted():
    raise KeyboardInterrupt


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


PASSED, DONE, ENDED = range(3)  # not so many steps; done all the same; neither


def in_child(work):
    """How a process ends that does it; None: by a signal."""
    pid = os.fork()
    if pid == 0:
        try:
            os._exit(work())
        except BaseException:
            os._exit(ENDED)
    status = os.waitpid(pid, 0)[1]
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else None


def prepare(root, how):
    """(place, state before, state after, the new content) of a change."""
    place = place_of(root)
    one = dataclasses.replace(
        state.State(place.server.folder, "apachectl", store=str(root / "store"), made_store=True),
        sites=[site_of(1, CONTENTS[0])])
    third = CONTENTS[0] + b"3"
    before, after, content = {
        "enable": (one.without(one.sites), one, CONTENTS[0]),
        "renew": (one, one.put(site_of(2, CONTENTS[1])), CONTENTS[1]),
        "another": (one, one.put(site_of(3, third, "b.example")), third),
        "disable": (one, one.without(one.sites), None)}[how]
    place.server.reload()
    if before.sites:
        place.change(before, CONTENTS[0])
    return place, before, after, content


@pytest.mark.parametrize("how", ["enable", "renew", "another", "disable"])
@pytest.mark.parametrize("end", [full, interrupted, killed])
def test_whatever_ends_a_change_and_where_all_is_as_before_or_done(tmp_path, how, end):
    for number, after_step in itertools.product(range(1, 200), (False, True)):
        root = tmp_path / f"{number}{after_step}"
        root.mkdir()
        place, before, after, content = prepare(root, how)

        def work():
            with pytest.MonkeyPatch.context() as monkeypatch:
                ender = Ender(monkeypatch, number, after_step, end)
                place.change(after, content)
                return PASSED if ender.left > 0 else DONE

        status = in_child(work)
        if os.path.isdir(place.folder):
            place.repair()
            place.leave()
        # It may have ended as it cleaned up.
        is_done = status in (PASSED, DONE) \
            or place.server.text() == (after.configuration(place.folder) or "")
        known = after if is_done else before
        check(place, known)
        assert os.path.isdir(root / "store") == bool(known.sites)
        if status == PASSED:
            break
    assert status == PASSED and number > 9


def test_a_check_that_fails_takes_all_back(tmp_path):
    place, before, after, content = prepare(tmp_path, "renew")

    def fail():
        assert place.server.running.read_text() == after.configuration(place.folder)
        raise exchange.Failed("no page")

    with pytest.raises(exchange.Failed, match="no page"):
        place.change(after, content, fail)
    check(place, before)


def test_a_configuration_that_was_broken_before_does_not_keep_what_is_disabled(tmp_path, capsys):
    place, _, after, _ = prepare(tmp_path, "disable")

    def broken():
        raise exchange.Failed("Nonsense")

    place.server.configtest = broken
    with pytest.raises(exchange.Failed):
        place.change(after)
    assert place.server.is_switched()
    place.is_broken = True
    place.change(after)
    assert not place.server.is_switched() and "Nonsense" in capsys.readouterr().out


# --- the state


def known():
    return state.State("/etc/apache2", "", sites=[dataclasses.replace(
        site_of(1, b"x"), versioned=["https://a.example/a.js?v=1"])])


def test_a_state_is_read_as_it_was_written(tmp_path, monkeypatch):
    path = tmp_path / "state.json"
    state.write(path, known())
    assert state.read(path) == known() and path.stat().st_mode & 0o777 == 0o600
    assert state.read(tmp_path / "none") is None
    # A full disk is named with the path.
    monkeypatch.setattr(os, "fsync", lambda _: full())
    with pytest.raises(OSError, match=str(tmp_path / "x")):
        state.replace(str(tmp_path / "x"), b"")
    assert list(tmp_path.iterdir()) == [path]


SITE_DAMAGE = [
    {"url": "ftp://a/"}, {"url": "https://a\nb/"}, {"url": "https://u:p@a/"}, {"made": "1"},
    {"dictionary": "../x"}, {"pages": "x"}, {"figures": {}}, {"options": {"most": "x"}},
    {"versioned": [1]}]


@pytest.mark.parametrize("damage", [
    {"version": 2}, {"sites": {}}, {"sites": [{}]}, {"sites": [1]}, {"apachectl": 1}, {"other": 1},
    {"store": 'a"b'}, {"store": "a\nb"}, *SITE_DAMAGE, None])
def test_a_state_that_was_damaged_is_refused(tmp_path, damage):
    whole = dataclasses.asdict(known())
    if damage:
        (whole["sites"][0] if damage in SITE_DAMAGE else whole).update(damage)
    path = tmp_path / "state.json"
    path.write_text(json.dumps(whole) if damage else "{")
    with pytest.raises(exchange.Failed, match="state.json cannot be used"):
        state.read(path)


def test_the_configuration_is_one_file_of_all_sites():
    sites = [site_of(1, b"x", f"{name}.example") for name in ("b", "a")]
    sites = [dataclasses.replace(site, versioned=["https://a.example/a.js?v=1"]) for site in sites]
    found = state.State("/e", "", store="/s").put(sites[0]).put(sites[1]).put(sites[0])
    text = found.configuration("/f")
    lines = text.splitlines()
    assert lines[2] == 'ElasticDictionaryStore "/s"'
    assert [line for line in lines if line.startswith("ElasticDictionaryFile")] == [
        f'ElasticDictionaryFile "/f/{state.name_of(b"x")}" match="/*" match-dest="document" '
        f'host="{name}.example:443"' for name in "ab"]
    assert text.count("<LocationMatch") == 1
    for gone in ("LoadModule", "Header", "AliasMatch", "ProxyPassMatch", "<If ", "ForceType"):
        assert gone not in text
    assert found.without(found.sites).configuration("/f") is None


def test_a_folder_that_others_may_change_is_refused(tmp_path):
    assert not state.FOLDER.startswith("/var/www")
    state.check_secure(str(tmp_path / "new" / "folder"))
    tmp_path.chmod(0o775)
    with pytest.raises(exchange.Failed, match=f"{tmp_path} may be changed by others"):
        state.check_secure(str(tmp_path / "new" / "folder"))
    tmp_path.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(tmp_path, 65534, -1)
        with pytest.raises(exchange.Failed, match="may be changed by others"):
            state.check_secure(str(tmp_path))
        os.chown(tmp_path, 0, -1)


def test_a_lock_is_waited_for_a_limited_time(tmp_path, capsys):
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        state.lock(str(tmp_path))
        os.close(reader)
        os.write(writer, b"x")
        signal.pause()
    os.close(writer)
    assert os.read(reader, 1)
    try:
        with pytest.raises(exchange.Failed, match="works on .* still"):
            state.lock(str(tmp_path), 0.2)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert "Waiting for another" in capsys.readouterr().out
    state.lock(str(tmp_path), 0.2)
    assert (pathlib.Path(tmp_path) / "lock").exists()
