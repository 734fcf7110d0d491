"""How the Python plugin reads: at most ten times a second."""

import sys

from conftest import SOURCE

sys.path.insert(0, str(SOURCE / "plugins" / "python"))

from elastic_compress import Follower  # noqa: E402


class Clock:
    def __init__(self, now):
        self.now = now

    def __call__(self):
        return self.now


def test_a_position_is_kept_for_100_ms(position, monkeypatch):
    import time
    clock = Clock(time.monotonic())
    follower = Follower(position.path, clock)
    reads = []
    read = follower.read
    monkeypatch.setattr(follower, "read", lambda: reads.append(1) or read())
    assert follower.setup(range(1, 10), 6) == 1
    position.write(8)
    clock.now += 0.09
    assert follower.setup(range(1, 10), 6) == 1 and len(reads) == 1
    clock.now += 0.02
    assert follower.setup(range(1, 10), 6) == 9 and len(reads) == 2


def test_a_file_that_is_absent_is_not_asked_for_at_each_request(tmp_path, monkeypatch):
    clock = Clock(5.0)
    follower = Follower(tmp_path / "none", clock)
    reads = []
    read = follower.read
    monkeypatch.setattr(follower, "read", lambda: reads.append(1) or read())
    assert [follower.setup("abc", "b") for _ in range(50)] == ["b"] * 50
    assert len(reads) == 1
