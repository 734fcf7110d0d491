"""scripts/bench instructions: parsing, arithmetic, and a run at its smallest."""

import json
import subprocess

import pytest

from benchkit import instructions, tools

PROFILE = "# callgrind format\nevents: Ir\nfn=(1) main\n16 5\n\n{}\n"
BEYOND = "a type that is not listed", instructions.RESPONSES["a type that is not listed"].beyond


@pytest.mark.parametrize("line, count", [("summary: 33931", 33931), ("totals: 7", 7),
                                         ("summary: 12\ntotals: 13", 12)])
def test_a_profile_has_its_sum(line, count):
    assert instructions.instructions_of(PROFILE.format(line)) == count


def test_a_profile_that_is_cut_short():
    with pytest.raises(tools.BenchError, match="no sum"):
        instructions.instructions_of(PROFILE.format("fn=(2) summary: 5"))


def test_a_response_takes_the_difference_of_many_and_few(monkeypatch):
    monkeypatch.setattr(instructions, "make_site", lambda run: None)
    monkeypatch.setattr(instructions, "count",
                        lambda run, site, name, response, times: 8_000_000 + 33_931 * times)
    responses = {"httpd alone": instructions.RESPONSES["httpd alone"]}
    assert instructions.per_response(responses, (100, 400), str) == {"httpd alone": 33_931}


def test_each_is_compared_with_httpd_alone_for_the_same_request():
    for response in instructions.RESPONSES.values():
        if response.beyond:
            alone = instructions.RESPONSES[response.beyond]
            assert alone.setup is instructions.ALONE and alone.path == response.path
            assert bool(alone.accept) == bool(response.accept)


def test_the_table():
    name, alone = BEYOND
    lines = instructions.table({alone: 33_744, name: 35_427}).splitlines()
    assert lines[0] == "| a response | instructions | beyond httpd alone |"
    assert lines[2:] == [f"| {alone} | 33,744 |  |", f"| {name} | 35,427 | 1,683 |"]


def test_the_table_beside_a_baseline():
    name, alone = BEYOND
    lines = instructions.table({alone: 33_744, name: 35_427}, {name: 36_000}).splitlines()
    assert lines[2:] == [f"| {alone} | 33,744 |  |  |  |",
                         f"| {name} | 35,427 | 1,683 | 36,000 | -573 |"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"versions": []}'])
def test_a_baseline_without_figures(tmp_path, text):
    path = tmp_path / "baseline.json"
    path.write_text(text)
    with pytest.raises(tools.BenchError, match="has no figures"):
        instructions.load(path)


def test_a_run_at_its_smallest(module, tmp_path):
    baseline, written = tmp_path / "baseline.json", tmp_path / "new.json"
    baseline.write_text(json.dumps({"instructions": {"httpd alone": 1}}))
    seen = subprocess.run([tools.ROOT / "scripts" / "bench", "instructions", "--smoke", "--json",
                           written, "--baseline", baseline],
                          capture_output=True, text=True, timeout=600, check=False)
    assert seen.returncode == 0, seen.stderr
    found = json.loads(written.read_text())["instructions"]
    assert set(found) == set(instructions.SMOKED)
    assert 10_000 < found["httpd alone"] < 100_000
    assert 2 * found["httpd alone"] < found["gzip 1"] < 100 * found["httpd alone"]
    row = [cell.strip() for cell in next(
        line for line in seen.stdout.splitlines() if line.startswith("| httpd alone |")).split("|")]
    assert row[-2:] == [f"{found['httpd alone'] - 1:+,}", ""]
