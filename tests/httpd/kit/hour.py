"""A server with a scripted last hour."""

from . import faults
from .driven import Driven, SHORT_INTERVAL
from .procstat import ProcStat

# CPU load in percent for each minute after the first: a slow rise, a peak, and a fall.
LOADS = [*range(20, 50), 60, 70, 80, 90, 95, 97, 99, 99, 97, 95, 90, 85, *range(80, 46, -2)]

CONFIG = """
Elastic On
ElasticProcStat {root}/stat
ElasticInterval 100ms
"""


def start(httpd, directory, config="", during=None, **options):
    """A server after LOADS, with a sample for each minute; the last minute has not ended.
    `during` is called in each minute before its sample, with the server and the load."""
    clock = faults.Clock(directory)
    server = httpd(CONFIG + config, start=False, allow_log=[SHORT_INTERVAL], **clock.options,
                   **options)
    stat = ProcStat(server.root / "stat")
    driven = Driven(server.start(), stat)
    for load in LOADS:
        clock.skip(monotonic=60)
        if during:
            during(server, load)
        driven.load(load)
    return server
