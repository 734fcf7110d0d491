"""This module, mod_deflate, mod_brotli and nginx: CPU, requests, bytes and memory by size.

Static pages of 1 KB to 1 MB. Compression CPU is a server's CPU per response less that of the same
server's identity. The targets are this project's own.
"""

from benchkit import (build, corpus, load, machine, nginx, overhead, plot, position, rounds,
                      server, stats, streaming, tools, verdict)
from benchkit.headline import Headline
from benchkit.outcome import Outcome
from benchkit.run import Scale
from benchkit.setups import ANY_SIZE, NOTHING, mod_brotli, mod_deflate, ours

SUMMARY = "this module, mod_deflate, mod_brotli and nginx: CPU, req/s, bytes, 1 KB to 1 MB"
SOURCE = ""
FIXED = "the same page of each size, closed loop over HTTP/1.1, one server at a time"

# Many short legs rather than few long ones: what is compared is measured within a second.
SCALES = {"smoke": Scale(1, 0.005, only=2), "quick": Scale(10, 0.04, only=6),
          "full": Scale(40, 0.1, least=6)}
SECONDS = {"smoke": 5, "quick": 127, "normal": 350, "full": 600}

HEADLINE = Headline(
    "Does this module's gzip 6 take as little of mod_deflate's CPU as is aimed at?",
    "Yes, the aim is reached.", "No, the aim is not reached.",
    "elastic gzip 6: compression CPU to mod_deflate 6")

KB = corpus.KB
TARGET_SIZES = (1, 4, 16, 64, 120, 300)
SIZES = (*TARGET_SIZES, 32, 512, 1024)  # KB; quick runs take the first ones
STREAMED = 1024  # KB of the page that a handler writes
CLIENTS = 4
GZIP = "gzip on;\ngzip_min_length 0;\ngzip_comp_level {level};\n"

HELD = """
Elastic On
ElasticMinSize 0
ElasticControl external
ElasticPosition {path}
"""
ALL_CODINGS = "zstd, br, gzip"
# Of eight: about where the ladder gives a client of all codings mod_deflate 6's bytes.
POSITIONS = (4, 4.33, 4.67, 5)
POSITION_TOP = 8

# A target is: sizes' geometric mean of compression CPU and of bytes, to those of a peer.
TARGETS = (
    # leg, peer, CPU at most, bytes at most
    ("elastic gzip 6", "mod_deflate 6", 0.36, 1.00),
    ("elastic gzip 1", "mod_deflate 1", 0.18, 1.00),
    ("elastic, all codings, at mod_deflate 6's bytes", "mod_deflate 6", 0.22, 1.00),
    ("elastic gzip 6, zlib alone", "mod_deflate 6", 0.68, 1.00),
    ("elastic br 5", "mod_brotli 5", 0.50, 1.00),
)
RATE_TARGETS = ((16, 1.1), (64, 1.9), (120, 1.9), (300, 1.9))  # KB; req/s to nginx gzip 6
BEST_POSITION = TARGETS[2][0]

# What rounding may add to a mean of bytes that is to be no larger.
TIE = 1.0005


def make_servers(run, site):
    """{name: (server, coding, Accept-Encoding)} of everything that is available here, and notes."""
    made = {}

    def add(name, setup, accept="gzip"):
        made[name] = setup.serve(run, name, site=site), setup.coding, accept

    add("httpd identity", NOTHING)
    for level in (1, 6):
        add(f"elastic gzip {level}", ours("gzip", level, ANY_SIZE))
        add(f"mod_deflate {level}", mod_deflate(level))
    add("elastic br 5", ours("br", 5, ANY_SIZE), "br")
    notes = []
    for more in (lambda: add("mod_brotli 5", mod_brotli(5), "br"),
                 lambda: made.update(make_nginx(run, site)),
                 lambda: made.update(make_positions(run, site)),
                 lambda: made.update(make_zlib(run, site))):
        try:
            more()
        except tools.BenchError as problem:
            notes.append(str(problem))
    return made, notes


def make_nginx(run, site):
    tools.find("nginx")
    made = {"nginx identity": (nginx.Nginx(run, "nginx", "", site=site), "", "gzip")}
    for level in (1, 6):
        made[f"nginx gzip {level}"] = (nginx.Nginx(
            run, f"nginx-{level}", GZIP.format(level=level), site=site), "gzip", "gzip")
    return made


def leg_of(held):
    return f"elastic, all codings, position {held:g}"


def make_positions(run, site):
    if not server.built_in(run, "zstd"):
        raise tools.BenchError("the module has no zstd built in")
    made = {}
    for held in POSITIONS:
        path = run.work / f"{held:g}.position"
        path.write_bytes(position.encode(held, POSITION_TOP))
        path.chmod(0o644)
        made[leg_of(held)] = (server.Httpd(run, f"position-{held:g}", HELD.format(path=path),
                                           site=site), None, ALL_CODINGS)
    return made


def make_zlib(run, site):
    return {"elastic gzip 6, zlib alone": (
        ours("gzip", 6, ANY_SIZE).serve(run, "zlib-alone", site=site,
                                        elastic=build.zlib_alone(run)), "gzip", "gzip")}


def identity_of(name):
    """The leg whose CPU is subtracted from a server's."""
    return {"server": "nginx identity" if name.startswith("nginx") else "httpd identity"}


def summarize(rows):
    """{(server, size): figures}: medians, and the compression CPU."""
    middle = stats.medians(rows, ("server", "size"), (
        "sent_bytes", "rate", "cpu_usec_per_response", overhead.STEADY, "memory_peak_kb"))
    for (name, size), figures in middle.items():
        base = middle[identity_of(name)["server"], size][overhead.STEADY]
        figures["compression_usec"] = round(figures[overhead.STEADY] - base, 1)
    return middle


def with_bytes_sent(rows):
    """The rows; where setups were mixed, each with the mean of the bytes that went out."""
    return [{**row, "sent_bytes": round(stats.ratio(row["ElasticBytesOut"],
                                                    row["ElasticCompressed"]), 1)}
            if row["server"].startswith("elastic, all codings") else row for row in rows]


def mean_bytes(rows, name, peer):
    """A server's bytes to another's: of medians, a geometric mean over the targets' sizes."""
    middle = stats.medians(rows, ("server", "size"), ("sent_bytes",))
    return stats.geometric_mean(
        [figures["sent_bytes"] / middle[peer, size]["sent_bytes"]
         for (server_name, size), figures in middle.items()
         if server_name == name and size in TARGET_SIZES])


def add_best_position(rows):
    """The lowest position whose mean of bytes is no more than mod_deflate 6's, under that name.

    Where none is, the highest: its bytes say so.
    """
    present = {row["server"] for row in rows}
    measured = [name for name in map(leg_of, POSITIONS) if name in present]
    best = next((name for name in measured if mean_bytes(rows, name, "mod_deflate 6") <= TIE),
                measured[-1] if measured else None)
    return rows + [{**row, "server": BEST_POSITION} for row in rows if row["server"] == best]


def prepared(rows):
    return add_best_position(overhead.steady(with_bytes_sent(rows), ("server", "size")))


def judge(rows):
    """A verdict for each target; sizes other than the targets' are left out."""
    rows = [row for row in rows if row["size"] in TARGET_SIZES]
    present = {row["server"] for row in rows}
    found = []
    for leg, peer, cpu, sent in TARGETS:
        if not {leg, peer} <= present:
            found.append(verdict.impossible(f"{leg}: CPU and bytes to {peer}", f"at most {cpu}",
                                            "one of them cannot be had here"))
            continue
        sides = {"server": leg}, {"server": peer}
        found += [
            verdict.judge_interval(f"{leg}: compression CPU to {peer}", *overhead.ratio(
                rows, *sides, identity_of(leg), ("size",)), f"at most {cpu}", below=cpu,
                origin=verdict.AIM),
            verdict.exact(f"{leg}: bytes to {peer}", mean_bytes(rows, leg, peer),
                          f"at most {sent:.2f}", below=sent * TIE, origin=verdict.loosened(
                              verdict.AIM, f"{sent:.2f}", "by what rounding may add"))]
    for size, least in RATE_TARGETS:
        finding = f"{size} KB: requests per second at level 6 to nginx gzip 6"
        of = [row for row in rows if row["size"] == size]
        found.append(
            verdict.compare(finding, of, ({"server": "elastic gzip 6"}, {"server": "nginx gzip 6"}),
                            "rate", f"at least {least}", above=least, origin=verdict.AIM)
            if "nginx gzip 6" in present
            else verdict.impossible(finding, f"at least {least}", "it was not measured"))
    return found


def draw(run, rows, middle, sizes):
    spread = stats.intervals(rows, ("server", "size"), ("rate", "sent_bytes", overhead.STEADY))

    def of_figure(key, name, size):
        """A server's (middle, low, high); noise may leave less than a logarithmic scale has."""
        if key != "compression_usec":
            return spread[name, size][key]
        base = middle[identity_of(name)["server"], size][overhead.STEADY]
        return tuple(max(one - base, 0.5) for one in spread[name, size][overhead.STEADY])

    names = [name for name in dict.fromkeys(name for name, _ in middle)
             if not name.endswith("identity") and name != BEST_POSITION]
    panels = (("compression_usec", "compression, CPU µs per response"),
              ("rate", "requests per second"), ("sent_bytes", "bytes"))
    colour = {"elastic": plot.GZIP, "mod_deflate": plot.IDENTITY, "mod_brotli": plot.BR,
              "nginx": plot.KEPT}
    with plot.figure(run, "", "by size", len(panels), width=12, height=4.4) as all_axes:
        for axes, (key, label) in zip(all_axes, panels):
            for name in names:
                at = [size for size in sorted(sizes) if (name, size) in middle]
                mark = "o" if "gzip" in name or "deflate" in name else "s"
                plot.Curve(at, [of_figure(key, name, size) for size in at], name,
                           colour[name.split()[0].rstrip(",")],
                           mark + ("--" if name.endswith("1") else "-")).draw(axes)
            axes.set_xscale("log", base=2)
            axes.set(yscale="log", xlabel="KB of the page", ylabel=label)
        all_axes[0].legend(fontsize=6)


def run(run):
    sizes = SIZES[:run.scale.only or None]
    text = corpus.document(max(sizes) * KB, run)
    bodies = {size: text[:size * KB] for size in sizes}
    run.add_corpus("pages", bodies.values(), corpus.document_origin(run))
    site = run.folder("pages-served")
    for size, body in bodies.items():
        (site / f"{size}.html").write_bytes(body)
    servers, notes = make_servers(run, site)
    for one, _, _ in servers.values():
        one.start()
    legs = [rounds.Leg({"server": name, "size": size}, one, f"/{size}.html", body, coding, accept)
            for size, body in bodies.items() for name, (one, coding, accept) in servers.items()]
    run.begin_part(0.9)
    rows = prepared(rounds.measure(run, legs, load.fixed_counts(run, legs, CLIENTS),
                                   lambda rows: HEADLINE.is_narrow(judge(prepared(rows)))))
    run.save_table("", rows)
    middle = summarize(rows)
    run.save_table("summary", [{"server": name, "kb": size, **figures}
                                           for (name, size), figures in middle.items()],
                   "medians")
    draw(run, rows, middle, sizes)
    for one, _, _ in servers.values():
        one.stop()
    run.begin_part(0.05)
    streams = streaming.measure_streams(run, corpus.document(
        min(STREAMED, 16 * max(sizes)) * KB, run))
    run.save_table("streams", streams, "a streamed page")
    run.begin_part(0.05)
    siblings = streaming.measure_siblings(run, bodies[max(bodies)])
    run.save_table("siblings", siblings, "siblings")
    return Outcome(
        "\n".join([machine.heading(run, "h2load", *(["nginx"] if "nginx identity" in servers
                                                    else [])),
                   f"Pages of {', '.join(map(str, sorted(sizes)))} KB, {CLIENTS} clients over "
                   "HTTP/1.1, each leg a fixed number of requests; one response of each leg "
                   "was decoded and compared.", *(f"Not measured: {note}." for note in notes)]),
        judge(rows) + streaming.judge(streams, siblings), HEADLINE,
        rounds.remarks(rows + streams + siblings))
