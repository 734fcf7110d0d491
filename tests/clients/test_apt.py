"""apt against a repository of the test's own: lists, their patches, packages. It accepts no coding,
and gets none; by-hash and .gz files stay what they are."""

import gzip
import hashlib
import os
import shutil
import time
from pathlib import Path

import pytest

from kit import bodies, check
from site_of import answers, logged, run

PACKAGES = 12
BIG = "el-test-0"  # 2 MB
INDEX = "dists/stable/main/binary-all/Packages"


class Repository:
    def __init__(self, docs, packages):
        self.root = docs / "debian"
        shutil.copytree(packages, self.root / "pool")
        (self.root / INDEX).parent.mkdir(parents=True)

    def publish(self, packages, patches=False):
        """The list of `packages`, as it is and in gzip, beside a patch of the last one."""
        index = self.root / INDEX
        before = index.read_bytes() if patches else b""
        index.write_bytes(b"".join(packages))
        with gzip.open(f"{index}.gz", "wb") as file:
            file.write(index.read_bytes())
        if patches:
            self._patch(index, before)
        release = self.root / "dists/stable/Release"
        release.unlink(missing_ok=True)
        release.write_bytes(run(
            "apt-ftparchive", "-o", "APT::FTPArchive::Release::Suite=stable", "-o",
            "APT::FTPArchive::Release::Architectures=all amd64", "-o",
            "APT::FTPArchive::Release::Components=main", "-o",
            "APT::FTPArchive::Release::Acquire-By-Hash=no", "release", release.parent))
        # A date counts in If-Range a minute later, and in If-Modified-Since by seconds.
        age = time.time() - (1000 if not patches else 500)
        for file in filter(Path.is_file, self.root.rglob("*")):
            file.chmod(0o644)
            os.utime(file, (age, age))
        return index.read_bytes()

    def _patch(self, index, before):
        """As dak writes them: an ed script, its hashes, and those of what it is for."""
        old = index.parent / "old"
        old.write_bytes(before)
        script = run("diff", "--ed", old, index, status=1)
        old.unlink()
        folder = index.parent / "Packages.diff"
        folder.mkdir()
        packed = gzip.compress(script)
        (folder / "1.gz").write_bytes(packed)

        def line(data, name=""):
            return f" {hashlib.sha256(data).hexdigest()} {len(data)} {name}".rstrip() + "\n"

        after = index.read_bytes()
        (folder / "Index").write_text(
            "SHA256-Current:" + line(after) + "SHA256-History:\n" + line(before, "1")
            + "SHA256-Patches:\n" + line(script, "1") + "SHA256-Download:\n" + line(packed, "1.gz"))


class Apt:
    def __init__(self, home, url):
        self.home = home
        for name in ("lists/partial", "archives/partial", "etc/apt.conf.d", "etc/preferences.d"):
            (home / name).mkdir(parents=True)
        (home / "status").touch()
        (home / "sources.list").write_text(f"deb [trusted=yes arch=all] {url}/debian stable main\n")
        options = {
            "Dir::Etc": home / "etc", "Dir::Etc::sourcelist": home / "sources.list",
            "Dir::Etc::sourceparts": "-", "Dir::State::lists": home / "lists",
            "Dir::State::status": home / "status", "Dir::Cache": home,
            "Dir::Cache::archives": home / "archives", "APT::Sandbox::User": "",
            "APT::Architecture": "amd64", "Acquire::Languages": "none", "Acquire::PDiffs": "true",
            "Acquire::PDiffs::SizeLimit": "100", "Acquire::GzipIndexes": "false",
            "Acquire::https::Verify-Peer": "false", "Acquire::https::Verify-Host": "false",
            "Acquire::http::Proxy": "DIRECT", "Acquire::Retries": "0"}
        (home / "apt.conf").write_text("".join(f'{k} "{v}";\n' for k, v in options.items()))

    def __call__(self, *arguments):
        return run("apt-get", "-y", *arguments, cwd=self.home,
                   APT_CONFIG=str(self.home / "apt.conf")).decode()

    def lists(self):
        [file] = self.home.glob("lists/*_Packages")
        return file.read_bytes()


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    home = tmp_path_factory.mktemp("packages")
    pool = home / "pool"
    pool.mkdir()
    for n in range(PACKAGES):
        root = home / f"el-test-{n}"
        (root / "DEBIAN").mkdir(parents=True)
        (root / "DEBIAN/control").write_text(
            f"Package: el-test-{n}\nVersion: 1\nArchitecture: all\nMaintainer: A <a@b.c>\n"
            f"Description: a package\n {bodies.text(3000).decode()}\n")
        (root / "data").write_bytes(bodies.noise(2_000_000 if n == 0 else 20_000))
        run("dpkg-deb", "--root-owner-group", "-Znone", "-b", root, pool)
    return pool


@pytest.fixture
def repository(site, packages):
    """(server, Repository, the entries of the list of packages)."""
    server = site("<LocationMatch Packages$>\nForceType text/plain\n</LocationMatch>\n", tls=True)
    made = Repository(server.docs, packages)
    text = run("apt-ftparchive", "packages", "pool", cwd=made.root)
    return server, made, [entry + b"\n\n" for entry in text.split(b"\n\n") if entry.strip()]


@pytest.mark.debian
@pytest.mark.parametrize("scheme", [pytest.param("http", marks=pytest.mark.smoke), "https"])
def test_apt(repository, tmp_path, scheme):
    """apt: update twice, by patch, packages by pipelining, and one resumed"""
    server, made, entries = repository
    port = server.port if scheme == "http" else server.tls_port
    apt = Apt(tmp_path, f"{scheme}://localhost:{port}")
    first = made.publish(entries[:-3])
    apt("update")
    assert apt.lists() == first
    assert "Hit:" in apt("update")
    assert {answer.status for answer in logged(server, path="/debian/dists/stable/Release")} \
        >= {"200", "304"}
    assert made.publish(entries, patches=True) != first
    apt("update")
    assert apt.lists() == (made.root / INDEX).read_bytes()
    assert logged(server, path=f"/debian/{INDEX}.diff/1.gz", status="200")
    part = tmp_path / "archives/partial" / f"{BIG}_1_all.deb"
    [whole] = (made.root / "pool").glob(f"{BIG}_*")
    part.write_bytes(whole.read_bytes()[:700_000])
    os.utime(part, (whole.stat().st_mtime,) * 2)
    apt("install", "--download-only", *[f"el-test-{n}" for n in range(PACKAGES)])
    for file in (made.root / "pool").iterdir():
        assert (tmp_path / "archives" / file.name).read_bytes() == file.read_bytes()
    assert logged(server, path=f"/debian/pool/{whole.name}", status="206")
    assert {answer.coding for answer in answers(server)} == {"-"}
    # What apt got as it is, others get in a coding.
    check.whole(server.get(f"/debian/{INDEX}", ae="gzip"), "gzip", apt.lists())
