"""A 42 KB page and its 41 images over one pipelined connection of an Ethernet.

After "The Effect of HTML Compression on a LAN": packets and seconds of a first visit, plain and
compressed. The client acts like a starting browser: see visit.py.
"""

from benchkit import link, plot, rounds, server, stats, web
from benchkit.findings import Finding, exact, paired, per_round
from benchkit.results import Outcome
from benchkit.setups import KEPT, LEVEL_6, location
from benchkit.visit import Visitor

TITLE = "packets and seconds of a page with 41 images on an Ethernet, plain and compressed"
SOURCE = "“The Effect of HTML Compression on a LAN” (W3C)"
THERE = ("screen dumps of sequence numbers over time. Without compression the first segment has "
         "too few links for another batch of requests, and nothing is sent until a late "
         "acknowledgement; with it, requests follow at once. A table has 15 to 16 % fewer packets "
         "and 23 to 27 % less time.")
SETUP = ("One page and its 41 images over one pipelined connection; two network namespaces joined "
         "by veth: MTU 1500, no segmentation offload, no distance. “As in 1997” the server begins "
         "with one segment and the client acknowledges late; “as today” has the system's defaults, "
         "of which ten segments hold the whole compressed page. Requests wait for 1024 bytes of "
         "them (300 in the small buffer) or 50 ms.")
SECONDS = 6, 40, 90

# The source's client, libwww: requests are gathered up to 1 KB, or for 50 ms. Two requests fill the
# small buffer: as many as the compressed page's first segment has links.
BUFFER, SMALL_BUFFER, TIMER = 1024, 300, 0.05
RATES = ("10mbit", "100mbit", "1gbit")
# How systems start a connection: the source's (one segment, late acknowledgements), today's; and
# the client's buffer.
OLD, SMALL, TODAY = "as in 1997", "as in 1997, small buffer", "as today"
STARTS = {OLD: (1, True, BUFFER), SMALL: (1, True, SMALL_BUFFER), TODAY: (None, False, BUFFER)}
VARIANTS = {"plain": plot.IDENTITY, "gzip": plot.GZIP, "kept": plot.KEPT}
SNIPPET = LEVEL_6 + "Alias /gzip {site}/plain\n" + location("/gzip") + KEPT


def measure(run, joined, httpd, client, html):
    """(rows, {(start, variant): trace}) of every variant, start and rate in every round."""
    legs = [(rate, start, name) for rate in RATES[:run.pick(2, 3, 3)]
            for start in STARTS for name in VARIANTS]
    rows, traces = [], {}
    for number, (rate, start, name) in rounds.interleaved(run, legs):
        window, delayed, buffer = STARTS[start]
        joined.shape(rate)
        joined.first_window(window)
        seen = client.visit(httpd, f"/{name}/page.html", html,
                            coding="" if name == "plain" else "gzip", images=web.IMAGES,
                            buffer=buffer, timer=TIMER, delayed=delayed, lead=link.lead(rate))
        trace = seen.pop("trace")
        if rate == RATES[1]:
            traces[start, name] = trace
        rows.append({"rate": rate, "start": start, "variant": name, "round": number, **seen})
    return rows, traces


def find(rows):
    def compare(key, text, figure, start, there, source=()):
        return Finding(key, text, paired(
            [row for row in rows if row["start"] == start], {"variant": "kept"},
            {"variant": "plain"}, figure, ("rate",)), there, source)

    old = [row for row in rows if row["start"] == OLD]
    sides = {"variant": "kept"}, {"variant": "plain"}
    each = [stats.ratio(time, count) for time, count in zip(
        per_round(old, *sides, "seconds", ("rate",)), per_round(old, *sides, "packets", ("rate",)))]

    def links(name, start=OLD):
        return exact(stats.median(row["first_links"] for row in rows
                                  if (row["variant"], row["start"]) == (name, start)))

    return [
        compare("packets", "packets of the visit, compressed to plain", "packets", OLD,
                "0.84 to 0.85", (0.84, 0.85)),
        compare("time", "time of the visit, compressed to plain", "seconds", OLD, "0.73 to 0.77",
                (0.73, 0.77)),
        Finding("each", "time a packet, compressed to plain", stats.interval(each),
                "0.87 to 0.91", (0.87, 0.91)),
        compare("small", "time with a small buffer, compressed to plain", "seconds", SMALL,
                "a tenth less than with the large one"),
        compare("today", "time as connections start today, compressed to plain", "seconds", TODAY,
                ""),
        Finding("links-plain", "links in the first segment of the plain page", links("plain"),
                "too few for a batch of requests"),
        Finding("links-kept", "links in the first segment of the compressed page", links("kept"),
                "enough for a batch of requests")]


def draw(run, traces):
    with plot.figure(run, "", f"bytes of the server over time, {RATES[1]}", len(STARTS), 12,
                     3.4) as all_axes:
        for axes, start in zip(all_axes, STARTS):
            for name, colour in VARIANTS.items():
                points = plot.thin((1e3 * at, (sequence + size) / 1e3) for at, down, sequence, size
                                   in traces.get((start, name), ()) if down and size)
                axes.plot([x for x, _ in points], [y for _, y in points], "-", lw=1,
                          color=colour, label=name)
            axes.set(title=start, xlabel="ms", ylabel="KB sent by the server")
        all_axes[0].legend()


def run(run):
    html, images, origin = web.page_with_images(run)
    run.add_corpus("page", [html], origin)
    run.add_corpus("images", [body for _, body in images], "random bytes")
    joined = link.make(run)
    httpd = server.Httpd(run, "httpd", SNIPPET, place=joined.server.place)
    web.write_folders(httpd.site, [("page.html", html), *images], "plain", "kept")
    httpd.start()
    rows, traces = measure(run, joined, httpd, Visitor(run, joined.client), html)
    run.save_table("", rows)
    run.save_medians("summary", rows, ("rate", "start", "variant"),
                     ("packets", "packets_down", "seconds", "page_bytes", "first_links",
                      "longest_wait"))
    draw(run, traces)
    return Outcome(find(rows), "time", "With one segment at the start, a visit whose page is "
                   "compressed takes {here} times as long; its images stay as they are.")
