"""How far the verdicts of two runs agree."""

import dataclasses

from benchkit import machine_speed, outcome
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
        """Whether both decide it, and differently; else one decides what the other leaves open."""
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
    remarks: list  # sentences: what only one of them has, other rounds, another speed

    @property
    def contradictions(self):
        return sum(one.contradicts for one in self.differences)

    @property
    def text(self):
        by_one = len(self.differences) - self.contradictions
        return "\n".join([
            *(one.sentence for one in self.differences), *self.remarks,
            f"Of {self.agreed + len(self.differences)} verdicts, the same: {self.agreed}; decided "
            f"by one run only: {by_one}; contradictions: {self.contradictions}."])


def compare(left, right, names):
    """The Agreement of the results in two folders, of those experiments that both have."""
    folders = (left, right)
    agreed, differences, remarks = 0, [], []
    both = False
    for name in names:
        pair = [outcome.load(folder, name) for folder in folders]
        if None in pair:
            remarks += [f"{name}: only in {folder}" for folder, saved in zip(folders, pair)
                        if saved is not None]
            continue
        both = True
        one, other = ({one.finding: one for one in saved.verdicts} for saved in pair)
        shared = one.keys() & other.keys()
        apart = [Difference(name, one[finding], other[finding]) for finding in one
                 if finding in shared and one[finding].outcome != other[finding].outcome]
        agreed += len(shared) - len(apart)
        differences += apart
        remarks += [f"{name}: {finding}: only in {left if finding in one else right}"
                    for finding in one.keys() ^ other.keys()]
        remarks += conditions(name, folders, [saved.facts for saved in pair], bool(apart))
    if not both:
        raise BenchError(f"{left} and {right} have no experiment in common")
    return Agreement(agreed, differences, sorted(remarks))


def conditions(name, folders, facts, apart):
    """Sentences on how two runs of an experiment differ beside their verdicts.

    The machine's speed matters where verdicts are `apart`.
    """
    (left, right), (one, other) = folders, facts
    if one["rounds"] != other["rounds"]:
        yield f"{name}: {one['rounds']} rounds in {left}, {other['rounds']} in {right}"
    speeds = [of_run.get("machine_speed") for of_run in facts]  # older results have none
    if apart and all(speeds) and machine_speed.differ(*speeds):
        yield f"{name}: the machine was not the same. " + " ".join(
            f"In {folder}: {machine_speed.sentence(speed)}"
            for folder, speed in zip(folders, speeds))
