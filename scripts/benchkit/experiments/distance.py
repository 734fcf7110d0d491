"""A page over a long way: what compression saves where time goes in round trips.

A page of 120 KB from a new connection, over links with round trips of 20 and 100 ms and losses of 0
and 1 %, which a proxy in user space has. A window of TCP's grows with each round trip, so that what
counts is how many windows a body takes.
"""

import contextlib

from benchkit import codecs, corpus, distance, machine, plot, rounds, stats, tools, verdict
from benchkit.headline import Headline
from benchkit.outcome import Outcome
from benchkit.run import Scale
from benchkit.setups import NOTHING, ours

SUMMARY = "a page over 20 and 100 ms, with losses: identity, levels and codings"
SOURCE = ""
FIXED = "one page of 120 KB, a new connection for each, the losses of a round"

SCALES = {"smoke": Scale(2, 0, only=1), "quick": Scale(5, 0), "full": Scale(60, 0, least=6)}
SECONDS = {"smoke": 3, "quick": 30, "normal": 120, "full": 240}
ALONE = ("quick",)

HEADLINE = Headline(
    "Does a compressed page arrive in three quarters of the time over 100 ms?",
    "Yes, or sooner.", "No, later.",
    "100 ms: gzip 6, time of a page to identity's")

PAGE_BYTES = 120 * corpus.KB
LINKS = ((0.020, 0.0), (0.100, 0.0), (0.020, 0.01), (0.100, 0.01))  # (round trip, loss)
IDENTITY = "identity"
SETUPS = {IDENTITY: NOTHING, "gzip 1": ours("gzip", 1), "gzip 6": ours("gzip", 6),
          "zstd 3": ours("zstd", 3), "br 5": ours("br", 5)}


def name_of(rtt, loss):
    return f"{1000 * rtt:.0f} ms" + (f", {100 * loss:.0f} % lost" if loss else "")


def measure(run, servers):
    """A row for each setup, link and round."""
    links = LINKS[:run.scale.only or None]
    rows = []
    for number, ((rtt, loss), name) in rounds.interleaved(
            run, [(link, name) for link in links for name in servers],
            is_enough=lambda: HEADLINE.is_narrow(judge(rows))):
        httpd = servers[name]
        # The same losses for all, in each round others.
        link = distance.Link((httpd.address, httpd.port), rtt, loss, seed=number)
        with contextlib.closing(link):
            first, last, received = distance.visit(
                link, "/page.html", {"Accept-Encoding": SETUPS[name].accept})
        rows.append({"link": name_of(rtt, loss), "rtt_ms": 1000 * rtt, "loss": loss,
                     "setup": name, "round": number, "first_byte_ms": round(1e3 * first, 2),
                     "last_byte_ms": round(1e3 * last, 2), "bytes": received,
                     "round_trips": round(last / rtt, 2)})
    return rows


def judge(rows):
    found = []
    for rtt, loss in ((0.100, 0.0), (0.020, 0.0), (0.100, 0.01)):
        here = [row for row in rows if row["link"] == name_of(rtt, loss)]
        found.append(verdict.compare(
            f"{name_of(rtt, loss)}: gzip 6, time of a page to identity's", here,
            ({"setup": "gzip 6"}, {"setup": IDENTITY}), "last_byte_ms", "fewer round trips",
            below=0.75, drift=verdict.NO_DRIFT))
    far = [row for row in rows if row["link"] == name_of(0.100, 0.0)]
    ratios = verdict.per_round(far, {"setup": "gzip 1"}, {"setup": "gzip 6"}, "last_byte_ms")
    return found + [verdict.same("100 ms: gzip 1, time of a page to gzip 6's", ratios)]


def draw(run, rows):
    spread = stats.intervals(rows, ("link", "setup"), ("last_byte_ms",))
    names = list(dict.fromkeys(row["link"] for row in rows))
    colours = (plot.IDENTITY, plot.GZIP, plot.KEPT, plot.THRESHOLD, plot.BR)
    with plot.figure(run, "", "time of a page over a long way", 1, 8, 3.6) as axes_:
        axes, = axes_
        plot.grouped_bars(axes, names, {
            setup: (colour, [spread[name, setup]["last_byte_ms"] for name in names])
            for setup, colour in zip(SETUPS, colours)})
        axes.set_ylabel("ms from the connection to the last byte")
        axes.legend()


def run(run):
    body = corpus.document(PAGE_BYTES, run)
    run.add_corpus("page", [body], corpus.document_origin(run))
    site = run.folder("pages")
    (site / "page.html").write_bytes(body)
    servers = {}
    for name, setup in SETUPS.items():
        servers[name] = setup.serve(run, name, site=site).start()
        _, headers, sent = servers[name].get("/page.html", {"Accept-Encoding": setup.accept})
        if codecs.decode(sent, headers.get("Content-Encoding", "")) != body:
            raise tools.BenchError(f"{name}: the page does not decode to what is served")
    rows = measure(run, servers)
    run.save_table("", rows)
    run.save_medians("summary", rows, ("link", "setup"),
                     ("first_byte_ms", "last_byte_ms", "round_trips", "bytes"))
    draw(run, rows)
    text = "\n".join([
        machine.heading(run),
        f"A page of {PAGE_BYTES // corpus.KB} KB by HTTP/1.1 without TLS, each on a connection of "
        f"its own, through a proxy that has the link: a first window of {distance.FIRST_WINDOW} "
        f"segments of {distance.SEGMENT} bytes, slow start, and after a loss half of the window. "
        "Its bandwidth is loopback's."])
    return Outcome(text, judge(rows), HEADLINE)
