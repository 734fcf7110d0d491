"""Compression libraries through ctypes, for the tools that are installed and for the benchmarks.

libraries     the shared libraries, loaded where they are installed, with their functions
engines       bodies encoded whole, by contexts that are made for each or kept
streams       brotli and zstd in pieces
dictionaries  brotli and zstd against a dictionary (RFC 9842), and dictionaries made of bodies
decoders      brotli and zstd back, with a dictionary and without

OSError says what failed. Calls release Python's lock.
"""
