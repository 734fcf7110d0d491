"""The kit that every experiment of scripts/bench stands on.

tools    programs and modules, by name, with the package of each that is missing
run      one run: work directory, processes, results; nothing else survives it
link     a private network namespace whose loopback has an Ethernet's MTU and rate
corpus   the bodies, deterministic
server   a private httpd on a free loopback port
load     wrk (closed loop) and h2load (also open loop), their output parsed
sample   CPU, memory and the module's counters of a server while a load runs
rounds   legs, checked once and then measured in interleaved rounds
stats    medians, percentiles, ratios
machine  what the figures were measured on
plot     matplotlib, set up once

An experiment is a module of benchkit.experiments with SUMMARY, SCALES and run(run).
"""
