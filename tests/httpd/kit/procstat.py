"""A scripted /proc/stat, for ElasticProcStat."""

import os

# The columns of proc(5), in order; user and nice contain guest and guest_nice.
COLUMNS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest",
           "guest_nice")


class ProcStat:
    """
    Counters that only move when the test says so. For a sampler that reads the same text twice, no
    tick has passed, so each call of `busy` is one sample for the controller, however long it waits.

    cpus: the numbers of the `cpuN` rows; without any there is only the `cpu` row.
    """

    def __init__(self, path, cpus=()):
        self.path = path
        self._cpus = list(cpus)
        self._ticks = {cpu: [1000] * len(COLUMNS) for cpu in ["", *self._cpus]}
        self.write()

    def text(self):
        rows = (f"cpu{cpu}{' ' if cpu == '' else ''} {' '.join(map(str, ticks))}"
                for cpu, ticks in self._ticks.items())
        return "\n".join(rows) + "\nintr 1 2 3\nctxt 4\nbtime 5\n"

    def write(self, text=None):
        part = self.path.with_suffix(".part")
        part.write_text(self.text() if text is None else text)
        os.chmod(part, 0o644)
        part.rename(self.path)

    def add(self, cpu=None, **columns):
        """Adds ticks to the columns of a CPU (None: of every row), and writes the file."""
        for number, ticks in self._ticks.items():
            if cpu is None or number == cpu:
                for name, count in columns.items():
                    ticks[COLUMNS.index(name)] += count
        self.write()

    def busy(self, percent, cpu=None, ticks=1000):
        """Lets `ticks` pass, of which `percent` were busy."""
        used = round(ticks * percent / 100)
        self.add(cpu, user=used, idle=ticks - used)
