"""What is published says what its own figures say."""

import dataclasses
import importlib
import json
import math

import pytest

from benchkit import readme, verdict
from benchkit.headline import Headline, likeness
from benchkit.tools import ROOT
from benchkit.verdict import FAILS, HOLDS, UNKNOWN, Verdict

RESULTS = ROOT / "docs" / "results" / "results.json"
EXPERIMENTS = json.loads(RESULTS.read_text(encoding="utf-8"))["experiments"]


def verdicts_of(experiment):
    """Its verdicts: JSON has null for what is infinite, or was not measured."""
    for row in experiment["verdicts"]:
        known = {field.name: row[field.name] for field in dataclasses.fields(Verdict)
                 if field.name in row}
        for name in ("measured", "low", "high", "there_high"):
            if known[name] is None:
                known[name] = math.nan if row["here"] == "nothing was measured" else math.inf
        yield Verdict(**known)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_answer_is_that_of_the_finding_that_the_question_is_about(name):
    module = importlib.import_module("benchkit.experiments." + name.replace("-", "_"))
    experiment, headline = EXPERIMENTS[name], module.HEADLINE
    verdicts = list(verdicts_of(experiment))
    assert any(headline.finding in one.finding for one in verdicts)
    one = headline.verdict(verdicts)
    assert (experiment["question"], experiment["answer"]) == (headline.question,
                                                              headline.answer(verdicts))
    assert (experiment["here"], experiment["there"]) == (one.here, one.reported)
    assert experiment["agreement"] == likeness(one)
    for row, each in zip(experiment["verdicts"], verdicts):
        assert row["here"] == each.here, each.finding


def test_the_page_has_the_answers_of_the_json():
    page = RESULTS.with_suffix(".html").read_text(encoding="utf-8").replace("&#39;", "'")
    for experiment in EXPERIMENTS.values():
        assert f"{experiment['question']} <b>{experiment['answer']}</b>" in page


def judged(*outcomes):
    return [Verdict(f"it is {number}", outcome, 1, 1, 1, "")
            for number, outcome in enumerate(outcomes)]


@pytest.mark.parametrize("outcomes, answer", [
    ((HOLDS, HOLDS), "Yes."), ((HOLDS, FAILS), "No."), ((UNKNOWN, FAILS), "No."),
    ((HOLDS, UNKNOWN), "Cannot be told: .")])
def test_of_several_findings_the_worst_counts(outcomes, answer):
    others = [Verdict("another", FAILS, 1, 1, 1, "")]
    assert Headline("?", "Yes.", "No.", "it is").answer(others + judged(*outcomes)) == answer


def test_where_its_finding_was_not_judged_the_first_verdict_says_why():
    only = [Verdict("another", UNKNOWN, math.nan, 0, math.inf, "", "no httpd")]
    assert Headline("?", "Yes.", "No.", "it is").answer(only) == "Cannot be told: no httpd."


def test_the_figures_of_the_readme_are_those_of_the_results():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.BEGIN in text and readme.END in text
    assert readme.written(text, RESULTS.read_text(encoding="utf-8")) == text


def test_a_figure_at_the_least_that_can_be_told_says_so():
    one = Verdict("it", HOLDS, 0.0012, 0.0004, 0.0035, "", limit="<")
    assert one.here == "< 0.0012 (at most 0.0035)"
    assert verdict.number(0.0012) in one.sentence
