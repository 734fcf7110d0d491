"""The parts of scripts/precompress: each file uses those above it in this list, and codeckit, which
has the libraries.

encoders    bodies and files -> the fewest bytes of a coding
tally       counts, progress and the report
files       the files to compress; one precompressed file of one of them
watch       waiting for changes
cli         arguments, the pass over all files, the exit status
"""
