"""Load by h2load in a closed loop, which measures capacity and hides latency."""

import contextlib
import dataclasses
import re

from benchkit import rounds, sample, stats, tools

TAIL = 20 * stats.BEYOND  # responses of a p95
SILENCE = 60  # seconds without a byte after which h2load gives up a connection
COUNT_GRACE = 120  # seconds for a run of a fixed number of requests, whose duration is estimated


@dataclasses.dataclass(frozen=True)
class Load:
    requests: int  # complete responses
    failed: int  # responses other than 2xx, and requests without a response
    seconds: float
    bytes: int  # received, including headers
    p50_ms: float  # latency percentiles; NaN if the tool does not give them
    p95_ms: float
    whole: bool = False  # every request had ended; else some were cut off

    @property
    def rate(self):
        return stats.ratio(self.requests, self.seconds)


UNIT_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_duration(text):
    """The seconds of h2load's "501.23ms", "1.00s" or "1m2s"."""
    parts = re.findall(r"([\d.]+)(us|ms|s|m|h)", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise tools.BenchError(f"h2load printed the time '{text}'")
    return sum(float(number) * UNIT_SECONDS[unit] for number, unit in parts)


def parse_h2load(text, log=""):
    finished = re.search(r"^finished in (\S+),", text, re.MULTILINE)
    requests = re.search(r"^requests: \d+ total, (\d+) started, (\d+) done, "
                         r"(\d+) succeeded, (\d+) failed", text, re.MULTILINE)
    traffic = re.search(r"^traffic: \S+ \((\d+)\) total", text, re.MULTILINE)
    if not (finished and requests and traffic):
        raise tools.BenchError("h2load printed no summary")
    # A line has the start, the status and µs; if h2load was ended, the last may be incomplete.
    rows = (line.split("\t") for line in log.splitlines())
    latencies = [int(row[2]) / 1e3 for row in rows
                 if len(row) >= 3 and row[2].isdigit() and row[1].startswith("2")]
    started, done, succeeded, failed = map(int, requests.groups())
    return Load(succeeded, failed, parse_duration(finished.group(1)), int(traffic.group(1)),
                stats.percentile(latencies, 50), stats.tail(latencies, 95), started == done)


PROBE, PROBES = 0.1, 64  # CPU seconds, or requests, to find a request's cost
LEAST = 1e-5  # the least CPU seconds of a request


def count_requests(leg, clients, seconds):
    """The number of requests that take about `seconds`, by the CPU time of a few responses: slow
    legs must not be cut off in a response."""
    probe = min(PROBE, seconds)
    server = leg.server
    pids = sample.family(server.pids, sample.read_parents())
    with contextlib.closing(server.connect()) as connection:
        server.ask(connection, leg.path, leg.headers)  # includes the connection's cost
        before, used, tries = sample.cpu_of(pids), 0.0, 0
        while tries < PROBES and used < probe:
            server.ask(connection, leg.path, leg.headers)
            used = sample.cpu_of(pids) - before
            tries += 1
    return max(clients, round(seconds * tries / max(used, LEAST * tries)))


def fixed_counts(run, legs, clients, seconds, least=lambda leg: 0):
    """Loads a leg with as many requests as take about this many seconds, or `least(leg)`."""
    counts = {leg.name: max(least(leg), count_requests(leg, clients, seconds)) for leg in legs}
    return lambda leg: h2load(run, leg.url, leg.headers, clients, counts[leg.name], leg.http2)


def closed(run, legs, clients, seconds, *least):
    """The rows of rounds of fixed_counts()."""
    return rounds.measure(run, legs, fixed_counts(run, legs, clients, seconds, *least))


def h2load(run, url, headers, clients, requests, http2=False):
    """`requests` requests; `url` is one, or a list that every client cycles through."""
    log = run.work / "h2load.log"
    log.unlink(missing_ok=True)
    command = [tools.find("h2load"), "-t1", f"-c{clients}", f"-N{SILENCE}s", f"-n{requests}",
               f"--log-file={log}", *(part for name, value in headers.items()
                                          for part in ("-H", f"{name}: {value}"))]
    if not http2:
        command.append("--h1")
    if isinstance(url, list):
        path = run.work / "urls.txt"
        path.write_text("\n".join(url) + "\n", encoding="ascii")
        url = f"--input-file={path}"
    text = run.load([*command, url], COUNT_GRACE)
    return parse_h2load(text, log.read_text(encoding="ascii"))
