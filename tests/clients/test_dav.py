"""WebDAV: what clients wrote is what is there."""

import re
import subprocess

import pytest

from kit import bodies, check
from kit.process import need, until
from site_of import answers, give, logged, run

BODY = bodies.html(30000)
MARKED = "<p>written by an editor</p>"


@pytest.fixture
def server(site):
    made = site("DavLockDB {root}/locks/db\nFileETag MTime Size\n<Location /dav>\nDav On\n"
                "</Location>\n", modules=["dav", "dav_fs"], files={"dav/page.html": BODY},
                allow_log=[r"\[dav:error\]"])
    made.folder("locks")
    give(made.docs / "dav")
    return made


def cadaver(server, home, *lines, **environ):
    """What it says; it must not say that something failed."""
    said = run("cadaver", f"http://127.0.0.1:{server.port}/dav/", cwd=home, HOME=str(home),
               input="\n".join([*lines, "quit", ""]).encode(), **environ).decode()
    assert not re.search("failed|error|conflict", said, re.I), said
    return said


def test_cadaver(server, tmp_path):
    """cadaver: put, get, copy, move, lock, properties, and an editor under a lock"""
    (tmp_path / "own.html").write_bytes(BODY[::-1])
    editor = tmp_path / "editor"
    # It looks at the second in which the file changed.
    editor.write_text(f"#!/bin/sh\necho '{MARKED}' >>\"$1\"\ntouch -d '1 minute' \"$1\"\n")
    editor.chmod(0o755)
    said = cadaver(server, tmp_path, "put own.html", "get own.html back.html", "mkcol new",
                   "copy own.html new/copy.html", "move new/copy.html new/moved.html",
                   "lock own.html", "put own.html", "unlock own.html", "propset own.html n v",
                   "propget own.html n", "edit page.html", "ls", "ls new", "delete own.html",
                   EDITOR=str(editor))
    assert (tmp_path / "back.html").read_bytes() == BODY[::-1]
    dav = server.docs / "dav"
    assert (dav / "new/moved.html").read_bytes() == BODY[::-1]
    assert (dav / "page.html").read_bytes() == BODY + MARKED.encode() + b"\n"
    assert not (dav / "own.html").exists() and "moved.html" in said and "Value of n is: v" in said
    assert logged(server, 2, method="LOCK", status="200")
    check.whole(server.get("/dav/page.html", ae="br"), "br", (dav / "page.html").read_bytes())


DAVFS = """\
ask_auth 0
use_compression {}
use_locks 1
delay_upload 0
cache_dir {}
"""


@pytest.fixture
def mounted(server, compression):
    need("mount.davfs", "davfs2")
    folder, cache, conf = (server.root / name for name in ("mounted", "cache", "davfs2.conf"))
    folder.mkdir()
    cache.mkdir()
    cache.chmod(0o777)
    conf.write_text(DAVFS.format(compression, cache))
    # It stays in the background, with the output that it was given.
    subprocess.run(["mount.davfs", f"http://127.0.0.1:{server.port}/dav", folder, "-o",
                    f"conf={conf}"], check=True, timeout=60, stdin=subprocess.DEVNULL)
    yield folder
    if folder.is_mount():
        run("umount", folder)


@pytest.mark.fuse
@pytest.mark.parametrize("compression", [0, pytest.param(1, marks=pytest.mark.ours)])
def test_davfs2(server, mounted, compression):
    """davfs2: files are read, in gzip and not, written and renamed under locks, by their tags"""
    there = server.docs / "dav"
    assert (mounted / "page.html").read_bytes() == BODY
    coding = "gzip" if compression else "-"
    assert logged(server, method="GET", path="/dav/page.html", coding=coding)
    with open(mounted / "page.html", "ab") as file:
        file.write(MARKED.encode())
    (mounted / "new").mkdir()
    for n in range(5):
        (mounted / f"new/{n}.txt").write_bytes(bodies.text(20000 + n))
    (mounted / "new/4.txt").rename(mounted / "moved.txt")
    run("umount", mounted)
    until(lambda: not mounted.is_mount(), 10, "the end of the mount")
    assert (there / "page.html").read_bytes() == BODY + MARKED.encode()
    assert (there / "moved.txt").read_bytes() == bodies.text(20004)
    assert [(there / f"new/{n}.txt").read_bytes() for n in range(4)] \
        == [bodies.text(20000 + n) for n in range(4)]
    assert logged(server, method="PUT", path="/dav/page.html", status="204")
    check.whole(server.get("/dav/moved.txt", ae="br"), "br", bodies.text(20004))
    assert not [answer for answer in answers(server) if answer.status in ("409", "412", "500")]
