"""scripts/check: when it asks before it installs, and a server under gdb."""

import json
import os
import pty
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from benchkit import tools

ASKED = f". {tools.ROOT}/scripts/lib/packages.sh; id() {{ echo $user; }}; el_apt_may wrk; echo = $?"


def may(answer=None, user=0, **environ):
    """What el_apt_may says, and its status; with an answer it has a terminal."""
    environ = {"PATH": os.environ["PATH"], "user": str(user), **environ}
    if answer is None:
        return subprocess.run(["bash", "-c", ASKED], env=environ, stdin=subprocess.DEVNULL,
                              text=True, capture_output=True, check=True, timeout=60)
    ours, theirs = pty.openpty()
    os.write(ours, answer.encode())
    try:
        # Both are the terminal; what it says comes back by a pipe, for it may be longer.
        return subprocess.run(["bash", "-c", f"exec 3>&1; {ASKED} >&3"], env=environ, stdin=theirs,
                              stdout=subprocess.PIPE, stderr=theirs, text=True, check=True,
                              timeout=60)
    finally:
        os.close(ours)
        os.close(theirs)


@pytest.mark.parametrize("answer, user, environ, status", [
    ("y\n", 1000, {}, 0), ("\n", 0, {}, 1), ("n\n", 0, {}, 1),
    ("n\n", 0, {"CI": "true"}, 0), ("n\n", 0, {"ELASTIC_INSTALL": "1"}, 0),
    (None, 0, {}, 0), (None, 1000, {}, 1), (None, 1000, {"CI": "true"}, 0),
    ("n\n", 0, {"CI": "false"}, 1), (None, 1000, {"CI": "0"}, 1)])
def test_a_terminal_is_asked_before_packages_are_installed(answer, user, environ, status):
    done = may(answer, user, **environ)
    assert done.stdout.splitlines()[-1] == f"= {status}"
    if answer is None and status:
        assert "--install" in done.stderr and "apt-get install --no-install-recommends wrk" \
            in done.stderr


@pytest.mark.parametrize("words", ["--list", "fire --help", "nonsense"])
def test_nothing_stays_in_the_folder_for_temporary_files(tmp_path, words):
    subprocess.run([tools.ROOT / "scripts" / "check", *words.split()], capture_output=True,
                   env={**os.environ, "TMPDIR": str(tmp_path)}, check=False, timeout=60)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def tree(tmp_path):
    """What lint needs of this one; its first file is a script of the test's own."""
    for path in ("check", "lib/packages.sh", "lib/build.sh", "lib/lint"):
        (tmp_path / "scripts" / "lib").mkdir(parents=True, exist_ok=True)
        shutil.copy(tools.ROOT / "scripts" / path, tmp_path / "scripts" / path)
    # Whether its packages are there is no question here.
    with open(tmp_path / "scripts" / "lib" / "packages.sh", "a", encoding="utf-8") as file:
        file.write("el_packages_need() { ELASTIC_LACKING=; }\n")
    return tmp_path


def lint(tree):
    return subprocess.run([tree / "scripts" / "check", "lint"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          timeout=60)


def test_lint_is_left_out_where_git_does_not_know_the_files(tree):
    done = lint(tree)
    assert done.returncode == 0 and "left out: lint: these sources are no clone" in done.stdout
    assert "All passed" in done.stdout, done.stdout


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="no shellcheck")
@pytest.mark.parametrize("line, is_right", [
    ("! grep x file", False), ("! grep x file || exit 1", True), ("unused=1", False),
    ("if grep x file; then exit 1; fi", True)])
def test_lint_refuses_a_line_that_cannot_fail_a_script(tree, line, is_right):
    (tree / "tests").mkdir()
    (tree / "tests" / "one").write_text(f"#!/bin/sh\nset -eu\n{line}\necho said\n")
    for words in (["init", "-q"], ["add", "tests"]):
        subprocess.run(["git", *words], cwd=tree, check=True, timeout=60)
    done = lint(tree)
    assert ("FAIL: shellcheck" not in done.stdout) == is_right, done.stdout


def test_a_server_under_gdb(module):
    """Its test waits while it stands at a breakpoint, and passes when it goes on."""
    build = Path(module).parent.parent
    options = ["-batch", "-ex", "break el_filter_insert", "-ex", "run", "-ex", "bt 1",
               "-ex", "delete", "-ex", "continue"]
    done = subprocess.run(
        [tools.ROOT / "scripts" / "lib" / "httpd-tests", build, "-q", "-s", "-p", "kit.debug",
         "test_flush.py::test_a_body_that_starts_late"],
        env={**os.environ, "ELASTIC_GDB": shlex.join(options)}, stdin=subprocess.DEVNULL,
        text=True, capture_output=True, check=False, timeout=600)
    assert "#0  el_filter_insert (r=" in done.stdout, done
    assert "1 passed" in done.stdout and done.returncode == 0, done


def test_the_compiler_s_commands(module):
    """Each source has one that compiles it, and printing them changes nothing in the build."""
    build = Path(module).parent.parent
    before = (build / "Makefile").stat().st_mtime_ns
    done = subprocess.run([tools.ROOT / "scripts" / "lib" / "compile-commands", build], text=True,
                          stdout=subprocess.PIPE, check=True, timeout=60)
    listed = {Path(one["file"]).name: one for one in json.loads(done.stdout)}
    assert {path.name for path in (tools.ROOT / "src" / "core").glob("*.c")} <= set(listed)
    one = listed["filter.c"]
    subprocess.run([*one["arguments"], "-fsyntax-only"], cwd=one["directory"], check=True,
                   timeout=60)
    assert (build / "Makefile").stat().st_mtime_ns == before


@pytest.mark.parametrize("options, is_few", [
    ("test_flush.py -k late", True), ("-q test_flush.py::test_x", True),
    ("test_flush.py -klate", True), ("test_flush.py", False), ("-k late", False),
    ("test_flush.py test_keep.py -k late", False), ("", False), ("-m smoke", False)])
def test_some_tests_of_a_file_run_in_one_process(options, is_few):
    script = (tools.ROOT / "scripts" / "lib" / "httpd-tests").read_text()
    function = re.search(r"(?ms)^few\(\) \{.*?^\}", script)[0]
    done = subprocess.run(["sh", "-c", f"{function}\nfew {options}"], check=False, timeout=60)
    assert (done.returncode == 0) == is_few


GCC = """x.c: In function 'f':
{0}:3:5: warning: use of '*x' [CWE-416] [-Wanalyzer-use-after-free]
    3 |     use(x);
{0}:9:5: warning: use of '*y' [CWE-416] [-Wanalyzer-use-after-free]
{0}:3:5: note: (1) here
"""
TIDY = "{0}:4:1: warning: a loop [bugprone-infinite-loop,cert-x]\n"
USE = "analyzer-use-after-free | {0} | use of '[*]*' | "
LOOP = "bugprone-infinite-loop,cert-x | {0} | a loop | 1 | it ends\n"


@pytest.mark.parametrize("answers, said", [
    (USE + "2 | none is freed\n" + LOOP, []),
    ("# a comment\n" + USE + "1 | none is freed\n" + LOOP, ["x.c:9:5: use of '*y'"]),
    (USE + "3 | none is freed\n" + LOOP, ["1 of 3 are not said any more: analyzer-use"]),
    (USE + "2 | none is freed\n", ["x.c:4:1: a loop"]), ("no answer\n", ["not five fields"])])
def test_a_warning_has_an_answer_and_an_answer_its_warnings(tmp_path, answers, said):
    source = tmp_path / "src" / "x.c"
    source.parent.mkdir()
    source.touch()
    for name, text in (("gcc", GCC), ("clang-tidy", TIDY)):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\ncat <<'SAID'\n{text.format(source)}SAID\n")
        program.chmod(0o755)
    commands, listed = tmp_path / "commands.json", tmp_path / "answers"
    commands.write_text(json.dumps([{"directory": str(tmp_path), "file": str(source), "arguments":
                                     ["gcc", "-c", "-o", "x.o", str(source)]}] * 2))
    listed.write_text(answers.format(os.path.relpath(source, tools.ROOT)))
    done = subprocess.run([tools.ROOT / "scripts" / "lib" / "analyse", commands, listed],
                          env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, timeout=60)
    assert done.returncode == (1 if said else 0), done.stdout
    assert done.stdout.count("FAIL") <= len(said) and all(one in done.stdout for one in said)


def test_only_sources_are_analysed_wherever_they_are(tmp_path):
    tree = tmp_path / "src" / "tree"
    commands = []
    for path in ("src/core/x.c", "tests/unit/y.c"):
        (tree / path).parent.mkdir(parents=True)
        (tree / path).touch()
        commands.append({"directory": str(tree), "file": str(tree / path), "arguments": ["true"]})
    (tree / "scripts" / "lib").mkdir(parents=True)
    script = shutil.copy(tools.ROOT / "scripts" / "lib" / "analyse", tree / "scripts" / "lib")
    (tmp_path / "commands.json").write_text(json.dumps(commands))
    (tmp_path / "answers").touch()
    (tmp_path / "clang-tidy").symlink_to("/bin/true")
    done = subprocess.run([script, tmp_path / "commands.json", tmp_path / "answers"], text=True,
                          env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
                          stdout=subprocess.PIPE, check=False, timeout=60)
    assert (done.returncode, done.stdout) == \
        (0, "1 files, 0 warnings, 0 of them without an answer\n")


def test_an_analyser_that_fails_is_no_success(tmp_path):
    source = tmp_path / "src" / "x.c"
    source.parent.mkdir()
    source.write_text("no C\n")
    (tmp_path / "commands.json").write_text(json.dumps([
        {"directory": str(tmp_path), "file": str(source), "arguments": ["false", str(source)]}]))
    (tmp_path / "answers").touch()
    done = subprocess.run([tools.ROOT / "scripts" / "lib" / "analyse", tmp_path / "commands.json",
                           tmp_path / "answers"], capture_output=True, check=False, timeout=60)
    assert done.returncode


@pytest.mark.parametrize("modules, python, no_skip, status, said", [
    ("sys os", None, "1", 0, "it runs"), ("sys nowhere nothing", None, "", 0, None),
    ("sys nowhere nothing", None, "1", 1, None), ("sys", "/no/python3", "1", 1, None)])
def test_tests_say_what_they_lack(modules, python, no_skip, status, said):
    done = subprocess.run(
        ["sh", "-euc", f". {tools.ROOT}/scripts/lib/tests.sh; need_python them {modules}; "
         '"$python" -c "print(\'it runs\')"'], text=True, capture_output=True, check=False,
        timeout=60, env={"PATH": os.environ["PATH"], "ELASTIC_NO_SKIP": no_skip,
                         **({"ELASTIC_PYTHON": python} if python else {})})
    lacking = "python3" if python else "python3-nowhere python3-nothing"
    said = said or f"SKIP: them: not there: {lacking}"
    assert (done.returncode, done.stdout) == (status, f"{said}\n")
