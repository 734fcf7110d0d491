"""When an answer is late."""

import random

import pytest

import asked

ASK = asked.Ask("page", "/page")


class Timed:
    """The first two answers take a second, so that they look late, and later ones what `seconds`
    gives."""

    def __init__(self, seconds):
        self._seconds = seconds
        self.answers = {ASK: [asked.Answer(200, seconds=1.0)] * 2}

    def take(self, asks, times):
        assert (asks, times) == ([ASK], 1)
        self.answers[ASK].append(asked.Answer(200, seconds=self._seconds()))


@pytest.mark.smoke
@pytest.mark.parametrize("wait, busy, late", [
    (0, 0.05, False), (0.005, 0.05, False), (0.04, 0.01, True), (0.2, 0.05, True)])
def test_a_wait_is_late_and_a_busy_machine_is_not(wait, busy, late):
    for seed in range(50):
        noise = random.Random(seed)
        mine = Timed(lambda: wait + noise.expovariate(1 / busy))
        stock = Timed(lambda: noise.expovariate(1 / busy))
        stock.answers[ASK] = [asked.Answer(200)] * 2
        found, seconds, ask = asked.lateness(mine, stock)
        assert found == late and ask is ASK
        assert not late or wait / 2 < seconds < wait * 2
