"""make install and make uninstall, into a folder of the test's own; what a reconfiguration builds
anew; builds beside a configured source tree."""

import fcntl
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONF = "etc/apache2"
LIMIT = 300  # seconds; a make that finds all of it built takes one


def ran(words, cwd=None, **environ):
    """What a command said, without what a make that runs the tests tells the makes below it, and
    scripts their callers."""
    told = ("ELASTIC_BUILD_DIR", "MAKEFLAGS", "MAKELEVEL", "MFLAGS")
    kept = {key: value for key, value in os.environ.items() if key not in told}
    done = subprocess.run(words, cwd=cwd, env=kept | environ, capture_output=True, text=True,
                          timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Installation:
    """What `make install DESTDIR=root` makes, on a Debian whose Apache is enabled."""

    def __init__(self, build, root, confdir=f"/{CONF}"):
        self.build, self.root, self.confdir = build, root, confdir
        self.available = root / CONF / "mods-available"
        self.enabled = root / CONF / "mods-enabled"
        self.conf = self.available / "elastic.conf"
        self.new = self.available / "elastic.conf.new"

    def prepare(self):
        """What is there before; returns the tree of it."""
        for folder in (self.available, self.enabled, self.root / "usr" / "local" / "bin"):
            folder.mkdir(parents=True)
        (self.available / "deflate.conf").write_text("# the distribution's\n")
        return self.tree()

    def make(self, target):
        """What it said. One at a time: the tests share the build."""
        folder = os.open(self.build, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            return ran(["make", target, f"DESTDIR={self.root}", f"apacheconfdir={self.confdir}"],
                       self.build)
        finally:
            os.close(folder)

    def tree(self):
        """Every path, and a file's content or a link's target."""
        return {str(path.relative_to(self.root)):
                os.readlink(path) if path.is_symlink() else path.is_file() and path.read_bytes()
                for path in self.root.rglob("*")}

    def found(self, name):
        [path] = [path for path in self.root.rglob(name) if path.is_file()]
        return path

    def at(self, path):
        """Where the file lies that has this path on the system that is installed into."""
        return self.root / path.lstrip("/")


@pytest.fixture
def build(module):
    return pathlib.Path(module).parents[1]


FIRST = {}  # the installation that the tests copy, once there is one


@pytest.fixture
def installed(build, tmp_path, tmp_path_factory):
    """A copy of one installation; `before` is the tree without it."""
    if not FIRST:
        made = Installation(build, tmp_path_factory.mktemp("first") / "root")
        FIRST.update(before=made.prepare(), root=made.root)
        made.make("install")
    made = Installation(build, tmp_path / "root")
    shutil.copytree(FIRST["root"], made.root, symlinks=True)
    made.before = FIRST["before"]
    return made


def names(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_all_is_installed_with_what_it_needs(installed):
    docs = installed.found("CHANGES.md").parent
    # What is for other projects stays in the sources.
    assert names(docs / "docs") == {name for name in names(ROOT / "docs")
                                    if not name.startswith("upstream/")}
    for page in docs.rglob("*.md"):
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / link).exists(), (page, link)
    for name in ("elastic-dictionary", "elastic-precompress", "elastic-why"):
        script = installed.found(name)
        assert script.parent.name == "bin"
        assert ran([script, "--help"]).startswith("usage: " + name)
    assert not list(installed.root.rglob("benchkit"))
    [way] = re.findall(r'(?m)^REASONS = HERE \+ "(.*)"$', script.read_text())
    assert "### type" in pathlib.Path(f"{script.parent}{way}").read_text()
    # The configuration is that of the sources.
    assert installed.conf.read_bytes() == (ROOT / "conf" / "elastic.conf").read_bytes()
    assert {path.stat().st_mode & 0o777 for path in installed.available.glob("elastic*")} == {0o644}
    for file in (installed.found("elasticd.service"), installed.found("elastic-dictionary.service"),
                 installed.available / "elastic.load"):
        paths = re.findall(r"(?m)^(?:Documentation=file:|ExecStart=|LoadModule \w+ )(/\S*)",
                           file.read_text())
        assert paths and all(installed.at(path).is_file() for path in paths), file


@pytest.mark.parametrize("name, page", [
    ("elastic.conf.5", "directives.md"), ("elasticd.8", "elasticd.md"),
    ("elastic-dictionary.1", "site-dictionary.md"),
    ("elastic-precompress.1", "precompressed.md"), ("elastic-why.1", "why.md")])
def test_pages_of_the_manual_are_man_pages(installed, name, page):
    """They show the usage, and no address within a sentence."""
    text, command = installed.found(name).read_text(), name[:-2]
    assert installed.found(name).parent.name == f"man{name[-1]}"
    assert re.findall(r"(?m)^\.SH\s+(.+)$", text)[:3] == ["NAME", "SYNOPSIS", "DESCRIPTION"]
    summary = re.search(r"(?m)^\.SH\s+NAME\s+\.LP\n(.+)$", text)[1].replace("\\-", "-")
    assert summary.startswith(f"{command} - ")
    for title in re.findall(r"(?m)^## (\w+)$", (ROOT / "docs" / "manual" / page).read_text()):
        assert re.search(rf"(?m)^\.SH\s+{title}$", text), title
    for link in re.findall(r"(/[\w/.-]+/docs/manual/[\w-]+\.md)", text):
        assert installed.at(link).is_file(), link
    synopsis = re.search(r"(?s)\.SH\s+SYNOPSIS\n(.*?)\.SH", text)[1].replace("\\-", "-")
    prose, _, links = text.partition("SEE ALSO\n")
    assert not re.search(r"/docs/(?:manual|internals|results)/|<\\f|\]\(", prose)
    for other in re.findall(r"(?m)^([\w.-]+)\((\d)\)$", links.replace("\\-", "-")):
        assert installed.found(".".join(other))
    if command != "elastic.conf":
        lines = re.findall(rf"(?m)^{command} .*$", synopsis)
        said = ran([installed.found(command), "--help"])
        # Options, and the commands of a command.
        for word in re.findall(r"--[a-z-]+|(?<=[ |])[a-z]+(?=[ |])", "\n".join(lines)):
            assert re.search(rf"(?m)(?<![\w-]){word}(?![\w-])", said), word
        assert lines


def test_nothing_is_configured_where_httpd_has_no_such_layout(build, tmp_path):
    made = Installation(build, tmp_path / "root", confdir="")
    before = made.prepare()
    said = made.make("install")
    assert not list((made.root / "etc").rglob("elastic*"))
    for path in re.findall(r"(?m)^(?:LoadModule elastic_module|Include) (/.*)$", said):
        assert made.at(path).is_file()
    assert len(re.findall(r"(?m)^(?:LoadModule|Include) ", said)) == 2
    made.make("uninstall")
    assert made.tree() == before


def test_an_edited_file_stays_and_the_new_one_is_beside_it(installed):
    defaults = {file: file.read_text() for file in (installed.conf,
                                                    installed.available / "elastic.load")}
    for file, text in defaults.items():
        file.write_text(text + "# mine\n")
    # At the second time this default is the one that was installed last.
    for said in (installed.make("install"), installed.make("install")):
        for file, text in defaults.items():
            assert file.read_text() == text + "# mine\n"
            assert file.with_name(f"{file.name}.new").read_text() == text
            assert f"{file.name} was edited and stays; the new one is {file.name}.new" in said
    # Once the new one is taken over, it is no longer beside.
    for file, text in defaults.items():
        file.write_text(text)
    assert "was edited" not in installed.make("install")
    for file, text in defaults.items():
        assert file.read_text() == text and not file.with_name(f"{file.name}.new").exists()


def test_a_file_that_nobody_edited_is_replaced(installed):
    kept = installed.found("mod_elastic/conf/elastic.conf")
    default = kept.read_text()
    for file in (kept, installed.conf):
        file.write_text("# of the version before\n")
    assert "was edited" not in installed.make("install")
    assert installed.conf.read_text() == kept.read_text() == default
    installed.conf.unlink()  # a removed one is installed again
    installed.make("install")
    assert installed.conf.exists() and not installed.new.exists()


def enable(installed):
    """The links of a2enmod and of systemctl enable, and one that is the operator's own."""
    for name in ("elastic.conf", "elastic.load", "elastic-deflate.load"):
        (installed.enabled / name).symlink_to(f"../mods-available/{name}")
    for name, target in (("elasticd.service", "multi-user"), ("elastic-dictionary.timer", "timers")):
        wants = installed.root / f"etc/systemd/system/{target}.target.wants"
        wants.mkdir(parents=True)
        (wants / name).symlink_to("/" / installed.found(name).relative_to(installed.root))
    (installed.enabled / "elastic-brotli.conf").symlink_to("/srv/elastic-brotli.conf")


def test_uninstall_leaves_what_was_there_before(installed):
    enable(installed)
    installed.make("install")  # what it finds there is not its own
    cache = installed.found("asgi.py").parent / "__pycache__"
    cache.mkdir()
    (cache / "asgi.pyc").write_bytes(b"")
    installed.make("uninstall")
    left = installed.tree()
    assert left.pop(f"{CONF}/mods-enabled/elastic-brotli.conf") == "/srv/elastic-brotli.conf"
    for folder in ("etc/systemd", "etc/systemd/system",
                   "etc/systemd/system/multi-user.target.wants",
                   "etc/systemd/system/timers.target.wants"):
        del left[folder]
    assert left == installed.before


def test_uninstall_keeps_an_edited_file(installed):
    enable(installed)
    installed.conf.write_text("# mine\n")
    installed.make("install")
    assert "elastic.conf was edited and stays" in installed.make("uninstall")
    assert installed.conf.read_text() == "# mine\n"
    assert [path.name for path in installed.available.glob("elastic*")] == ["elastic.conf"]
    assert not (installed.enabled / "elastic.conf").is_symlink()
    # ... and so does the next installation.
    installed.make("install")
    assert installed.conf.read_text() == "# mine\n" and installed.new.exists()


def test_folders_that_others_use_meanwhile_stay(installed):
    other = installed.found("elasticd.service").with_name("other.service")
    other.write_text("")
    installed.make("uninstall")
    made = {str(path.relative_to(installed.root)) for path in (other, *other.parents)
            if path.is_relative_to(installed.root)}
    assert installed.tree().keys() == (installed.before.keys() | made) - {"."}


# --- builds


def test_a_reconfiguration_makes_objects_anew_where_their_flags_changed(build, tmp_path):
    for name in ("Makefile", "config.status", "libtool"):
        shutil.copy2(build / name, tmp_path)
    [source] = re.findall(r"(?m)^abs_srcdir = (.*)$", (build / "Makefile").read_text())
    elsewhere = [f"{name}={source}" for name in ("srcdir", "top_srcdir", "VPATH")]
    target = "src/engines/libengines_la-engines.lo"

    def made(*variables):
        """When the object was made, which is when it was made last."""
        ran(["make", "-s", target, *elsewhere, *variables], tmp_path)
        return (tmp_path / target).stat().st_mtime_ns

    first = made()
    assert made() == first, "nothing has changed"
    without = made("ENGINE_DEFS=")
    assert without != first
    assert made("ENGINE_DEFS=") == without
    assert made() != without


CONFIGURE = """#!/bin/sh
source=$(dirname "$0")
if [ "$(cd "$source" && pwd)" != "$(pwd)" ] && [ -f "$source/config.status" ]; then
    echo "source directory already configured" >&2
    exit 1
fi
: >config.status
printf 'all:\\n\\tcp %s/src/a.c out.c\\n' "$source" >Makefile
"""


@pytest.fixture
def tree(tmp_path):
    """A source tree that was configured and built in place. Its configure refuses what automake's
    does."""
    root = tmp_path / "tree"
    for name in ("configure.ac", "Makefile.am", "m4/elastic.m4", "src/b.c", "Makefile.in",
                 "config.status", "Makefile", "libtool", "src/a.o", "src/a.lo", "src/.libs/a.o",
                 "src/.deps/a.Plo", ".git/config", "out/results", "src/a.c", "configure"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text({"src/a.c": "first", "configure": CONFIGURE}.get(name, ""))
    (root / "configure").chmod(0o755)
    return root


def el_build(root):
    ran(["bash", "-c", f'. "{ROOT}/scripts/lib/build.sh"; el_build check'], el_root=str(root))
    return (root / "build" / "check" / "out.c").read_text()


def test_scripts_build_beside_a_tree_that_was_configured_in_place(tree):
    source = tree / "build" / "source"
    assert el_build(tree) == "first"
    assert names(source) == {"configure.ac", "Makefile.am", "m4/elastic.m4", "src/a.c", "src/b.c",
                             "Makefile.in", "configure"}
    kept = (source / "configure").stat().st_mtime_ns
    (tree / "src" / "a.c").write_text("second")
    (tree / "src" / "b.c").unlink()
    assert el_build(tree) == "second"
    assert not (source / "src" / "b.c").exists()
    assert (source / "configure").stat().st_mtime_ns == kept == \
        (tree / "configure").stat().st_mtime_ns
    # As it was before, once that build is gone.
    (tree / "config.status").unlink()
    (tree / "src" / "a.c").write_text("third")
    assert el_build(tree) == "third"
    makefile = (tree / "build" / "check" / "Makefile").read_text()
    assert str(tree) in makefile and str(source) not in makefile


def test_a_library_that_appears_is_looked_for_again(tree, tmp_path, monkeypatch):
    (tree / "config.status").unlink()
    tools = tmp_path / "bin"
    tools.mkdir()
    fake = tools / "pkg-config"
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")

    def configured(version):
        fake.write_text(f"#!/bin/sh\necho {version}\n")
        fake.chmod(0o755)
        el_build(tree)
        return (tree / "build" / "check" / "config.status").stat().st_mtime_ns

    first = configured("1.0")
    assert configured("1.0") == first
    assert configured("1.1") != first
