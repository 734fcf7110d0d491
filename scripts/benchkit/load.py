"""Load: wrk in a closed loop, h2load in a closed loop over HTTP/1.1 or HTTP/2.

A closed loop waits for each response, and so measures capacity; under overload it hides the latency
for users. clients.py is the open loop.
"""

import contextlib
import dataclasses
import math
import re

from benchkit import sample, stats, tools

# wrk rounds its output; its script interface gives the exact figures.
WRK_REPORT = """
done = function(summary, latency, requests)
    local errors = summary.errors
    local broken = errors.connect + errors.read + errors.write + errors.timeout
    print(string.format("bench requests=%d usec=%d bytes=%d status=%d broken=%d "
        .. "p50=%d p95=%d", summary.requests, summary.duration, summary.bytes,
        errors.status, broken, latency:percentile(50), latency:percentile(95)))
end
"""

TOOL_GRACE = 20  # seconds that a load generator may exceed its duration
SILENCE = 60  # seconds without a byte after which h2load gives up a connection
COUNT_GRACE = 120  # seconds for a run of a fixed number of requests, whose duration is estimated


@dataclasses.dataclass(frozen=True)
class Load:
    """The results of a load generator."""

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


def parse_wrk(text):
    """The Load in WRK_REPORT's line."""
    line = re.search(r"^bench (.+)$", text, re.MULTILINE)
    if line is None:
        raise tools.BenchError("wrk printed no report")
    field = {key: int(value) for key, value in re.findall(r"(\w+)=(-?\d+)", line.group(1))}
    return Load(field["requests"], field["status"] + field["broken"], field["usec"] / 1e6,
                field["bytes"], field["p50"] / 1e3, field["p95"] / 1e3)


UNIT_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def parse_duration(text):
    """The seconds of h2load's "501.23ms", "1.00s" or "1m2s"."""
    parts = re.findall(r"([\d.]+)(us|ms|s|m|h)", text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise tools.BenchError(f"h2load printed the time '{text}'")
    return sum(float(number) * UNIT_SECONDS[unit] for number, unit in parts)


def parse_h2load(text, log=""):
    """The Load in h2load's summary; percentiles come from the text of its log file."""
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
                stats.percentile(latencies, 50), stats.percentile(latencies, 95), started == done)


PROBE, PROBES = 0.1, 64  # CPU seconds, or requests, to find a request's cost
LEAST = 1e-5  # the least CPU seconds of a request


def count_requests(leg, clients, seconds):
    """The number of requests that take about `seconds`: slow legs must not be cut off in a
    response.

    It is estimated from the CPU time of a few responses, because the server's CPU limits the load.
    """
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


def fixed_counts(run, legs, clients, seconds):
    """Returns a function that loads a leg with as many requests as take about this many seconds."""
    counts = {leg.name: count_requests(leg, clients, seconds) for leg in legs}
    return lambda leg: h2load(run, leg.url, leg.headers, clients, counts[leg.name], leg.http2)


def header_options(option, headers):
    return [part for name, value in headers.items() for part in (option, f"{name}: {value}")]


def wrk(run, url, headers, seconds, connections):
    """A closed loop over HTTP/1.1 for a whole number of seconds."""
    script = run.work / "report.lua"
    script.write_text(WRK_REPORT, encoding="utf-8")
    whole = max(1, math.ceil(seconds))
    command = [tools.find("wrk"), "-t1", f"-c{connections}", f"-d{whole}s", "-s", str(script),
               *header_options("-H", headers), url]
    return parse_wrk(run.load(command, whole + TOOL_GRACE))


def h2load(run, url, headers, clients, requests, http2=False):
    """`requests` requests; `url` is one, or a list that every client cycles through."""
    log = run.work / "h2load.log"
    log.unlink(missing_ok=True)
    command = [tools.find("h2load"), "-t1", f"-c{clients}", f"-N{SILENCE}s", f"-n{requests}",
               f"--log-file={log}", *header_options("-H", headers)]
    if not http2:
        command.append("--h1")
    if isinstance(url, list):
        path = run.work / "urls.txt"
        path.write_text("\n".join(url) + "\n", encoding="ascii")
        url = f"--input-file={path}"
    text = run.load([*command, url], COUNT_GRACE)
    return parse_h2load(text, log.read_text(encoding="ascii"))
