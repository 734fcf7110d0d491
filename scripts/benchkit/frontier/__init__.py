"""The parts of the experiment of that name, and of flood.

legs    ways to compress, and their servers
pages   pages that take CPU to make, and what one takes
passes  a leg under a load: bytes and times
cells   the default beside the best of others, chosen in other rounds; the frontier
hours   a day, put together of steady loads
draw    its plots
"""
