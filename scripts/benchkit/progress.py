"""How far a run is, and how long it will take: a line on the terminal every few seconds."""

import sys
import time

INTERVAL = 5  # seconds between two lines


class Progress:
    """`plan` is {experiment: seconds that it is expected to take}, in the order of the run."""

    def __init__(self, plan, stream=sys.stderr, clock=time.monotonic):
        self.plan = dict(plan)
        self.stream = stream
        self.clock = clock
        self.started = self.printed = clock()
        self.last = ""  # line
        self.name = None
        self.end = clock()  # when all will be done, by the last step's estimate

    def say(self, text):
        print(text, file=self.stream, flush=True)

    def begin(self, name):
        self.name, self.started, self.printed = name, self.clock(), self.clock()
        number = list(self.plan).index(name) + 1
        self.end = self.clock() + self.left(0)
        self.say(f"{name} ({number} of {len(self.plan)}); "
                 f"{duration(self.left(0))} left in all, about")

    def step(self, share):
        """`share` of the experiment is done; prints so where the last line is old enough."""
        self.end = self.clock() + self.left(share)
        self.report(f"{100 * share:.0f} %; ")

    def still_running(self):
        """A long step goes on; the time left shows it."""
        self.report("")

    def report(self, done):
        """Prints a line, where it is another one than the last and that one is old enough."""
        now = self.clock()
        line = f"{self.name}: {done}{duration(self.end - now)} left"
        if now - self.printed >= INTERVAL and line != self.last:
            self.printed, self.last = now, line
            self.say(line)

    def left(self, share):
        """Seconds to the end of the run: by the plan, and by what the experiment took so far."""
        names = list(self.plan)
        later = sum(self.plan[name] for name in names[names.index(self.name) + 1:])
        planned = self.plan[self.name] * (1 - share)
        if share == 0:
            return later + planned
        # At first the plan estimates better, because starting servers is no share of the work.
        seen = (self.clock() - self.started) * (1 - share) / share
        return later + share * seen + (1 - share) * planned


def duration(seconds):
    """"45 s", "3 min", "1 h 20 min"."""
    if seconds < 90:
        return f"{max(0, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
