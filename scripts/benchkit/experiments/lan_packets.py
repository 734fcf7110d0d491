"""A 42 KB page and its 41 images over one pipelined connection of an Ethernet.

After "The Effect of HTML Compression on a LAN": packets and seconds of a first visit, plain and
compressed. Then what the one-segment threshold saves and costs for bodies of 200 bytes to 4 KB.
"""

from benchkit import (corpus, load, machine, net, plot, rounds, sample, server, stats, verdict,
                      web)
from benchkit.headline import Headline
from benchkit.outcome import Outcome
from benchkit.run import Scale
from benchkit.setups import KEPT, LEVEL_6, location
from benchkit.visit import Visitor

SUMMARY = "packets and seconds of a page with 41 images on an Ethernet, plain and compressed"
SOURCE = "“The Effect of HTML Compression on a LAN” (W3C)"
THERE = {"": "screen dumps of sequence numbers over time. Without compression the first segment "
             "has too few links for another batch of requests, and nothing is sent until a late "
             "acknowledgement; with it, requests follow at once. A table has 15 to 16 % fewer "
             "packets and 23 to 27 % less time"}
FIXED = "one page and its 41 images, one pipelined connection, MTU 1500, each link's rate"

SCALES = {"smoke": Scale(1, 0.02, only=2), "quick": Scale(7, 0.1), "full": Scale(30, 0.3, least=6)}
SECONDS = {"smoke": 5, "quick": 65, "normal": 130, "full": 260}

HEADLINE = Headline(
    "Does compressing a page save time on a LAN, where its images stay as they are?",
    "Yes, the visit takes less time.", "No, the visit takes as long.",
    "and time")

# The source's client, libwww: requests are gathered up to 1 KB, or for 50 ms. Two requests fill the
# small buffer: as many as the first segment of the compressed page has links.
BUFFER, SMALL_BUFFER, TIMER = 1024, 300, 0.05
# The source's figures, of its two servers: of packets, of time, and of time to packets.
PACKETS, TIME, TO_PACKETS = (0.84, 0.85), (0.73, 0.77), (0.87, 0.91)
RATES = ("10mbit", "100mbit", "1gbit")

# How systems start a connection: the source's (one segment, late acknowledgements), today's.
# And the client's buffer.
STARTS = {"as in 1997": (1, True, BUFFER), "as in 1997, small buffer": (1, True, SMALL_BUFFER),
          "as today": (None, False, BUFFER)}

VARIANTS = {"plain": plot.IDENTITY, "gzip": plot.GZIP, "kept": plot.KEPT}

# Bodies about the size of a segment: the largest that fits with its header is near 1200 bytes.
SMALL_BODIES = (200, 500, 1000, 1400, 2000, 3000, 4096)
# {variant: (folder, colour)}
THRESHOLDS = {"plain": ("identity", plot.IDENTITY), "always": ("each", plot.GZIP),
              "above one segment": ("threshold", plot.THRESHOLD)}

CLIENTS = 4

SNIPPET = (LEVEL_6 + "Alias /gzip {site}/plain\nAlias /each {site}/identity\n"
           "Alias /threshold {site}/identity\n" + location("/gzip") + KEPT
           + location("/each", "ElasticMinSize 0") + location("/threshold", "ElasticMinSize auto"))


def measure_visits(run, link, httpd, client, html):
    """(rows, {(start, variant): trace}) of every variant, start and rate in every round."""
    legs = [(rate, start, name) for rate in RATES[:run.scale.only or None]
            for start in STARTS for name in VARIANTS]
    rows, traces = [], {}
    for number, (rate, start, name) in rounds.interleaved(
            run, legs, is_enough=lambda: HEADLINE.is_narrow(judge_visits(rows))):
        window, delayed, buffer = STARTS[start]
        link.shape(rate)
        link.first_window(window)
        before = sum(link.client.counted())
        seen = client.visit(httpd, f"/{name}/page.html", html,
                            coding="" if name == "plain" else "gzip", images=web.IMAGES,
                            buffer=buffer, timer=TIMER, delayed=delayed, lead=net.lead(rate))
        seen["to_wire"] = net.to_wire(seen, rate)
        seen["interface_packets"] = sum(link.client.counted()) - before
        trace = seen.pop("trace")
        if rate == "100mbit":
            traces[start, name] = trace
        rows.append({"rate": rate, "start": start, "variant": name, "round": number, **seen})
    return rows, traces


def measure_threshold(run, link, httpd, client, texts):
    """Packets of one exchange and CPU per response, by body size, with and without threshold."""
    link.shape("1gbit")
    link.first_window(None)
    legs = [(size, name) for size in SMALL_BODIES[:run.scale.only or None] for name in THRESHOLDS]
    rows = []
    for number, (size, name) in rounds.interleaved(run, legs):
        path = f"/{THRESHOLDS[name][0]}/{size}.html"
        coding = "" if name == "plain" else "gzip"
        seen = client.visit(httpd, path, texts[size], coding=coding, small=True)
        figures = sample.measure(httpd, lambda: load.h2load(
            run, httpd.url(path), {"Accept-Encoding": coding or "identity"}, CLIENTS,
            seconds=run.scale.seconds, prefix=link.client.prefix))
        rows.append({"body_bytes": size, "variant": name, "round": number,
                     "segments_down": seen["segments_down"], "sent_bytes": seen["page_bytes"],
                     **figures})
    return rows


def judge_visits(rows):
    def ratios(figure, start="as in 1997", rates=RATES):
        members = [row for row in rows if row["start"] == start and row["rate"] in rates]
        return verdict.per_round(members, {"variant": "kept"}, {"variant": "plain"}, figure,
                                 ("rate",))

    def to_packets(start="as in 1997"):
        return [stats.ratio(time, count) for time, count in
                zip(ratios("seconds", start), ratios("packets", start))]

    return net.and_wire([
        # What is waited for is the link and the other side, not the CPU.
        verdict.judge(finding, found, reported, drift=verdict.NO_DRIFT, **bounds)
        for finding, found, reported, bounds in (
            ("compressing the page saves packets", ratios("packets"), "0.84 to 0.85 of them",
             {"below": 1, "origin": verdict.SOURCE, "there": PACKETS}),
            ("and time", ratios("seconds"), "0.73 to 0.77 of it",
             {"below": 1, "origin": verdict.SOURCE, "there": TIME}),
            ("a quarter of the time, about", ratios("seconds"), "0.73 to 0.77 of it",
             {"above": 0.65, "below": 0.85, "there": TIME, "origin": verdict.loosened(
                 verdict.SOURCE, "0.73 to 0.77", "its two servers, and as much on either side")}),
            ("more of the time than of the packets", to_packets(), "0.87 to 0.91",
             {"below": 1, "origin": verdict.SOURCE, "there": TO_PACKETS}),
            ("more, where the client's buffer is made so small that two requests fill it",
             to_packets("as in 1997, small buffer"), "0.87 to 0.91",
             {"below": 1, "origin": verdict.SOURCE, "there": TO_PACKETS}),
            ("because the first segment holds more of the page", ratios("first_text"),
             "about 3 times as much", {"above": 1.5, "there": (3, 3), "origin": verdict.loosened(
                 verdict.SOURCE, "3", "today's response headers take more of the segment")}),
            # Of a faster link, the time is that of the systems at its ends.
            ("on a system of today, too, it saves time at 10 and 100 Mbit/s",
             ratios("seconds", "as today", RATES[:2]), "nothing: its systems were those of 1997",
             {"below": 1}))], rows)


def judge_threshold(rows):
    """Within a segment nothing is lost by leaving the body alone, and CPU is saved."""
    alone = sorted({row["body_bytes"] for row in rows if row["variant"] == "above one segment"
                    and row["sent_bytes"] == row["body_bytes"]})
    within = [row for row in rows if row["body_bytes"] in alone]
    if not within:
        return [verdict.exact("bodies within one segment are left alone: how many", 0,
                              "no packet is saved", above=0, origin=verdict.SOURCE)]

    def compare(finding, figure, reported, **bounds):
        return verdict.compare(finding, within, ({"variant": "above one segment"},
                                                 {"variant": "always"}), figure, reported,
                               each=("body_bytes",), **bounds)

    return [
        compare(f"the threshold (up to {corpus.size_name(max(alone))}) costs no packet",
                "segments_down", "the same network cost below one MTU", above=0.95, below=1.05,
                drift=verdict.NO_DRIFT, origin=verdict.loosened(verdict.SOURCE, "1", "segments "
                                                                "are whole numbers")),
        compare("and saves CPU", "cpu_usec_per_response", "not given", below=1)]


def draw_traces(run, traces):
    """Bytes over time, as the source's plots have it; a dot is a frame, or several."""
    with plot.figure(run, "", "data and acknowledgements over time", len(STARTS), width=10,
                     height=3.8) as panels:
        for axes, start in zip(panels, STARTS):
            for name in ("plain", "kept"):
                trace = traces.get((start, name), ())
                down = plot.thin((time, sequence + payload) for time, is_down, sequence, payload
                                 in trace if is_down and payload)
                up = plot.thin((time, sequence) for time, is_down, sequence, _ in trace
                               if not is_down)
                for points, style, what, options in (
                        (down, ".-", "data", {"ms": 4, "lw": 0.7}),
                        (up, "|", "acknowledged", {"ms": 7})):
                    axes.plot([1e3 * time for time, _ in points],
                              [last / 1e3 for _, last in points], style, color=VARIANTS[name],
                              label=f"{name}: {what}", **options)
            axes.set(title=f"{start}, 100 Mbit/s", xlabel="ms", ylabel="KB from the server")
            axes.legend()


def draw_threshold(run, rows, sizes):
    figures = {"segments_down": "segments of a response",
               "cpu_usec_per_response": "CPU µs per response"}
    middle = stats.intervals(rows, ("body_bytes", "variant"), figures)
    diagrams = [plot.Panel(label, [
        plot.Curve(sizes, [middle[size, name][key] for size in sizes], name, colour, "o-")
        for name, (_, colour) in THRESHOLDS.items()]) for key, label in figures.items()]
    plot.panels(run, "threshold", "what the threshold saves and costs", "bytes of the body",
                diagrams, width=9)


def run(run):
    html, images, from_where = web.page_with_images(run)
    run.add_corpus("page", [html], corpus.document_origin(run))
    run.add_corpus("images", [body for _, body in images], from_where)
    link = net.make(run)
    httpd = server.Httpd(run, "httpd", SNIPPET, place=link.server.place)
    web.write_folders(httpd.site, [("page.html", html), *images], "plain", "kept")
    texts = {size: corpus.text(size) for size in SMALL_BODIES}
    web.write_folders(httpd.site, [(f"{size}.html", text) for size, text in texts.items()],
                      "identity")
    httpd.start()
    client = Visitor(run, link.client)
    run.begin_part(0.5)
    rows, traces = measure_visits(run, link, httpd, client, html)
    run.save_table("", rows)
    run.save_medians("summary", rows, ("rate", "start", "variant"),
                     ("packets", "packets_down", "interface_packets", "seconds", "payload",
                      "to_wire", "page_bytes", "first_text", "first_links", "longest_wait"),
                     "visits, medians")
    draw_traces(run, traces)
    run.begin_part(0.5)
    small = measure_threshold(run, link, httpd, client, texts)
    run.save_table("threshold", small)
    run.save_medians("threshold-summary", small, ("body_bytes", "variant"),
                     ("sent_bytes", "segments_down", "cpu_usec_per_response"),
                     "bodies about one segment, medians")
    draw_threshold(run, small, sorted({row["body_bytes"] for row in small}))
    text = "\n".join([
        machine.heading(run, "h2load", where="veth"),
        "Two network namespaces joined by veth: MTU 1500, no segmentation offload (the largest "
        f"captured frame had {max(row['largest_frame'] for row in rows)} bytes), no round trip "
        "time emulated. “As in 1997”: the server begins with one segment, the client acknowledges "
        "late; “as today”: the system's defaults. One connection, pipelined; requests wait for "
        f"{BUFFER} bytes of them ({SMALL_BUFFER} in the small buffer) or {1e3 * TIMER:.0f} ms. "
        "`kept` is a precompressed sibling."])
    return Outcome(text, judge_visits(rows) + judge_threshold(small), HEADLINE,
                   rounds.remarks(small))
