"""scripts/bench instructions: parsing, arithmetic, and a run at its smallest."""

import types

import pytest

from benchkit import instructions, tools

PROFILE = "# callgrind format\nevents: Ir\nfn=(1) main\n16 5\n\n{}\n"
BEYOND = "a type that is not listed", instructions.PLAIN["a type that is not listed"].beyond


@pytest.mark.parametrize("line, count", [
    ("summary: 33931", 33931), ("totals: 7", 7), ("summary: 12\ntotals: 13", 12)])
def test_a_profile_has_its_sum(line, count):
    assert instructions.instructions_of(PROFILE.format(line)) == count
    with pytest.raises(tools.BenchError, match="no sum"):  # cut short
        instructions.instructions_of(PROFILE.format("fn=(2) summary: 5"))


def test_a_response_takes_the_difference_of_many_and_few(monkeypatch):
    monkeypatch.setattr(instructions, "make_site", lambda run: None)
    monkeypatch.setattr(instructions, "count",
                        lambda run, site, name, response, times, cpu: 8_000_000 + 33_931 * times)
    responses = {"httpd alone": instructions.PLAIN["httpd alone"]}
    assert instructions.per_response(responses, (100, 400), str) == {"httpd alone": 33_931}


def test_each_is_compared_with_httpd_alone_for_the_same_request():
    responses = instructions.PLAIN | instructions.ENCODED
    for name, response in responses.items():
        if response.beyond:
            alone = responses[response.beyond]
            assert alone.setup is instructions.ALONE, name
            size, other = (instructions.FILES[one.path] for one in (response, alone))
            assert (size, response.method, response.status, bool(response.accept)) == (
                other, alone.method, alone.status, bool(alone.accept)), name


@pytest.mark.parametrize("now, moved", [(1683, 0), (1730, 0), (1750, 1), (1600, 1)])
def test_a_figure_is_held_within_three_percent(now, moved):
    name, alone = BEYOND
    said = instructions.moved({alone: 33_744, name: 33_744 + now}, {alone: 33_000, name: 34_683})
    assert len(said) == moved


def test_the_table_beside_a_baseline():
    name, alone = BEYOND
    found = {alone: 33_744, name: 35_427}
    assert instructions.table(found).splitlines() == [
        "| a response | instructions | beyond httpd alone |", "|---|---:|---:|",
        f"| {alone} | 33,744 |  |", f"| {name} | 35,427 | 1,683 |"]
    assert instructions.table(found, {name: 36_000}).splitlines()[2:] == [
        f"| {alone} | 33,744 |  |  |  |", f"| {name} | 35,427 | 1,683 | 36,000 | -573 |"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"versions": []}', '[{"versions": []}]'])
def test_a_baseline_without_figures(tmp_path, text):
    path = tmp_path / "baseline.json"
    path.write_text(text)
    with pytest.raises(tools.BenchError, match="has no figures"):
        instructions.load(path)


def test_figures_of_other_versions_stay(tmp_path):
    path = tmp_path / "kept.json"
    for versions, figure in ((["a"], 1), (["b"], 2), (["a"], 3)):
        instructions.write(path, versions, {"httpd alone": figure})
    assert instructions.load(path) == [(["b"], {"httpd alone": 2}), (["a"], {"httpd alone": 3})]


def test_figures_are_held_against_those_of_this_version(tmp_path, monkeypatch, capsys):
    """Without them, it says so. CI counts real ones."""
    found = {"httpd alone": 33_000, "httpd alone, 304": 20_000, "304": 24_000}
    monkeypatch.setattr(instructions, "per_response", lambda *_: found)
    path = tmp_path / "kept.json"
    instructions.write(path, ["x"], {"httpd alone": 1})
    options = types.SimpleNamespace(scale="smoke", json=path, baseline=path)
    assert instructions.measure(options, print) == 0
    assert "left out: instructions of a response: " in capsys.readouterr().out
    (_, other), (versions, kept) = instructions.load(path)
    assert other == {"httpd alone": 1} and kept == found
    instructions.write(path, versions, {**found, "304": 29_000})
    options.json = None
    assert instructions.measure(options, print) == 1
