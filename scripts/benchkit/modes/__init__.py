"""The parts of the experiment `modes`, beside the day of days.py.

spikes               a load that jumps from the ceiling's to what saturates mod_deflate many times
steady_state         a steady load, at which a mode should rest
goals                a time for compression, and the least cost
controller_overhead  the controller's own CPU, on a server that has nothing to do

Each part has measure(), which gives rows, and judge(), which makes verdicts of them.
"""
