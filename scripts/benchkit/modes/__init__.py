"""The parts of the experiment `modes`.

controller  servers with a mode of the controller, and what it did, by its own trace
spikes      a load that jumps from the ceiling's to what saturates mod_deflate many times over
days        a day's demand in minutes
calm        a steady load, at which a mode should rest
goals       a time for compression, and the least cost
owncost     the controller's own CPU, on a server that has nothing to do

Each part has measure(), which gives rows, and judge(), which makes verdicts of them.
"""
