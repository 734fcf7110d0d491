"""scripts/precompress: what it writes, what it leaves alone, how it ends."""

import gzip
import os
import pathlib
import pty
import random
import signal
import subprocess
import sys
import threading
import time

import brotli
import pytest
import zstandard

from codeckit import libraries
from precompresskit import cli, encoders, files, tally, watch

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


def unpack(path):
    """What a precompressed file decodes to."""
    data = path.read_bytes()
    if path.suffix == ".zst":
        return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return {".gz": gzip, ".br": brotli}[path.suffix].decompress(data)


def overwrite(path, data):
    """As another tool that gives it the time of its source, too."""
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_bytes(data)
    os.utime(path, ns=times)


ALL = ["page.html", "page.html.br", "page.html.gz", "page.html.zst"]


def test_precompressed_files_decode_to_the_source_as_it_is(site):
    page = site / "page.html"
    page.chmod(0o640)
    os.utime(page, ns=(1, 1_234_567_890_123_456_789))
    kept = set()
    for said in ("3 precompressed files written", "0 precompressed files written, 3 up to date"):
        result = run(site)
        assert result.returncode == 0 and said in result.stdout, result
        assert names(site) == ALL
        for name in ALL[1:]:
            assert unpack(site / name) == TEXT, name
            info = (site / name).stat()
            assert (info.st_mtime_ns, info.st_mode & 0o7777) == (1_234_567_890_123_456_789, 0o640)
        kept.add((site / "page.html.gz").stat().st_ino)
    assert len(kept) == 1
    page.write_bytes(TEXT + b"more")
    run(site)
    assert unpack(site / "page.html.gz") == TEXT + b"more"
    # The stale ones go where the new ones are not smaller.
    page.write_bytes(b"x")
    result = run(site)
    assert result.returncode == 0 and "3 not smaller" in result.stdout
    assert names(site) == ["page.html"]


@pytest.mark.parametrize("size", [30_000, 90_000, 130_000, 400_000, 1_100_000])
def test_a_file_of_zstd_can_be_used_as_it_comes(tmp_path, size):
    """Text after two segments, and half of it after three quarters of them."""
    words = random.Random(1).choices([f"word{i}" for i in range(3000)], k=size // 8)
    text = " ".join(words).encode()[:size]
    (tmp_path / "page.html").write_bytes(text)
    assert run("--no-gz", "--no-br", tmp_path).returncode == 0
    encoded = (tmp_path / "page.html.zst").read_bytes()
    segments = -(-len(encoded) // 1448)

    def after(count):
        decoder = zstandard.ZstdDecompressor().decompressobj()
        return len(decoder.decompress(encoded[:count * 1448]))

    assert segments > 4 and after(segments) == len(text)
    assert after(2) > 0 and after(-(-segments * 3 // 4)) >= len(text) // 2


# --- the fewest bytes


@pytest.fixture
def codecs():
    """{extension: codec} of all codings."""
    options = cli.make_parser().parse_args(["/"])
    return {codec.extension: codec for codec in encoders.choose_codecs(options)}


def encoded(codec, path):
    """The precompressed file's bytes."""
    with open(path, "rb") as source:
        size = os.fstat(source.fileno()).st_size
        return b"".join(encoders.encode(codec, source, size, threading.Event()))


def records(count):
    return b"".join(b"<li>%d %d</li>\n" % (n, n * n % 977) for n in range(count))


def test_the_smallest_of_all_ways_stays(site, codecs, monkeypatch):
    page, body = site / "page.html", records(3000)
    page.write_bytes(body)
    for extension, codec in codecs.items():
        ways = [len(way(body, threading.Event())) for way in codec.ways(len(body))]
        assert len(set(ways)) > 3, "levels differ"
        best = encoded(codec, page)
        assert len(best) == min(ways)
        monkeypatch.setattr(encoders, "WHOLE_MOST", 100)
        streamed = encoded(codec, page)
        monkeypatch.undo()
        for data in (best, streamed):
            (site / f"out{extension}").write_bytes(data)
            assert unpack(site / f"out{extension}") == body


def test_gzip_is_by_libdeflate_where_that_is(site, codecs, monkeypatch):
    page = site / "page.html"
    page.write_bytes(records(16000))  # more than that of which every level is tried
    best = encoded(codecs[".gz"], page)
    assert libraries.load("libdeflate"), "mod_elastic is built with it"
    monkeypatch.setattr(libraries, "load", lambda name: None)
    assert len(best) < len(encoded(codecs[".gz"], page))


ZOPFLI = """#!%s
import gzip, sys
assert sys.argv[1] == "-c"
body = open(sys.argv[2], "rb").read()
%s
"""


@pytest.mark.parametrize("code, says", [
    ("sys.stdout.buffer.write(gzip.compress(body, 9, mtime=7))", None),
    ("sys.exit('no memory')", "zopfli failed: no memory"),
    ("sys.stdout.buffer.write(gzip.compress(body[1:]))", "is not the gzip of the file"),
    ("sys.stdout.buffer.write(gzip.compress(body)[:-1])", "is not the gzip of the file"),
    ("sys.stdout.buffer.write(b'nonsense')", "is not the gzip of the file")])
def test_zopfli_is_asked_where_it_is_installed(site, codecs, tmp_path_factory, monkeypatch, code,
                                               says):
    program = tmp_path_factory.mktemp("bin") / "zopfli"
    program.write_text(ZOPFLI % (sys.executable, code))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    result = run(site, "--no-br", "--no-zst")
    if says is None:
        way = list(codecs[".gz"].ways(len(TEXT)))[-1]
        assert way is encoders.by_zopfli
        assert way(TEXT, threading.Event()) == gzip.compress(TEXT, 9, mtime=7)
        assert result.returncode == 0 and unpack(site / "page.html.gz") == TEXT
    else:
        assert result.returncode == 1 and says in result.stderr
        assert names(site) == ["page.html"]


# --- what is written


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_precompressed_files_get_the_owner_of_the_file_and_take_the_place_of_others(site):
    """The server sends none of another owner."""
    os.chown(site / "page.html", 12345, 12345)
    run(site)
    overwrite(site / "page.html.gz", b"of somebody else")
    os.chown(site / "page.html.gz", 12346, 12346)
    assert "1 precompressed files written, 2 up to date" in run(site).stdout
    for compressed in ALL[1:]:
        assert (site / compressed).stat().st_uid == 12345
        assert unpack(site / compressed) == TEXT


def test_what_the_server_would_refuse_is_made_again(site):
    run(site)
    for name, data in (
            ("page.html.gz", b""), ("page.html.br", b""), ("page.html.zst", b""),
            ("page.html.gz", gzip.compress(TEXT + b"more", mtime=0)), ("page.html.gz", TEXT),
            ("page.html.br", b"\x11\x19large"), ("page.html.zst", TEXT),
            ("page.html.zst", b"\x28\xb5\x2f\xfd\0\x88large")):
        overwrite(site / name, data)
        assert "1 precompressed files written, 2 up to date" in run(site).stdout, data
        assert unpack(site / name) == TEXT


def test_a_new_file_with_the_old_time_is_compressed_again(site):
    """Builds give many files one time. The bytes decide, and are compared once."""
    def write(data):
        (site / "page.html").write_bytes(data)
        os.utime(site / "page.html", ns=(1, 1_234_567_890_000_000_000))

    for body, said in ((TEXT, "3 precompressed files written"),
                       (TEXT, "0 precompressed files written, 3 up to date"),
                       (TEXT[::-1], "3 precompressed files written"),
                       (TEXT[::-1] + b"x", "3 precompressed files written"),
                       (TEXT[::-1], "3 precompressed files written")):
        write(body)
        before = [(site / name).stat().st_ctime_ns for name in ALL[1:]] if said[0] == "0" else None
        assert said in run(site).stdout, body[:9]
        assert all(unpack(site / name) == body for name in ALL[1:])
        if before:
            times = [(site / name).stat().st_ctime_ns for name in ALL[1:]]
            assert all(now > then for now, then in zip(times, before, strict=True))
            run(site)
            assert times == [(site / name).stat().st_ctime_ns for name in ALL[1:]]


def test_types_and_all(site):
    for name in ("photo.jpg", "notes.txt", "bundle.tar"):
        (site / name).write_bytes(TEXT)
    for words, more in ((["--no-gz", "--no-zst"], {"page.html.br", "notes.txt.br"}),
                        # A .tar.gz is usually a download of its own.
                        (["--no-br", "--no-zst"], {"page.html.gz", "notes.txt.gz"}),
                        (["--no-br", "--no-zst", "--types", "jpg"], {"photo.jpg.gz"}),
                        # A precompressed file is never a source.
                        (["--no-br", "--no-zst", "--all"], {"bundle.tar.gz"})):
        before = names(site)
        run(site, *words)
        assert set(names(site)) - set(before) == more


def test_prune_removes_only_orphans_of_known_types(site):
    for name in ("gone.css.gz", "gone.css.br", "backup.gz", "dump.tar.gz"):
        (site / name).write_bytes(b"old")
    run(site)
    assert (site / "gone.css.gz").exists(), "nothing goes without --prune"
    assert "2 pruned" in run(site, "--prune", "--all").stdout
    assert names(site) == ["backup.gz", "dump.tar.gz", *ALL]


def test_precompressed_files_in_a_tree_of_their_own(site, tmp_path_factory):
    tree = tmp_path_factory.mktemp("tree")
    (site / "assets/new").mkdir(parents=True)
    (site / "assets").chmod(0o750)
    (site / "assets/new/app.js").write_bytes(TEXT)
    assert run(site, "--root", tree).returncode == 0
    assert names(site) == ["assets", "page.html"] and names(site / "assets/new") == ["app.js"]
    assert names(tree) == ["assets", *ALL[1:]]
    assert names(tree / "assets/new") == ["app.js.br", "app.js.gz", "app.js.zst"]
    assert (tree / "assets").stat().st_mode & 0o777 == 0o750
    compressed, source = tree / "assets/new/app.js.gz", site / "assets/new/app.js"
    assert unpack(compressed) == TEXT
    assert compressed.stat().st_mtime_ns == source.stat().st_mtime_ns
    for path in (site / "other.css.gz", tree / "gone.css.gz", tree / "backup.gz"):
        path.write_bytes(b"old")
    said = run(site, "--root", tree, "--prune").stdout
    assert "6 up to date" in said and "1 pruned" in said
    assert names(tree) == ["assets", "backup.gz", *ALL[1:]] and (site / "other.css.gz").exists()
    for words, says in (((site, "--root", site / "assets"), "within each other"),
                        ((site / "assets", "--root", site), "within each other"),
                        ((site, "--root", site), "within each other"),
                        ((site, tree, "--root", tree), "one DIR"),
                        ((site, "--root", site / "none"), "is not a directory")):
        result = run(*words)
        assert result.returncode == 2 and says in result.stderr, words


def test_links_are_not_followed(site, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "other.html").write_bytes(TEXT)
    (outside / "precious").write_bytes(b"precious")
    for name, target in (("linked", outside), ("linked.html", outside / "other.html"),
                         ("page.html.gz", outside / "precious")):
        (site / name).symlink_to(target)
    assert run(site).returncode == 0
    assert names(outside) == ["other.html", "precious"]
    assert (outside / "precious").read_bytes() == b"precious"
    assert names(site) == ["linked", "linked.html", *ALL]
    assert not (site / "page.html.gz").is_symlink()


def test_error_is_reported_and_the_rest_is_done(site):
    (site / "page.html.gz").mkdir()
    (site / "zebra.html").write_bytes(TEXT)
    result = run(site)
    assert (result.returncode, "page.html" in result.stderr, "1 errors" in result.stdout) == \
        (1, True, True)
    assert (site / "zebra.html.gz").exists()
    assert not [name for name in names(site) if name.endswith(".tmp")]


def test_wrong_usage():
    for words, says in ((["/nonexistent"], "is not a directory"),
                        (["/", "--jobs", "0"], "from 1 to 1024"),
                        (["/", "--types", "a b"], "give extensions")):
        result = run(*words)
        assert result.returncode == 2 and says in result.stderr


@pytest.mark.parametrize("library, arguments, package", [
    ("brotli", [], "libbrotli1"), ("zstd", ["--zst"], "libzstd1"), ("zstd", [], None),
    ("brotli", ["--no-br"], None)])
def test_a_missing_library_names_its_package(site, capsys, monkeypatch, library, arguments,
                                             package):
    monkeypatch.setitem(libraries.NAMES, library, "libnowhere.so.0")
    libraries.load.cache_clear()
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    try:
        status = cli.main([str(site), *arguments])
    finally:
        libraries.load.cache_clear()
    assert (status, len(names(site))) == ((2, 1) if package else (0, 3))
    assert package is None or package in capsys.readouterr().err


# --- the report and the progress


def test_the_report_says_what_the_precompressed_files_save(site):
    (site / "random.txt").write_bytes(random.Random(1).randbytes(100))
    for done in ("3 precompressed files written, 0 up to date",
                 "0 precompressed files written, 3 up to date"):
        first, *lines = run(site).stdout.splitlines()
        assert first.startswith(f"2 files, {done}, 3 not smaller, 0 errors, in ")
        for line, name in zip(lines, ALL[1:], strict=True):
            size = (site / name).stat().st_size
            assert line.split() == [
                f".{name.split('.')[-1]}", "1", "files:", str(len(TEXT)), "bytes", "became",
                f"{size}:", f"{100 * (1 - size / len(TEXT)):.1f}", "%", "saved"]
    assert run(site, "--quiet").stdout == ""


def test_progress_is_shown_on_a_terminal(site):
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, SCRIPT, site], stdout=subprocess.DEVNULL,
                          stderr=theirs) as process:
        os.close(theirs)
        assert process.wait(timeout=60) == 0
    seen = os.read(ours, 10000)
    os.close(ours)
    assert b"1/1 files, 0.0/0.0 MB, 3 precompressed files written" in seen
    assert seen.endswith(b"\r\x1b[K"), "it is gone in the end"


# --- going on


@pytest.fixture
def watching(tmp_path_factory):
    """watching(WORD...): (a precompress --watch, a function that waits until a condition holds,
    the file with what it says)."""
    started = []

    def start(*arguments):
        log = tmp_path_factory.mktemp("log") / "log"
        with open(log, "wb") as target:
            process = subprocess.Popen([sys.executable, SCRIPT, "--watch", *map(str, arguments)],
                                       stdout=target, stderr=target)
        started.append(process)

        def wait_for(condition):
            deadline = time.monotonic() + 60
            while not condition():
                assert process.poll() is None and time.monotonic() < deadline, log.read_text()
                time.sleep(0.02)

        return process, wait_for, log

    yield start
    for one in started:
        one.kill()
        one.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_watch_keeps_precompressed_files_up_to_date(site, watching, number):
    process, wait_for, log = watching(site, "--prune", "--no-br", "--no-zst")

    def wait_made(name, body=TEXT):
        path = site / f"{name}.gz"
        wait_for(lambda: path.exists() and unpack(path) == body)

    wait_made("page.html")
    (site / "page.html").write_bytes(TEXT * 2)
    wait_made("page.html", TEXT * 2)
    # Folders that come later are watched, and what was in them at that time is seen.
    (site / "new/inner").mkdir(parents=True)
    for name in ("new/inner/a.css", "new/inner/b.css"):
        (site / name).write_bytes(TEXT)
        wait_made(name)
    (site / "new/inner/b.css").rename(site / "c.css")
    wait_made("c.css")
    wait_for(lambda: not (site / "new/inner/b.css.gz").exists())
    (site / "page.html").unlink()
    wait_for(lambda: not (site / "page.html.gz").exists())
    wait_for(lambda: "1 pruned" in log.read_text())
    process.send_signal(number)
    assert process.wait(timeout=60) == 0
    assert names(site) == ["c.css", "c.css.gz", "new"]


def passes_of(*arguments):
    """passes_of(DIR)() passes once over it, and returns what it counted."""
    options = cli.make_parser().parse_args([*map(str, arguments)])
    maker = files.Maker(encoders.choose_codecs(options), threading.Event())
    return lambda: cli.pass_over(maker, options)


def test_watch_takes_no_notice_of_what_it_writes_itself(site):
    pass_over, watcher = passes_of(site, "--prune"), watch.Watch()
    watcher.add(str(site))
    (site / "gone.css.gz").write_bytes(b"old")
    assert pass_over().written == 3
    assert names(site) == ALL and not watcher.has_news()
    (site / "page.html").write_bytes(TEXT * 2)
    assert watcher.has_news() and not watcher.has_news()


def test_what_was_not_smaller_is_not_tried_again_by_the_same_run(site, monkeypatch):
    (site / "random.txt").write_bytes(random.Random(1).randbytes(1000))
    pass_over = passes_of(site)
    assert pass_over().larger == 3
    monkeypatch.setattr(encoders, "encode", None)  # no more calls of it
    assert pass_over().larger == 3
    monkeypatch.undo()
    (site / "random.txt").write_bytes(TEXT)
    assert pass_over().larger == 0


# --- interrupted


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


def test_who_exchanges_a_folder_meanwhile_leads_nowhere(site, tmp_path_factory, capsys):
    """Root may compress a tree that others may write to: they could have files written, replaced
    and removed elsewhere."""
    outside = tmp_path_factory.mktemp("outside")
    below = site / "below"
    below.mkdir()
    for name, content in (("page.html", TEXT), ("noise.html", os.urandom(200)),
                          ("gone.html.gz", b"gone")):
        (below / name).write_bytes(content)
    for name in ("page.html.gz", "noise.html.gz", "gone.html.gz"):
        (outside / name).write_bytes(b"precious")
    options = cli.parse_arguments([str(site)])
    count = tally.Tally()
    sources, orphans = files.find_sources(options, count), files.find_orphans(options, count)
    assert str(below / "noise.html") in sources and orphans
    below.rename(site / "aside")
    below.symlink_to(outside)
    (outside / "page.html").write_bytes(TEXT)
    maker = files.Maker(encoders.choose_codecs(options), threading.Event())
    for path in sources:
        maker.make_all(path, sources[path], count)
    files.prune(orphans, count)
    assert len(count.errors) == 3 * 2 + 1 and "below/page.html: " in capsys.readouterr().err
    assert names(outside) == ["gone.html.gz", "noise.html.gz", "page.html", "page.html.gz"]
    assert {(outside / name).read_bytes() for name in names(outside)} == {b"precious", TEXT}
    assert names(site) == ["aside", "below", *ALL]


def test_a_pipe_in_a_files_place_is_not_waited_for(site):
    """Root may compress a tree that others may write to."""
    page, count = site / "page.html", tally.Tally()
    options = cli.parse_arguments([str(site)])
    sources = files.find_sources(options, count)
    page.unlink()
    os.mkfifo(page)
    maker = files.Maker(encoders.choose_codecs(options), threading.Event())
    work = threading.Thread(target=maker.make_all, args=(str(page), sources[str(page)], count),
                            daemon=True)
    work.start()
    work.join(10)
    assert not work.is_alive() and len(count.errors) == 3 and names(site) == ["page.html"]


HOSTILE = "\x1b]0;title\x07"


def test_names_of_files_do_not_control_the_terminal(site):
    (site / f"{HOSTILE}.html").write_bytes(TEXT)
    (site / f"{HOSTILE}.html.gz").mkdir()
    other = site / f"{HOSTILE}.d"
    other.mkdir()
    for words, status in (
            ([site], 1), ([f"{site}/none{HOSTILE}"], 2), ([site, "--types", HOSTILE], 2),
            ([site, "--jobs", HOSTILE], 2), ([site, f"--{HOSTILE}"], 2),
            ([site, "--root", f"{site}/none{HOSTILE}"], 2), ([site, "--root", other], 2)):
        result = run(*words)
        assert result.returncode == status and "title" in result.stderr, (words, result)
        assert all(one.isprintable() or one == "\n" for one in result.stderr), (words, result)


@pytest.mark.parametrize("problem", [OSError(f"/x/{HOSTILE} cannot be watched"),
                                     encoders.Missing(HOSTILE)])
def test_no_message_controls_the_terminal(site, capsys, monkeypatch, problem):
    def fail(*_):
        raise problem

    monkeypatch.setattr(cli, "run", fail)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert cli.main([str(site)]) in (1, 2)
    said = capsys.readouterr().err
    assert said.startswith("precompress: ") and "title" in said and "\x1b" not in said


@pytest.mark.parametrize("says", ["\\033]0;title\\007", "a\\nb"])
def test_what_zopfli_says_does_not_control_the_terminal(site, tmp_path_factory, says):
    program = tmp_path_factory.mktemp("bin") / "zopfli"
    program.write_text(f"#!/bin/sh\nprintf '{says}' >&2\nexit 1\n")
    program.chmod(0o755)
    result = run(site, "--no-br", "--no-zst",
                 env={**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}"})
    assert result.returncode == 1 and "zopfli failed: " in result.stderr
    assert result.stderr.count("\n") == 1 and "\x1b" not in result.stderr
