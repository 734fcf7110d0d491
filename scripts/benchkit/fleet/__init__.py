"""The parts of the experiment `fleet`.

simulate.py has servers behind one balancer, with a clock that is computed; real.py has three httpds
with a redis, whose encodings are compared with what the simulation says of the same requests.
"""
