"""The campaign of tests/fire at its smallest: it passes, and it can fail."""

import sys
from pathlib import Path

import pytest

from kit import faults
from kit.client import Request, Response

sys.path.insert(0, str(Path(__file__).parents[1]))

from fire import flat, judge, stage  # noqa: E402
from fire.cases import Case  # noqa: E402


def test_a_few_hundred_random_requests():
    made = stage.run(stage.Plan("differential", 600, "few", count=300))
    assert made.failures == []
    assert made.count >= 300 and made.figures["encoded"] > 50


def test_damage_is_found(tmp_path):
    """An encoder at a pinned level writes a wrong byte."""
    wrapper = faults.wrapper(faults.library(tmp_path, "gzip-damage"))
    made = stage.run(stage.Plan("differential", 600, "few", count=300, kinds=("drop-in",), options={
        "wrapper": wrapper, "config": "DeflateCompressionLevel 6\n"}))
    assert any("damaged" in failure for failure in made.failures)


BODY = b"a body of some bytes"
REQUEST = {"Accept-Encoding": "gzip", "Range": "bytes=2-5", "If-None-Match": '"v-gzip"'}


def complaint(status, fields, raw, *asked, whole=True, method="GET"):
    identity = judge_of(200, BODY, {"etag": '"v"'})
    headers = tuple((name, REQUEST[name]) for name in asked)
    return identity.complaint(Case(Request(method, "/a", headers), "/a"),
                              Response.of(status, fields, raw, whole))


def judge_of(*identity):
    return judge.Judge(lambda resource: identity)


PART = {"content-range": f"bytes 2-5/{len(BODY)}"}
CODED = {"content-encoding": "gzip", "vary": "Accept-Encoding"}


@pytest.mark.parametrize("wrong,answer", [
    (None, (200, {}, BODY)),
    ("another body", (200, {}, BODY[1:])),
    ("broke off", (200, {}, BODY, False)),
    ("Content-Length", (200, {"content-length": "3"}, BODY)),
    ("404, where", (404, {}, BODY)),
    ("not accepted", (200, CODED, BODY)),
    ("damaged", (200, CODED, BODY, True, "Accept-Encoding")),
    ("without Vary", (200, {"content-encoding": "gzip"}, BODY, True, "Accept-Encoding")),
    (None, (206, PART, BODY[2:6], True, "Range")),
    ("another body", (206, PART, BODY[3:7], True, "Range")),
    ("nobody asked for", (206, PART, BODY[2:6])),
    ("part of the body in", (206, {**PART, **CODED}, BODY[2:6], True, "Range", "Accept-Encoding")),
    (None, (304, {}, b"", True, "If-None-Match")),
    ("without a condition", (304, {}, b"")),
    ("without a condition", (412, {}, b"")),
    ("without a range", (416, {}, b"")),
])
def test_the_judge(wrong, answer):
    status, fields, raw, *rest = answer
    whole, *asked = rest or [True]
    found = complaint(status, fields, raw, *asked, whole=whole)
    assert (found is None) == (wrong is None) and (wrong or "") in (found or ""), found


def test_a_tag_that_two_codings_have():
    one = judge_of(200, BODY, {})
    plain = Case(Request("GET", "/a"), "/a")
    assert one.complaint(plain, Response.of(200, {"etag": '"v"'}, BODY)) is None
    coded = Case(Request("HEAD", "/a", (("Accept-Encoding", "gzip"),)), "/a")
    assert "that of identity, too" in one.complaint(
        coded, Response.of(200, {"etag": '"v"', **CODED}, b""))


# A minute without growth, for each mode; readings vary a little.
LEVEL = [{bound.column: 30000 + minute % len(flat.MODES) * 700 + minute * 37 % 5
          for bound in flat.BOUNDS} for minute in range(90)]


def grown(each, begin=0):
    """Minutes in which each figure grows by `each`."""
    return [{name: value + each * max(0, minute - begin) for name, value in row.items()}
            for minute, row in enumerate(LEVEL)]


def test_what_does_not_grow_is_flat():
    judged = flat.judge_all({"soak-event": LEVEL, "soak-event-asan": LEVEL[:24]})
    assert not [row for row in judged["soak-event"] if row.bound > 30 and row.verdict != "flat"]
    assert len(judged["soak-event-asan"]) == len(flat.BOUNDS)


@pytest.mark.parametrize("each,begin", [(4, 0), (2.5, 0), (4, 40)])
def test_a_page_lost_at_each_restart_grows(each, begin):
    judged = flat.judge_all({"soak-event": grown(each, begin)})
    parent = judged["soak-event"][0]
    assert parent.column == "parent" and parent.verdict == "grows"
    assert parent.slope.middle == pytest.approx(60 * each, rel=0.1)
    assert any("parent is not" in failure for failure in flat.failures(judged))
    assert "| grows |" in flat.table(judged)


def test_what_httpd_alone_gains_is_not_the_modules():
    judged = flat.judge_all({"soak-event": grown(4), "soak-event-stock": grown(4)})
    assert judged["soak-event"][0].verdict == "flat"
    assert not any("stock" in failure for failure in flat.failures(judged))


def test_too_few_minutes_are_unclear():
    assert flat.slope([5.0] * len(flat.MODES)).high == float("inf")
