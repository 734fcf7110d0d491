"""What /proc says about a process."""

import os
import re
from pathlib import Path


def anonymous_kb(pid):
    """Private anonymous memory in KB, pages that are still shared with a fork included."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return int(re.search(r"^Anonymous:\s+(\d+) kB", text, re.M)[1])


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def mapped_kb(pid):
    """Address space, in KB: mappings that nobody unmaps show here."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^VmSize:\s+(\d+) kB", status, re.M)[1])
