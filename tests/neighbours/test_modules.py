"""One module at a time beside ours: the same answers as beside the stock modules."""

import pytest

from kit import env

import beside
import modules


@pytest.mark.parametrize("near", modules.each(), ids=lambda near: near.name)
def test_module(near, origin, monkeypatch, record_property):
    record_property("module", near.name)
    if near.out:
        record_property("out", near.out)
        return
    monkeypatch.setattr(env, "MPM", near.mpm)
    trio = beside.Trio(near, origin)
    try:
        trio.start()
        found = trio.compare()
    finally:
        trio.remove()
    for kind, texts in found.items():
        record_property(kind.name, texts)
        record_property(f"{kind.name} late", trio.late.get(kind, 0.0))
    said = "\n".join(
        f"{kind.name}: {text}" for kind, texts in found.items() for text in texts)
    assert not said, said
