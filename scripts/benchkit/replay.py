"""Arrivals replayed to a server: an open loop, in which no response delays the next request.

h2load sends at the times of a script; several of them, each with one connection of many streams,
share the arrivals. A response that takes longer than `timeout`, or never comes, has failed: a user
would have left.
"""

import dataclasses
import math
import time

from benchkit import arrivals, sample, stats, tools

# The more connections share the arrivals, the longer are the pauses of each.
CONNECTIONS = 16
STREAMS = 1000  # of a connection, so that none waits for another; see SNIPPET

SNIPPET = """
H2MaxSessionStreams 1000
"""

CLOCK = 0.1  # seconds between two looks at the server's CPU

LAUNCH = 0.02  # seconds that it takes to start one of the programs, at most
# h2load's timers wake it late, because the kernel counts in milliseconds, and each counts from the
# one before: so much, in seconds, is what each adds at first, and what is taken away beforehand.
# Each replay tells it more exactly to those after it.
TIMER_LAG = 0.00065
LAG_LEAST, LAG_MOST = 0.0, 0.002
LAG_TOLD_BY = 50  # requests of one program, at least

LATE = 0.1  # seconds after its time that a request was not sent as it was meant
SENT = 0.99  # of a schedule, that must be sent in time, or what was measured is void


@dataclasses.dataclass(frozen=True)
class Response:
    at: float  # seconds since the replay began
    seconds: float  # from the request to the response's end
    status: int  # -1 where the stream failed


@dataclasses.dataclass(frozen=True)
class Replayed:
    began: float  # seconds since the epoch
    responses: list
    missing: list  # arrivals that had no response
    cpu: list  # (seconds since the beginning, the server's CPU seconds so far)
    timeout: float
    late: list = dataclasses.field(default_factory=list)  # arrivals that were sent too late
    foreign_share: float = 0.0  # of the server's CPU, what other processes took

    def failed(self, response):
        return response.seconds > self.timeout or not 200 <= response.status < 300

    def failed_share(self, start, end):
        """Of the arrivals in a span of time, the share that had no response in time."""
        here = [one for one in self.responses if start <= one.at < end]
        missing = sum(start <= at < end for at in self.missing)
        return stats.ratio(sum(map(self.failed, here)) + missing, len(here) + missing)

    def failures(self, start, end):
        """How many of the arrivals in a span of time had no response in time."""
        return (sum(start <= one.at < end and self.failed(one) for one in self.responses)
                + sum(start <= at < end for at in self.missing))

    def sent_share(self, times):
        """Of all arrivals, the share that the load generator sent in time, as far as is known.

        A request without a response tells nothing of when it was sent.
        """
        return 1 - stats.ratio(len(self.late), len(times))

    def percentile(self, percent, start, end):
        """Of the latencies of a span's arrivals, in seconds; what has no response is the latest."""
        latencies = [one.seconds for one in self.responses if start <= one.at < end]
        latencies += [float("inf") for at in self.missing if start <= at < end]
        return stats.percentile(latencies, percent)

    def cpu_share(self, start, end):
        """The server's CPU time in a span of time, to the span."""
        if len(self.cpu) < 2:
            return float("nan")
        end = min(end, self.cpu[-1][0])
        used = arrivals.value(self.cpu, end) - arrivals.value(self.cpu, start)
        return stats.ratio(used, end - start)


def replay(run, server, path, headers, times, timeout, late=LATE):
    """Sends a request at each of `times` (seconds), and waits `timeout` for the last response.

    One that goes out more than `late` seconds after its time was not sent as it was meant.
    """
    count = min(CONNECTIONS, math.ceil(len(times) / 4))
    shares = [times[start::count] for start in range(count)]
    folder = run.work / "replay"
    folder.mkdir(exist_ok=True)
    launched = time.time() + count * LAUNCH
    slow = run.learned.get(__name__, TIMER_LAG)
    loads = [start_load(run, server.url(path), headers, part, slow, folder / str(number), launched)
             for number, part in enumerate(shares)]
    before = sample.process_seconds(run.server_cpu)
    cpu = watch(server, loads, launched, times[-1] + timeout + 1)
    all_cpu = sample.process_seconds(run.server_cpu) - before
    for process, _ in loads:
        process.kill()
        process.wait()
    logs = [parse_log(log.read_text(encoding="ascii") if log.exists() else "", launched)
            for _, log in loads]
    # The programs take a moment to connect; what counts is when their first requests went out.
    lag = stats.median(min(one.at for one in rows) - part[0]
                       for rows, part in zip(logs, shares) if rows)
    lag = 0.0 if math.isnan(lag) else lag
    logs = [[dataclasses.replace(one, at=one.at - lag) for one in rows] for rows in logs]
    missing = [unanswered(part, rows) for rows, part in zip(logs, shares)]
    run.learned[__name__] = lag_of(slow, [found for rows, part, lost in zip(logs, shares, missing)
                                          if (found := drift_of(part, rows, lost)) is not None])
    delayed = [at for rows, part, lost in zip(logs, shares, missing)
               for at in sent_late(part, rows, lost, late)]
    missing = [at for lost in missing for at in lost]
    return Replayed(launched + lag, sorted((one for rows in logs for one in rows),
                                           key=lambda one: one.at), sorted(missing),
                    [(at - lag, used) for at, used in cpu], timeout, sorted(delayed),
                    foreign_share(cpu, all_cpu))


def start_load(run, url, headers, times, slow, base, launched):
    """Starts a program that sends at `times` after `launched`, which is yet to come.

    `slow` is what each of its timers adds.
    """
    script, log = base.with_suffix(".script"), base.with_suffix(".log")
    script.write_text("".join(f"{1000 * at:.3f}\t{url}\n" for at in timers(
        times, launched - time.time(), slow)), encoding="ascii")
    log.unlink(missing_ok=True)
    command = [tools.find("h2load"), "-t1", "-c1", f"-m{STREAMS}",
               f"--timing-script-file={script}", f"--log-file={log}"]
    for name, value in headers.items():
        command += ["-H", f"{name}: {value}"]
    return run.start(command, base.with_suffix(".out"), cpu=run.load_cpu), log


def timers(times, ahead, slow):
    """What to tell h2load so that it sends at `times`, `ahead` seconds from now being their 0."""
    told, due = [], 0.0
    for number, at in enumerate(times):
        due = max(due, ahead + at - number * slow)
        told.append(due)
    return told


def watch(server, loads, launched, patience):
    """The server's CPU over time, until all loads have ended or `patience` seconds are over."""
    cpu = []
    pids = sample.family(server.pids, sample.read_parents())
    while time.time() - launched < patience:
        cpu.append((time.time() - launched, sample.cpu_of(pids)))
        if all(process.poll() is not None for process, _ in loads):
            break
        server.run.still()
        time.sleep(CLOCK)
    return cpu


def foreign_share(cpu, all_cpu):
    """Of the server's CPU, what processes other than the server took while it was watched."""
    if len(cpu) < 2:
        return 0.0
    (began, first), (ended, last) = cpu[0], cpu[-1]
    return max(0.0, stats.ratio(all_cpu - (last - first), ended - began))


def parse_log(text, launched):
    """The responses in h2load's log: start (µs since the epoch), status, µs."""
    rows = (line.split("\t") for line in text.splitlines())
    return [Response(int(row[0]) / 1e6 - launched, int(row[2]) / 1e6, int(row[1]))
            for row in rows if len(row) >= 3 and row[2].isdigit()]


def unanswered(times, responses):
    """The arrivals without a response: as many as are missing, each the nearest to no start.

    The log has only what came to an end, and it names starts, not arrivals. Both are in order, and
    a start is never before its arrival.
    """
    starts = sorted(one.at for one in responses)
    missing, place = [], 0
    spare = len(times) - len(starts)
    for number, at in enumerate(times):
        following = times[number + 1] if number + 1 < len(times) else float("inf")
        # A start at or after the next arrival belongs to that one, as long as some are missing.
        if place < len(starts) and (spare == 0 or starts[place] < following):
            place += 1
        elif spare > 0:
            missing.append(at)
            spare -= 1
    return missing


def sent(times, responses, missing):
    """(arrival, when its request went out) of those that have a response."""
    gone = set(missing)
    return list(zip((at for at in times if at not in gone), sorted(one.at for one in responses)))


def sent_late(times, responses, missing, late):
    """The arrivals that have a response, and whose request went out `late` after its time."""
    return [at for at, start in sent(times, responses, missing) if start - at > late]


def drift_of(times, responses, missing):
    """How much later each request of one program went out than the one before; None of too few."""
    pairs = sent(times, responses, missing)
    if len(pairs) < LAG_TOLD_BY:
        return None
    (first, began), (last, ended) = pairs[0], pairs[-1]
    return ((ended - last) - (began - first)) / (len(pairs) - 1)


def lag_of(slow, drifts):
    """What a timer adds, where requests sent by `slow` drifted so."""
    return min(LAG_MOST, max(LAG_LEAST, slow + stats.median(drifts))) if drifts else slow
