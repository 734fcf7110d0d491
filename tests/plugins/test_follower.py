"""How often the Python plugin reads: at most ten times a second."""

import time

import pytest

import conftest  # noqa: F401: where the plugin is
from elastic_compress import ElasticWSGI, Follower


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


@pytest.mark.parametrize("levels,text", [
    ({"deflate": (1, 9)}, "deflate: the codings are gzip, br, zstd"),
    ({"gzip": (0, 9)}, "gzip 0 9: the levels are 1 to 9"),
    ({"br": (0, 12)}, "br 0 12: the levels are 0 to 11"),
    ({"zstd": (5, 4)}, "zstd 5 4: the levels are 1 to 19"),
])
def test_levels_that_do_not_exist_are_refused_at_the_start(levels, text):
    with pytest.raises(ValueError, match=text):
        ElasticWSGI(None, levels=levels)
