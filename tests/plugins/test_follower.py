"""How often the Python plugin reads: at most ten times a second."""

import sys
import time

from conftest import SOURCE

sys.path.insert(0, str(SOURCE / "plugins" / "python"))

from elastic_compress import Follower  # noqa: E402


class CountingFollower(Follower):
    """Looks at a clock that stands still unless the test moves it, and counts what it reads."""

    def __init__(self, path):
        self.now = time.monotonic()
        self.reads = 0
        super().__init__(path, lambda: self.now)

    def read(self):
        self.reads += 1
        return super().read()


def test_a_position_is_kept_for_100_ms(position):
    follower = CountingFollower(position.path)
    assert follower.setup(range(1, 10), 6) == 1
    position.write(8)
    position.at_floor = False
    follower.now += 0.09
    assert follower.setup(range(1, 10), 6) == 1 and follower.reads == 1
    follower.now += 0.02
    assert follower.setup(range(1, 10), 6) == 9 and follower.reads == 2


def test_an_absent_file_is_not_looked_for_at_each_request(tmp_path):
    follower = CountingFollower(tmp_path / "none")
    assert [follower.setup("abc", "b") for _ in range(50)] == ["b"] * 50
    assert follower.reads == 1
