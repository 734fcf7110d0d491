"""The module under test, built if it is missing."""

import os
import subprocess

from benchkit import tools

# For zlib's own figures: a module without other engines for gzip.
ZLIB_ONLY = ("--without-libdeflate", "--without-isal", "--without-zstd")
PATIENCE = 600  # seconds
SCRIPT = 'el_root=$1; shift; . "$el_root/scripts/lib/build.sh"; el_build "$@"'


def ensure(say, name="plain", variable="ELASTIC_MODULE", options=()):
    """The module's path; builds build/NAME unless it exists or the variable names another."""
    try:
        return tools.elastic_module(name, variable)
    except tools.BenchError:
        if os.environ.get(variable):
            raise
    say(f"building the module in {tools.ROOT / 'build' / name}")
    result = subprocess.run(["bash", "-c", SCRIPT, "bench", tools.ROOT, name, *options],
                            stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=PATIENCE, check=False)
    if result.returncode != 0:
        words = (result.stderr or result.stdout).strip().splitlines()
        raise tools.BenchError("the module cannot be built: " + " / ".join(words[-3:]))
    return tools.elastic_module(name, variable)


def zlib_alone(run):
    """The path of this module with zlib instead of the other gzip encoders; builds it if needed."""
    if not run.download:  # nothing is fetched or built implicitly
        raise tools.BenchError("the module with zlib alone is not built for a run this short")
    return ensure(tools.say, "zlib", "ELASTIC_MODULE_ZLIB", ZLIB_ONLY)
