"""scripts/precompress: what it writes, what it leaves alone, how it ends."""

import gzip
import importlib.machinery
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time
import types

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "precompress"
TEXT = b"<p>The same paragraph, again and again.</p>\n" * 200


def run(*arguments, **options):
    return subprocess.run([sys.executable, SCRIPT, *map(str, arguments)],
                          capture_output=True, text=True, timeout=60, check=False, **options)


def names(directory):
    return sorted(path.name for path in directory.iterdir())


@pytest.fixture
def site(tmp_path):
    (tmp_path / "page.html").write_bytes(TEXT)
    return tmp_path


def unpack_brotli(path):
    try:
        import brotli
    except ImportError:
        pytest.skip("python3-brotli is missing")
    return brotli.decompress(path.read_bytes())


def test_writes_siblings_that_decode_to_the_source(site):
    result = run(site)
    assert result.returncode == 0, result.stderr
    assert names(site) == ["page.html", "page.html.br", "page.html.gz"]
    assert gzip.decompress((site / "page.html.gz").read_bytes()) == TEXT
    assert unpack_brotli(site / "page.html.br") == TEXT
    assert "2 siblings written" in result.stdout


def test_gzip_is_by_libdeflate_where_that_is_and_the_file_is_not_too_large(site, monkeypatch):
    script = types.ModuleType("precompress")
    importlib.machinery.SourceFileLoader("precompress", str(SCRIPT)).exec_module(script)
    if script.libdeflate() is None:
        pytest.skip("libdeflate is missing")
    page = site / "page.html"
    page.write_bytes(b"".join(b"<li>%d %d</li>\n" % (n, n * n % 977) for n in range(3000)))

    def encoded():
        with open(page, "rb") as source, open(site / "out", "w+b") as target:
            script.encode_gzip(source, target, threading.Event())
            target.seek(0)
            return target.read()

    best = encoded()
    monkeypatch.setattr(script, "LIBDEFLATE_MOST", 100)
    large = encoded()
    monkeypatch.setattr(script, "libdeflate", lambda: None)
    assert len(best) < len(large) and encoded() == large
    assert gzip.decompress(best) == gzip.decompress(large) == page.read_bytes()


def test_sibling_takes_mode_and_time_to_the_nanosecond(site):
    page = site / "page.html"
    page.chmod(0o640)
    os.utime(page, ns=(1, 1_234_567_890_123_456_789))
    assert run(site).returncode == 0
    for sibling in ("page.html.gz", "page.html.br"):
        info = (site / sibling).stat()
        assert info.st_mtime_ns == 1_234_567_890_123_456_789
        assert info.st_mode & 0o7777 == 0o640


def test_second_run_writes_nothing(site):
    run(site)
    before = (site / "page.html.gz").stat().st_ino
    result = run(site)
    assert "0 siblings written, 2 up to date" in result.stdout
    assert (site / "page.html.gz").stat().st_ino == before


def test_changed_source_is_compressed_again(site):
    run(site)
    (site / "page.html").write_bytes(TEXT + b"more")
    run(site)
    assert gzip.decompress((site / "page.html.gz").read_bytes()) == TEXT + b"more"


def test_stale_sibling_goes_where_the_new_one_is_not_smaller(site):
    run(site)
    (site / "page.html").write_bytes(b"x")
    result = run(site)
    assert result.returncode == 0
    assert names(site) == ["page.html"]
    assert "2 not smaller" in result.stdout


def test_types_and_all(site):
    for name in ("photo.jpg", "notes.txt", "bundle.tar"):
        (site / name).write_bytes(TEXT)
    run(site, "--no-br")
    assert not (site / "photo.jpg.gz").exists()
    assert not (site / "bundle.tar.gz").exists(), "a .tar.gz is usually a download of its own"
    assert (site / "notes.txt.gz").exists()
    run(site, "--no-br", "--types", "jpg")
    assert (site / "photo.jpg.gz").exists()
    run(site, "--no-br", "--all")
    assert (site / "bundle.tar.gz").exists()
    assert not (site / "photo.jpg.gz.gz").exists(), "a sibling is never a source"


def test_prune_removes_only_orphans_of_known_types(site):
    for name in ("gone.css.gz", "gone.css.br", "backup.gz", "dump.tar.gz"):
        (site / name).write_bytes(b"old")
    run(site)
    assert (site / "gone.css.gz").exists(), "nothing goes without --prune"
    result = run(site, "--prune", "--all")
    assert "2 pruned" in result.stdout
    assert names(site) == ["backup.gz", "dump.tar.gz", "page.html", "page.html.br",
                           "page.html.gz"]


@pytest.fixture
def tree(tmp_path_factory):
    """Where the siblings lie, apart from the site."""
    return tmp_path_factory.mktemp("tree")


def test_siblings_in_a_tree_of_their_own(site, tree):
    (site / "assets/new").mkdir(parents=True)
    (site / "assets").chmod(0o750)
    (site / "assets/new/app.js").write_bytes(TEXT)
    assert run(site, "--root", tree).returncode == 0
    assert names(site) == ["assets", "page.html"] and names(site / "assets/new") == ["app.js"]
    assert names(tree) == ["assets", "page.html.br", "page.html.gz"]
    assert names(tree / "assets/new") == ["app.js.br", "app.js.gz"]
    assert (tree / "assets").stat().st_mode & 0o777 == 0o750
    sibling, source = tree / "assets/new/app.js.gz", site / "assets/new/app.js"
    assert gzip.decompress(sibling.read_bytes()) == TEXT
    assert sibling.stat().st_mtime_ns == source.stat().st_mtime_ns
    assert "4 up to date" in run(site, "--root", tree).stdout


def test_prune_in_a_tree_of_their_own(site, tree):
    (site / "other.css.gz").write_bytes(b"beside")
    for name in ("gone.css.gz", "backup.gz"):
        (tree / name).write_bytes(b"old")
    assert "1 pruned" in run(site, "--root", tree, "--prune").stdout
    assert names(tree) == ["backup.gz", "page.html.br", "page.html.gz"]
    assert (site / "other.css.gz").exists()


def test_a_tree_of_their_own_is_apart(site, tree):
    (site / "inner").mkdir()
    for arguments, says in (((site, "--root", site / "inner"), "within each other"),
                            ((site / "inner", "--root", site), "within each other"),
                            ((site, "--root", site), "within each other"),
                            ((site, tree, "--root", tree), "one DIR"),
                            ((site, "--root", site / "none"), "is not a directory")):
        result = run(*arguments)
        assert result.returncode == 2 and says in result.stderr, arguments


def test_links_are_not_followed(site, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "other.html").write_bytes(TEXT)
    (site / "linked").symlink_to(outside)
    (site / "linked.html").symlink_to(outside / "other.html")
    run(site)
    assert names(outside) == ["other.html"]
    assert not (site / "linked.html.gz").exists()


def test_sibling_that_is_a_link_is_replaced_not_written_through(site, tmp_path_factory):
    target = tmp_path_factory.mktemp("outside") / "precious"
    target.write_bytes(b"precious")
    (site / "page.html.gz").symlink_to(target)
    assert run(site).returncode == 0
    assert target.read_bytes() == b"precious"
    assert not (site / "page.html.gz").is_symlink()


def test_error_is_reported_and_the_rest_is_done(site):
    (site / "page.html.gz").mkdir()
    (site / "zebra.html").write_bytes(TEXT)
    result = run(site)
    assert result.returncode == 1
    assert "page.html" in result.stderr
    assert "1 errors" in result.stdout
    assert (site / "zebra.html.gz").exists()
    assert not [name for name in names(site) if name.endswith(".tmp")]


@pytest.mark.parametrize("arguments, says", [
    (["/nonexistent"], "is not a directory"),
    (["/", "--jobs", "0"], "from 1 to 1024"),
    (["/", "--types", "a b"], "give extensions"),
])
def test_wrong_usage(arguments, says):
    result = run(*arguments)
    assert result.returncode == 2
    assert says in result.stderr


def test_missing_brotli_names_the_package(site):
    # -S keeps site-packages out, so that the module is not found; PATH keeps the command out.
    result = subprocess.run([sys.executable, "-S", "-E", SCRIPT, site], env={"PATH": "/nowhere"},
                            capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 2
    assert "python3-brotli" in result.stderr
    assert names(site) == ["page.html"]


@pytest.mark.skipif(not shutil.which("brotli"), reason="brotli is missing")
def test_brotli_command_serves_where_the_module_is_missing(site):
    result = subprocess.run([sys.executable, "-S", "-E", SCRIPT, site],
                            capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 0, result.stderr
    assert unpack_brotli(site / "page.html.br") == TEXT


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_leaves_no_temporary_file(site, number):
    # 64 MB that take brotli far longer than the test waits.
    (site / "large.txt").write_bytes(os.urandom(1 << 16).hex().encode() * 512)
    with subprocess.Popen([sys.executable, SCRIPT, site], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 30
        while not any(name.endswith(".tmp") for name in names(site)):
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        errors = process.communicate(timeout=30)[1]
    assert process.returncode == 130, errors
    assert b"interrupted" in errors
    assert not [name for name in names(site) if name.endswith(".tmp")]
