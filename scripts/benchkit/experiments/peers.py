"""This module beside the stock modules and other servers, and in mod_deflate's place."""

from benchkit import corpus, load, overhead, plot, rounds, stats, web
from benchkit.beside import (
    BASE, DROP_IN, IN_PLACE, NGINX_BASE, PREFORK, ROWS, ZLIB, make_each)
from benchkit.findings import Finding, compare, exact, number, paired
from benchkit.results import Outcome
from benchkit.setups import ALL_CODINGS

TITLE = "this module, the stock modules and other servers: bytes, CPU, pages a second, memory"
SOURCE = THERE = ""
SETUP = ("Each server on one CPU with all that is behind it, four clients in a closed loop over "
         "HTTP/1.1; compression CPU is a server's CPU per response less that of the same server "
         "without compression. A row without a level is what the server does where compression is "
         "turned on and nothing else is said; the client takes gzip, br and zstd, and gzip alone "
         "where the row says gzip.")
SECONDS = 25, 150, 290

KB = corpus.KB
SIZES = (1, 4, 16, 64, 120, 300)  # KB
PAGE = 120
CLIENTS = 4
ALL_SIZES = (BASE, NGINX_BASE, ZLIB, "elastic gzip 1", "elastic gzip 6", "elastic br 5", "elastic",
             "mod_deflate 1", "mod_deflate 6", "mod_brotli 5", "nginx gzip 1", "nginx gzip 6",
             BASE + PREFORK, f"elastic gzip 6{PREFORK}", f"mod_deflate 6{PREFORK}")


# (key, leg, peer, the aim of its CPU)
TARGETS = (("gzip-6", "elastic gzip 6", "mod_deflate 6", 0.36),
           ("gzip-1", "elastic gzip 1", "mod_deflate 1", 0.18),
           ("prefork", f"elastic gzip 6{PREFORK}", f"mod_deflate 6{PREFORK}", 0.36),
           ("zlib", ZLIB, "mod_deflate 6", 0.68), ("br-5", "elastic br 5", "mod_brotli 5", 0.50),
           ("nginx-6", "elastic gzip 6", "nginx gzip 6", 1.0),
           ("nginx-1", "elastic gzip 1", "nginx gzip 1", 1.0))
EQUAL = 1.005  # a ratio that is printed as 1.00


def base_of(name):
    """The leg whose CPU is subtracted from a server's."""
    return {"server": NGINX_BASE if name.startswith("nginx") else
            BASE + PREFORK * name.endswith(PREFORK)}


def find(tables):
    rows = tables[""]
    present = {row["server"] for row in rows}
    found = []
    for key, leg, peer, most in TARGETS:
        text = f"compression CPU, {leg} to {peer}, 1 to 300 KB"
        if not {leg, peer} <= present:
            found.append(Finding(key, text, note="one of them cannot be had here"))
            continue
        sides = {"server": leg}, {"server": peer}
        found += [
            overhead.finding(key, text, rows, *sides, (base_of(leg), base_of(peer)), ("size",),
                             there=f"at most {number(most)}", aim=(0, most)),
            Finding(f"{key}-bytes", "bytes of these", exact(
                paired(rows, *sides, "sent_bytes", ("size",))[0]), "at most 1.00",
                aim=(0, EQUAL))]
    return found + [
        compare([row for row in rows if row["size"] == PAGE], f"in-place-{key}",
                f"{text}, this module in mod_deflate's place to it, defaults",
                {"server": IN_PLACE}, {"server": DROP_IN}, column, "at most 1", aim=(0, most),
                note="fewer than 20 responses beyond it in a round" if key == "p95" else "")
        for key, text, column, most in (
            ("bytes", "bytes", "sent_bytes", EQUAL),
            ("cpu", "CPU of a response", "cpu_usec_per_response", 1),
            ("memory", "memory of the server at work", "memory_peak_kb", 1),
            ("p95", "p95 of latency", "p95_ms", 1))]


FIGURES = ("rate", "sent_bytes", "cpu_usec_per_response", "p95_ms", "memory_peak_kb",
           overhead.STEADY)


def summaries(tables):
    middle = stats.medians(tables[""], ("server", "size"), FIGURES)

    def by_size(caption, figure):
        rows = {name: {"server": name} for name in ALL_SIZES}
        for (name, size), one in middle.items():
            base = middle.get((base_of(name)["server"], size))
            if name in ALL_SIZES and base:
                rows[name][f"{size} KB"] = figure(one, base)
        return [row for row in rows.values() if len(row) > 1], caption

    return {
        "page": ([{"server": name, "bytes": one["sent_bytes"],
                   "pages_per_second": round(one["rate"]), "cpu_usec": one["cpu_usec_per_response"],
                   "p95_ms": one["p95_ms"], "memory_kb": one["memory_peak_kb"]}
                  for (name, size), one in middle.items() if size == PAGE],
                 f"a page of {PAGE} KB from every server, medians"),
        "sizes": by_size("µs of CPU for compression, by the page's size, medians",
                         lambda one, base: round(one[overhead.STEADY] - base[overhead.STEADY], 1)),
        "sizes-bytes": by_size("bytes, by the page's size, medians",
                               lambda one, base: one["sent_bytes"])}


def draw(run, rows):
    """Pages a second and bytes of the page from every server."""
    figures = {}
    for (name, size), of in stats.group(rows, "server", "size").items():
        if size == PAGE:
            rates, sent = [one["rate"] for one in of], of[0]["sent_bytes"] / 1e3
            figures[name] = (stats.median(rates), min(rates), max(rates)), (sent,)
    figures = dict(sorted(figures.items(), key=lambda one: -one[1][0][0]))
    with plot.figure(run, "", f"a page of {PAGE} KB: pages a second of one CPU, and bytes", 2,
                     plot.WIDTH, plot.HEAD + plot.ROW * len(figures)) as pair:
        plot.dotted(pair, figures, (
            ("pages a second:\nrange of rounds", plot.ticks(300, 3000, 30_000)),
            ("KB sent", plot.ticks(30, 60, 120))), plot.BLUE_AND_ORANGE,
            lambda name: name.startswith("elastic"))


def run(run):
    text, origin = corpus.document(max(SIZES) * KB, run)
    bodies = {size: text[:size * KB] for size in run.pick((PAGE,), SIZES, SIZES)}
    run.add_corpus("pages", bodies.values(), origin)
    site = run.folder("pages-served")
    for size, body in bodies.items():
        (site / f"{size}.html").write_bytes(body)
    servers, notes = {}, []
    for name, row, one in make_each(run, ROWS, site, notes):
        servers[name] = one
        if row.kept and one.name == "httpd":
            web.wait_cached(one, [f"/{PAGE}.html"], row.kind.accept)
        for _ in range(3 if row.kept else 0):  # some store what is asked for again
            one.get(f"/{PAGE}.html", {"Accept-Encoding": ALL_CODINGS})
    # A default leaves a body alone that fits a segment.
    legs = [rounds.Leg({"server": name, "size": size}, one, f"/{size}.html", body,
                       ROWS[name].coding, ALL_CODINGS if ROWS[name].coding is None else
                       ROWS[name].coding or "identity")
            for size, body in bodies.items() for name, one in servers.items()
            if size == PAGE or name in ALL_SIZES]
    rows = overhead.steady(load.closed(
        run, legs, CLIENTS, run.pick(.005, .05, .1), lambda leg: load.TAIL * (
            leg.labels["size"] == PAGE and run.scale == "normal")), ("server", "size"))
    run.save_table("", rows)
    draw(run, rows)
    return Outcome("gzip-6", "gzip 6 takes {here} of mod_deflate 6's CPU for the same "
                   "bytes.", conditions=[*notes, *rounds.remarks(rows, "server")],
                   tools=tuple(dict.fromkeys(["h2load", *(one.name for one in servers.values()
                                                          if one.name != "httpd")])))
