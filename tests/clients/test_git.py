"""git over smart HTTP, by git-http-backend: what arrives is what was sent, object for object."""

import shutil

import pytest

from kit import bodies
from site_of import answers, give, logged, run

COMMITS = 300  # a clone then names so many objects that git compresses its request

# mod_deflate decodes a body, and the script is told gzip all the same.
INFLATE = pytest.mark.ours

SMOKE = pytest.mark.smoke


class Git:
    """git with a home of its own; each call's output."""

    def __init__(self, home, protocol="HTTP/1.1"):
        self.home = home
        self._environ = {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1",
                         "GIT_TERMINAL_PROMPT": "0", "GIT_SSL_NO_VERIFY": "1"}
        for name, value in {"http.version": protocol, "user.name": "A", "user.email": "a@b.c",
                            "init.defaultBranch": "main", "gc.auto": "0",
                            "safe.directory": "*"}.items():
            self("config", "--global", name, value)

    def __call__(self, *arguments, cwd=None, **kw):
        said = run("git", *arguments, cwd=cwd or self.home, **self._environ, **kw)
        return said.decode(errors="replace").strip()

    def head(self, folder):
        return self("rev-parse", "HEAD", cwd=folder)

    def refs(self, folder):
        return self("for-each-ref", "--format=%(objectname) %(refname:short)", "refs/tags",
                    cwd=folder)

    def commit(self, folder, name, data):
        (folder / name).write_bytes(data)
        self("add", name, cwd=folder)
        self("commit", "-qm", name, cwd=folder)


def history():
    """For git fast-import: a tag for each commit."""
    for n in range(1, COMMITS + 1):
        text = bodies.text(1500 + n)
        yield b"commit refs/heads/main\nmark :%d\ncommitter A <a@b.c> %d +0000\ndata 2\nc\n" % (
            n, 1_600_000_000 + n)
        yield b"from :%d\n" % (n - 1) if n > 1 else b""
        yield b"M 644 inline file%d.txt\ndata %d\n%s\n" % (n % 40, len(text), text)
        yield b"reset refs/tags/v%d\nfrom :%d\n\n" % (n, n)


@pytest.fixture(scope="session")
def repository(tmp_path_factory):
    home = tmp_path_factory.mktemp("repository")
    git = Git(home)
    git("init", "-q", "--bare", "origin.git")
    bare = home / "origin.git"
    git("fast-import", "--quiet", cwd=bare, input=b"".join(history()))
    git("config", "http.receivepack", "true", cwd=bare)
    return bare


@pytest.fixture
def remote(site, kind, repository, version, inflate, tmp_path):
    """(git, the URL of a copy of the repository, the copy, the server)."""
    git = Git(tmp_path, version)
    server = site(
        "SetEnv GIT_PROJECT_ROOT {root}/git\nSetEnv GIT_HTTP_EXPORT_ALL 1\n"
        f"ScriptAlias /git/ {git('--exec-path')}/git-http-backend/\n<Location /git/>\n"
        f"{kind.every}\n{kind.inflate if inflate else ''}\n</Location>\n", tls=True, h2=True)
    bare = server.root / "git" / "origin.git"
    shutil.copytree(repository, bare)
    give(bare.parent)
    return git, f"https://localhost:{server.tls_port}/git/origin.git", bare, server


@pytest.mark.parametrize("version,inflate", [
    pytest.param("HTTP/1.1", False, id="h1"),
    pytest.param("HTTP/2", False, id="h2", marks=SMOKE),
    pytest.param("HTTP/1.1", True, id="h1-inflate", marks=[SMOKE, INFLATE]),
    pytest.param("HTTP/2", True, id="h2-inflate", marks=INFLATE)])
def test_clone_fetch_and_push(remote, version, tmp_path):
    """git: clone, push of 3 MB, fetch of it by another clone"""
    git, url, bare, server = remote
    one, two = tmp_path / "one", tmp_path / "two"
    git("clone", "-q", url, one)
    git("clone", "-q", url, two)
    assert git.head(one) == git.head(bare) and git.refs(one) == git.refs(bare)
    packed = [answer for answer in answers(server) if answer.sent_coding == "gzip"]
    assert packed and {answer.status for answer in packed} == {"200"}
    assert {answer.protocol for answer in answers(server)} <= {version, version + ".0"}
    # More than http.postBuffer: chunks, and a request ahead of them that is not.
    git.commit(one, "noise.bin", bodies.noise(2_000_000))
    git.commit(one, "text.txt", bodies.text(1_000_000))
    git("push", "-q", "origin", "HEAD", cwd=one)
    assert git.head(bare) == git.head(one)
    for n in range(60):  # what it says it has, in the fetch, is long
        git.commit(two, "own.txt", b"%d" % n)
    git("fetch", "-q", cwd=two)
    assert git("rev-parse", "origin/main", cwd=two) == git.head(one)
    for folder in (one, two, bare):
        git("fsck", "--strict", "--no-progress", cwd=folder)


@pytest.mark.parametrize("version,inflate", [
    pytest.param("HTTP/1.1", False, id="h1"),
    pytest.param("HTTP/2", True, id="h2-inflate", marks=INFLATE)])
def test_shallow(remote, tmp_path):
    """git: shallow clone, deepened, then made whole"""
    git, url, bare, server = remote
    folder = tmp_path / "shallow"
    git("clone", "-q", "--depth", "1", url, folder)
    assert git("rev-list", "--count", "HEAD", cwd=folder) == "1"
    git("fetch", "-q", "--deepen", "20", cwd=folder)
    assert git("rev-list", "--count", "HEAD", cwd=folder) == "21"
    git("fetch", "-q", "--unshallow", "--tags", cwd=folder)
    assert git.head(folder) == git.head(bare) and git.refs(folder) == git.refs(bare)
    git("fsck", "--strict", "--no-progress", cwd=folder)
    assert logged(server, method="POST", status="200")
