"""How far the verdicts of two runs agree."""

import dataclasses

from benchkit import outcome
from benchkit.tools import BenchError
from benchkit.verdict import FAILS, HOLDS, Verdict


@dataclasses.dataclass(frozen=True)
class Difference:
    """A finding of which two runs say different things."""

    experiment: str
    one: Verdict
    other: Verdict

    @property
    def contradicts(self):
        """Whether both runs tell, and not the same: else one has told what the other left open."""
        return {self.one.outcome, self.other.outcome} == {HOLDS, FAILS}

    @property
    def sentence(self):
        one, other = (f"{seen.outcome}, {seen.here}" for seen in (self.one, self.other))
        mark = "CONTRADICTION: " if self.contradicts else ""
        return f"{mark}{self.experiment}: {self.one.finding}: {one} | {other}"


@dataclasses.dataclass(frozen=True)
class Agreement:
    agreed: int  # findings of which both say the same
    differences: list
    lone: list  # sentences on findings that only one of them has

    @property
    def contradictions(self):
        return sum(one.contradicts for one in self.differences)

    @property
    def text(self):
        by_one = len(self.differences) - self.contradictions
        return "\n".join([
            *(one.sentence for one in self.differences), *self.lone,
            f"Of {self.agreed + len(self.differences)} verdicts, the same: {self.agreed}; told by "
            f"one run only: {by_one}; contradictions: {self.contradictions}."])


def compare(left, right, names):
    """The Agreement of the results in two folders, of those experiments that both have."""
    agreed, differences, lone = 0, [], []
    both = 0
    for name in names:
        seen = [outcome.load(folder, name) for folder in (left, right)]
        if None in seen:
            lone += [f"{name}: only in {folder}" for folder, one in zip((left, right), seen)
                     if one is not None]
            continue
        both += 1
        mine, others = ({one.finding: one for one in saved.verdicts} for saved in seen)
        lone += [f"{name}: {finding}: only in {left if finding in mine else right}"
                 for finding in mine.keys() ^ others.keys()]
        for finding in (finding for finding in mine if finding in others):
            if mine[finding].outcome == others[finding].outcome:
                agreed += 1
            else:
                differences.append(Difference(name, mine[finding], others[finding]))
    if not both:
        raise BenchError(f"{left} and {right} have no experiment in common")
    return Agreement(agreed, differences, sorted(lone))
