"""What a response costs: a page again and again, a hundred in turn, and no two alike."""

import dataclasses

from benchkit import codecs, load, overhead, rounds, sample, stats, tools, verdict
from benchkit.once.origin import ALL_CODINGS, IDENTITY, SETUPS, STOCK, Leg

CLIENTS = 4
IN_TURN = 100
FIRST = 100  # requests in which a path's pages are found to be no two alike

ONE, HUNDRED, UNIQUE, NEW_PATH = "one page", f"{IN_TURN} in turn", "no two alike", "a new path"
WITH, WITHOUT = "gzip, cache", "gzip"
ALL = "all codings, cache"

# Of one module's code on both sides: what differs between two runs does so for both.
ALIKE = verdict.NO_DRIFT


def legs_of(origin, fronts):
    """The legs, each with the server's own name, and a pattern of paths."""
    found = []
    for name, httpd in fronts.items():
        setup = SETUPS[name]
        patterns = {ONE: "/page/1", HUNDRED: "/page/{}"}
        if name in (WITH, WITHOUT):
            patterns |= {UNIQUE: "/unique/x", NEW_PATH: "/unique/{}"}
        for pages, path in patterns.items():
            found.append(Leg(
                {"server": name, "pages": pages}, httpd, path,
                origin.body(path.format(1)) if path.startswith("/page") else b"",
                *((None, ALL_CODINGS) if name == ALL else (setup.coding, setup.accept))))
    return found


def check(origin, leg):
    """One response is what the origin wrote; the size of its body."""
    path = leg.path.format(1)
    if leg.body:
        return rounds.check(dataclasses.replace(leg, path=path))
    status, headers, body = leg.server.get(path, leg.headers)
    plain = codecs.decode(body, headers.get("Content-Encoding", ""))
    if status != 200 or not plain.endswith(origin.texts["page"]):
        raise tools.BenchError(f"{leg.name}: {path} gave {status}, and not the page")
    return len(body)


class Loads:
    """Loads a leg with as many requests as take about the scale's seconds."""

    def __init__(self, run, legs):
        self.run = run
        self.counts = {}
        self.calls = 0
        for leg in legs:
            self.counts[leg.name] = load.count_requests(
                dataclasses.replace(leg, path=leg.path.format(1)), CLIENTS, run.scale.seconds)
            if leg.labels["pages"] == HUNDRED:
                # What is stored first must have been seen before.
                for _ in range(3):
                    self.ask(leg, IN_TURN)

    def ask(self, leg, requests):
        self.calls += 1
        numbers = range(1, IN_TURN + 1) if leg.labels["pages"] == HUNDRED else (self.calls,)
        return load.h2load(self.run, None, leg.headers, CLIENTS, requests=requests,
                           urls=[leg.server.url(leg.path.format(number)) for number in numbers])

    def __call__(self, leg):
        return self.ask(leg, FIRST if leg.labels["pages"] == NEW_PATH else self.counts[leg.name])


def measure(run, origin, fronts):
    """A row for each leg and round."""
    legs = legs_of(origin, fronts)
    sizes = {leg.name: check(origin, leg) for leg in legs}
    generate = Loads(run, legs)
    rows = [{**leg.labels, "round": number, "sent_bytes": sizes[leg.name],
             **sample.measure(leg.server, generate, leg)}
            for number, leg in rounds.interleaved(run, legs)]
    return overhead.steady(rows, ("server", "pages"))


def net(rows, name, pages, most):
    """The verdict on CPU beyond identity's, to mod_deflate's."""
    of = [row for row in rows if row["pages"] == pages]
    one = verdict.judge_interval(
        f"{pages}, {name}: CPU beyond identity's, to {STOCK}'s", *overhead.ratio(
            of, {"server": name}, {"server": STOCK}, {"server": IDENTITY}),
        f"at most {most}", below=most, origin=verdict.AIM)
    least = overhead.is_least(of, {"server": name}, {"server": IDENTITY})
    return dataclasses.replace(one, limit="<" if least else "")


def judge(rows):
    def rate(name, pages):
        of = [row for row in rows if row["pages"] == pages]
        return verdict.compare(f"{pages}, {name}: requests a second, to identity's", of,
                               ({"server": name}, {"server": IDENTITY}), "rate", "at least 0.9",
                               above=0.9, origin=verdict.AIM)

    def alike(pages, most):
        of = [row for row in rows if row["pages"] == pages]
        return verdict.compare(f"{pages}: a response's CPU with the cache, to that without", of,
                               ({"server": WITH}, {"server": WITHOUT}), overhead.STEADY,
                               f"at most {most}", below=most, drift=ALIKE, origin=verdict.AIM)

    found = [net(rows, name, pages, most) for name in (WITH, ALL)
             for pages, most in ((ONE, 0.03), (HUNDRED, 0.04))]
    found += [rate(name, pages) for name in (WITH, ALL) for pages in (ONE, HUNDRED)]
    return found + [alike(UNIQUE, 1.03), alike(NEW_PATH, 1.10)]


def summarize(rows):
    """Medians, and the CPU beyond identity's."""
    middle = stats.medians(rows, ("server", "pages"), (
        "rate", overhead.STEADY, "sent_bytes", "memory_peak_kb"))
    found = []
    for (name, pages), figures in middle.items():
        base = middle.get((IDENTITY, pages), {}).get(overhead.STEADY)
        net_usec = round(figures[overhead.STEADY] - base, 1) if base else ""
        found.append({"server": name, "pages": pages, **figures, "net_usec": net_usec})
    return found
