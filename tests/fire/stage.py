"""One stage, in the environment of its build and its MPM: python3 -m fire.stage NAME [options].
Prints what it found as a line of JSON."""

import argparse
import importlib
import sys

from .outcome import Plan

STAGES = ("differential", "torture", "reloads", "storm", "aborts", "troubles")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("--count", type=int, default=sys.maxsize)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--failing", type=int, default=0)
    asked = parser.parse_args()
    plan = Plan(asked.count, asked.seconds, asked.seed, asked.first, asked.failing)
    made = importlib.import_module(f".{asked.stage}", __package__).run(plan)
    print(made.as_json())


if __name__ == "__main__":
    main()
