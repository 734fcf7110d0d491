"""Compression libraries through ctypes, for the installed tools and for the benchmarks.

libraries     the shared libraries, loaded if they are installed, with their functions
engines       bodies encoded whole, by contexts that are made for each or kept
streams       brotli and zstd in pieces
dictionaries  brotli and zstd with a dictionary (RFC 9842), and dictionaries made from bodies
decoders      brotli and zstd decoded, with a dictionary and without

OSError tells what failed. Calls release Python's lock.
"""
