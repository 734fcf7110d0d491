"""The parts of the experiment `modes`.

spikes               a load that jumps from the ceiling's to what saturates mod_deflate many times
steady_state         a steady load, at which a mode should rest
controller_overhead  the controller's own CPU, on a server that has nothing to do

day                  the bytes and the CPU of a day, beside mod_deflate's

Those that measure have measure(), which gives rows; all have judge(), which makes verdicts of them.
"""
