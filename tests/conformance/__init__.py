"""Whether a server's compression keeps to HTTP: tests/conformance/run --help."""
