"""scripts/bench as it is called: its listing, wrong usage, and experiments at their smallest.
"""

import json
import subprocess
import sys

import pytest

from benchkit import cli, tools

BENCH = tools.ROOT / "scripts" / "bench"


def bench(*arguments, **options):
    return subprocess.run([BENCH, *map(str, arguments)], capture_output=True, text=True,
                          timeout=600, check=False, **options)


@pytest.mark.parametrize("arguments, says", [
    (["nothing"], "there is no experiment nothing"), (["all", "levels"], "all stands alone"),
    (["--quick"], "name an experiment, or all")])
def test_wrong_usage(arguments, says):
    seen = bench(*arguments)
    assert seen.returncode == 2 and says in seen.stderr


@pytest.mark.parametrize("name", ["levels", *(
    pytest.param(name, marks=pytest.mark.long) for name in (
        "content", "lan-packets", "static-vs-dynamic", "once", "p95", "spike", "day", "load",
        "gain", "first", "stores", "idle"))])
def test_an_experiment_at_its_smallest(module, tmp_path, name):
    seen = bench(name, "--smoke", "--out", tmp_path)
    assert seen.returncode == 0, seen.stderr
    facts = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
    assert cli.table(facts) in seen.stdout
    assert f"the report: {tmp_path / 'report.html'}" in seen.stdout
    measured = [one for one in facts["findings"] if one["figure"] is not None]
    assert len(measured) >= 2
    assert facts["corpora"] and facts["plots"]
    assert "all equal" in bench("recompute", "--out", tmp_path).stdout
    assert (tmp_path / f"{name}.csv").read_text(encoding="utf-8").count("\n") > 2
    again = bench(name, "--smoke", "--out", tmp_path, "--resume")
    assert again.returncode == 0 and f"{name}: done before" in again.stderr


def with_cli(code, *words):
    """The command, after that code."""
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tools.ROOT / 'scripts')!r})\n"
         f"{code}\nfrom benchkit import cli; sys.exit(cli.main(sys.argv[1:]))", *words],
        capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("words", [[], ["--help"]])
def test_the_listing_takes_no_package(words):
    """None of LIBRARIES is imported."""
    seen = with_cli(f"for name in {(*tools.LIBRARIES, 'numpy')}: sys.modules[name] = None", *words)
    assert seen.returncode == 0, seen.stderr
    assert all(name in seen.stdout for name in (*cli.ORDER, *cli.ALONE))


def test_an_experiment_that_crashes_is_named_and_the_others_run_on(module, tmp_path):
    """One of two cannot run."""
    seen = with_cli("from benchkit import corpus\n"
                    "def broken(*_): raise ZeroDivisionError('planted')\n"
                    "corpus.article = broken", "static-vs-dynamic", "control",
                    "--smoke", "--out", tmp_path)
    assert seen.returncode == 1
    assert "static-vs-dynamic: a fault of the bench itself: ZeroDivisionError" in seen.stderr
    assert (tmp_path / "control.json").exists()
    assert "planted" in (tmp_path / "report.html").read_text(encoding="utf-8")
