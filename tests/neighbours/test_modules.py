"""One module at a time beside ours: the same answers as beside the stock modules."""

import re

import pytest

from kit import env
from kit.server import StartFailed

import beside
import modules


@pytest.mark.parametrize("near", modules.each(), ids=lambda near: near.name)
def test_module(near, origin, monkeypatch, record_property):
    record_property("module", near.name)
    if near.out:
        record_property("out", near.out)
        return
    monkeypatch.setattr(env, "MPM", near.mpm)
    try:
        said = beside.compared(near, origin, record_property)
    except StartFailed as error:
        # Some packages have a module that no httpd of their release can load.
        broken = re.search(r"undefined symbol: \w+", str(error))
        if not broken:
            raise
        record_property("out", f"httpd cannot load it: {broken[0]}")
        return
    assert not said, said
