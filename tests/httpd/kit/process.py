"""What /proc says about a process."""

import os
import re
from pathlib import Path


def private_kb(pid):
    """Anonymous memory that belongs to the process alone, in KB: what its body buffers would grow."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    fields = dict(re.findall(r"^(\w+):\s+(\d+) kB", text, re.M))
    return int(fields["Private_Dirty"])


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def mapped_kb(pid):
    """Address space, in KB: mappings that nobody unmaps show here."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^VmSize:\s+(\d+) kB", status, re.M)[1])
