"""The parts of the experiments of scripts/bench: docs/internals/bench.md describes them.

An experiment is a module of benchkit.experiments, or a row of its ratios.TABLE.
"""
