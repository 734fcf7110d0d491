"""Memory and calls that fail in a server, told from outside."""

import contextlib
import shutil
import tempfile
from pathlib import Path

from kit import faults


@contextlib.contextmanager
def failing(*names):
    """(what tells the libraries of those names, a Server's options that load them)."""
    folder = Path(tempfile.mkdtemp(prefix="elastic-fire-"))
    try:
        memory = faults.Memory(folder)
        memory.path.chmod(0o666)
        libraries = [faults.library(folder, name) for name in names]
        yield memory, {"wrapper": faults.wrapper(*libraries),
                       "environ": {"FAULT_MEMORY": str(memory.path)}} if names else {}
    finally:
        shutil.rmtree(folder)
