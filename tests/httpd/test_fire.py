"""The campaign of tests/fire at its smallest: it goes through, and it can fail."""

import sys
from pathlib import Path

import pytest

from kit import faults

sys.path.insert(0, str(Path(__file__).parents[1]))

for module in ("h11", "h2"):
    pytest.importorskip(module, reason=f"{module} is not there (package python3-{module})")
from fire import judge, stage  # noqa: E402
from fire.cases import Case  # noqa: E402
from fire.http1 import Answer, Request  # noqa: E402


def test_a_few_hundred_random_requests():
    made = stage.run(stage.Plan("differential", 600, "few", count=300))
    assert made.failures == []
    assert made.count >= 300 and made.figures["encoded"] > 50


def test_damage_is_found(tmp_path):
    """An encoder writes another byte than it should: one of those that a pinned level has."""
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
                              Answer(status, fields, raw, whole))


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
    assert one.complaint(plain, Answer(200, {"etag": '"v"'}, BODY, True)) is None
    coded = Case(Request("HEAD", "/a", (("Accept-Encoding", "gzip"),)), "/a")
    assert "that of identity, too" in one.complaint(
        coded, Answer(200, {"etag": '"v"', **CODED}, b"", True))
