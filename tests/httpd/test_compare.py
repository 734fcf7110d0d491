"""scripts/compare: this module differs from the stock modules in the listed rows, and only
there."""

import dataclasses
import os
import sys
from pathlib import Path

import pytest

from kit import env

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from comparekit import compare  # noqa: E402
from comparekit.rows import ROWS  # noqa: E402

pytestmark = pytest.mark.skipif(not env.MODULE or not os.path.exists(env.module_path("brotli")),
                                reason="ours or the stock mod_brotli is not there")


# The first row with each of these fields.
SAME, DIFFERING, LOGGING = (
    next(row for row in ROWS if getattr(row, name) == value) for name, value in (
        ("host", "DeflateWindowSize 15"), ("host", "DeflateWindowSize 8"), ("fault", "gzip-first")))


@pytest.mark.long
@pytest.mark.slow
def test_the_sides_differ_where_the_rows_say_so():
    _, troubles = compare.compare(ROWS)
    assert not troubles, "\n".join(troubles)


def test_a_page_has_what_differs(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text(f"by hand\n{compare._MARK}of before\n")
    assert compare.main(page, [SAME, DIFFERING, LOGGING]) == 0
    head, mark, table = page.read_text().partition(compare._MARK)
    assert (head, mark) == ("by hand\n", compare._MARK)
    assert DIFFERING.why in table and SAME.text not in table and "of before" not in table
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("planted,fields,said", [
    (DIFFERING, {"differs": ""}, "differs in ['coding', 'etag'], not in []"),
    (DIFFERING, {"differs": "etag"}, "not in ['etag']"),
    (DIFFERING, {"differs": "coding etag vary"}, "not in ['coding', 'etag', 'v"),
    (SAME, {"differs": "etag"}, "differs in [], not in ['etag']"),
    (LOGGING, {"log": ""}, "elastic: the encoder")])
def test_what_no_row_says_is_noticed(planted, fields, said, capsys):
    assert compare.main(None, [dataclasses.replace(planted, **fields)]) == 1
    assert said in capsys.readouterr().err
