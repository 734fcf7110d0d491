"""Arrivals replayed to a server: an open loop, in which no response delays the next request.

h2load sends at the times of a script; several of them, each with one connection of many streams,
share the arrivals. A response that takes longer than `timeout`, or never comes, has failed: a user
would have left.
"""

import dataclasses
import math
import time

from benchkit import arrivals, load, sample, stats, tools

# The more connections share the arrivals, the longer are the pauses of each; few arrivals take few.
CONNECTIONS, ARRIVALS = 16, 16
STREAMS = 1000  # of a connection, so that none waits for another; see SNIPPET
SNIPPET = """
H2MaxSessionStreams 1000
"""

CLOCK = 0.1  # seconds between two measurements of the server's CPU
LAUNCH = 0.02  # seconds that it takes to start one of the programs, at most
# h2load's timers wake it late, because the kernel counts in milliseconds, and each counts from the
# one before: so much, in seconds, is what each adds at first, and what is subtracted beforehand.
# Each replay measures it more exactly for those after it.
TIMER_LAG = 0.00065
LAG_LEAST, LAG_MOST = 0.0, 0.002
LAG_REQUESTS = 50  # of one program, at least, for such a measurement
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

    def failures(self, start, end):
        """How many of the arrivals in a span of time had no response in time."""
        return (sum(start <= one.at < end and self.failed(one) for one in self.responses)
                + sum(start <= at < end for at in self.missing))

    def failed_share(self, start, end):
        """Their share of the arrivals in that span."""
        arrived = sum(start <= at < end for at in
                      [*(one.at for one in self.responses), *self.missing])
        return stats.ratio(self.failures(start, end), arrived)

    def sent_share(self, times):
        """Of all arrivals, the share that the load generator sent in time, as far as is known.

        Of a request without a response it is not known when it was sent.
        """
        return 1 - stats.ratio(len(self.late), len(times))

    def percentile(self, percent, start, end):
        """Of the latencies of a span's arrivals, in seconds; what has no response is the latest."""
        latencies = [one.seconds for one in self.responses if start <= one.at < end]
        latencies += [math.inf for at in self.missing if start <= at < end]
        return stats.percentile(latencies, percent)

    def percentile_ms(self, percent, start, end):
        return round(1e3 * self.percentile(percent, start, end), 2)

    def cpu_share(self, start, end):
        return cpu_share(self.cpu, start, end)


class Sender:
    """One h2load that sends its share of the arrivals, from `launched` on, which is yet to come.

    `base` is a path for its files; `lag` is what each of its timers adds.
    """

    def __init__(self, run, base, times, command, launched, lag):
        *command, url = command
        script, self.log = base.with_suffix(".script"), base.with_suffix(".log")
        script.write_text("".join(f"{1000 * at:.3f}\t{url}\n" for at in timers(
            times, launched - time.time(), lag)), encoding="ascii")
        self.log.unlink(missing_ok=True)
        self.times = times
        self.process = run.start([*command, f"--timing-script-file={script}",
                                  f"--log-file={self.log}"],
                                 base.with_suffix(".out"), cpu=run.load_cpu)

    def end(self, launched):
        """Ends it and reads its log."""
        self.process.kill()
        self.process.wait()
        self.responses = parse_log(self.log.read_text(encoding="ascii") if self.log.exists()
                                   else "", launched)

    def shift(self, seconds):
        """Sets the responses' times so much earlier, and finds the arrivals that have none."""
        self.responses = [dataclasses.replace(one, at=one.at - seconds) for one in self.responses]
        self.missing = unanswered(self.times, self.responses)


def replay(server, url, headers, times, timeout, late=LATE):
    """Sends a request at each of `times` (seconds), and waits `timeout` for the last response.

    One that goes out more than `late` seconds after its time was not sent as it was meant.
    """
    run = server.run
    folder = run.work / "replay"
    folder.mkdir(exist_ok=True)
    count = min(CONNECTIONS, math.ceil(len(times) / ARRIVALS))
    launched = time.time() + count * LAUNCH
    lag = TIMER_LAG if run.timer_lag is None else run.timer_lag
    command = [tools.find("h2load"), "-t1", "-c1", f"-m{STREAMS}",
               *load.header_options("-H", headers), url]
    senders = [Sender(run, folder / str(number), times[number::count], command, launched, lag)
               for number in range(count)]
    before = sample.process_seconds(run.server_cpu)
    cpu = watch(server, senders, launched, times[-1] + timeout + 1)
    all_cpu = sample.process_seconds(run.server_cpu) - before
    for one in senders:
        one.end(launched)
    # The programs take a moment to connect; what counts is when their first requests went out.
    delays = [min(seen.at for seen in one.responses) - one.times[0] for one in senders
              if one.responses]
    delay = stats.median(delays) if delays else 0.0
    for one in senders:
        one.shift(delay)
    run.timer_lag = lag_of(lag, [drift_of(one.times, one.responses, one.missing)
                                 for one in senders])
    return Replayed(
        launched + delay,
        sorted((seen for one in senders for seen in one.responses), key=lambda seen: seen.at),
        sorted(at for one in senders for at in one.missing),
        [(at - delay, used) for at, used in cpu], timeout,
        sorted(at for one in senders
               for at in sent_late(one.times, one.responses, one.missing, late)),
        foreign_share(cpu, all_cpu))


def timers(times, ahead, lag):
    """What h2load is given so that it sends at `times`, `ahead` seconds from now being their 0."""
    given, due = [], 0.0
    for number, at in enumerate(times):
        due = max(due, ahead + at - number * lag)
        given.append(due)
    return given


def watch(server, senders, launched, patience):
    """The server's CPU over time, until all have ended or `patience` seconds are over."""
    cpu = []
    pids = sample.family(server.pids, sample.read_parents())
    while time.time() - launched < patience:
        cpu.append((time.time() - launched, sample.cpu_of(pids)))
        if all(one.process.poll() is not None for one in senders):
            break
        server.run.still_running()
        time.sleep(CLOCK)
    return cpu


def cpu_share(cpu, start, end):
    """The server's CPU time in a span of time, to the span."""
    if len(cpu) < 2:
        return math.nan
    end = min(end, cpu[-1][0])
    used = arrivals.value(cpu, end) - arrivals.value(cpu, start)
    return round(stats.ratio(used, end - start), 3)


def foreign_share(cpu, all_cpu):
    """Of the server's CPU, what processes other than the server took while it was watched."""
    if len(cpu) < 2:
        return 0.0
    (began, first), (ended, last) = cpu[0], cpu[-1]
    return round(max(0.0, stats.ratio(all_cpu - (last - first), ended - began)), 3)


def parse_log(text, launched):
    """The responses in h2load's log, their times since the launch."""
    return [Response(start / 1e6 - launched, usec / 1e6, status)
            for start, status, usec in load.parse_h2load_log(text)]


def unanswered(times, responses):
    """The arrivals without a response: as many as are missing, each the nearest to no start.

    The log has only what came to an end, and it names starts, not arrivals. Both are in order, and
    a start is never before its arrival.
    """
    starts = sorted(one.at for one in responses)
    missing, place = [], 0
    spare = len(times) - len(starts)
    for at, following in zip(times, [*times[1:], math.inf]):
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
    if len(pairs) < LAG_REQUESTS:
        return None
    (first, began), (last, ended) = pairs[0], pairs[-1]
    return ((ended - last) - (began - first)) / (len(pairs) - 1)


def lag_of(lag, drifts):
    """What a timer adds, where requests sent by `lag` drifted so; None of too few."""
    known = [drift for drift in drifts if drift is not None]
    return min(LAG_MOST, max(LAG_LEAST, lag + stats.median(known))) if known else lag
