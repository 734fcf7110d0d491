"""How soon a browser can use a response: the segments until a decoder has its first text, and half
of it; a Chromium behind a slow link; the time until the head of a large file leaves; and the part
of a page that arrives while its script still works."""

import itertools

from benchkit import beside, corpus, differences, painted, pieces, plot, tools
from benchkit.findings import NOTHING, Finding, exact
from benchkit.results import Outcome
from benchkit.setups import ANY_SIZE, mod_brotli, mod_deflate, ours
from codeckit.dictionaries import field

TITLE = "segments until the first text and half of it; pages whose script still works"
SOURCE = THERE = ""
SETUP = ("Responses over HTTP/1.1, with head and chunks, are cut into segments of 1,448 bytes, and "
         "each is given to a decoder. Levels are pinned. The script writes 8 KB, works for 0.6 s, "
         "writes 52 KB, works for 0.6 s, and writes the rest.")
SECONDS = 8, 45, 90

KB = corpus.KB
SEGMENT, AT_ONCE = 1448, 4  # bytes; segments that arrive together anyway
SIZES = (16, 36, 120, 300)  # KB
PAGE, LARGE = 120, 1024
DICTIONARY = "/dictionaries/site.dict"
LEVELS = {"gzip": (1, 6, 9), "br": (1, 5, 9), "zstd": (1, 3, 6, 9, 19)}
PEERS = ("mod_deflate 1", "mod_deflate 6", "mod_brotli 5", "nginx gzip 1", "nginx gzip 6",
         "lighttpd", "h2o", "Caddy")
DRAWN = {"elastic gzip 6": plot.GZIP, "elastic br 5": plot.BR, "elastic zstd 3": plot.KEPT,
         "lighttpd zstd": plot.THRESHOLD, "Caddy zstd": plot.IDENTITY}
WHOLE = {"whole": "", "streamed": "ElasticWholeBody 64K\n"}
HEADS = (("gzip", 6), ("gzip", 9), ("br", 6), ("zstd", 3), ("zstd", 9))
WORK = 0.6  # seconds
SCRIPT = """#!/bin/sh
printf 'Content-Type: text/html\\n\\n'
head -c 8192 {page}
sleep {work}
tail -c +8193 {page} | head -c 53248
sleep {work}
tail -c +61441 {page}
"""
CGI = """
ScriptSock {folder}/cgi.sock
<Directory {site}>
    Options ExecCGI
    AddHandler cgi-script .cgi
</Directory>
"""
SCRIPTED = {**{f"elastic {coding} {level}": ours(coding, level)
               for coding, level in (("gzip", 6), ("br", 5), ("zstd", 3))},
            "mod_deflate 6": mod_deflate(6), "mod_brotli 5": mod_brotli(5)}


def segments(one, size, body, coding, fields, dictionary):
    """(a row's figures, the share of the text after each segment); None if another coding came."""
    raw = b"".join(data for _, data in pieces.fetch(one, f"/{size}.html", {
        "Accept-Encoding": coding, **fields}))
    cut = [raw[at:at + SEGMENT] for at in range(0, len(raw), SEGMENT)]
    lengths, sent = pieces.decoded(cut, coding, body, dictionary) or ([], 0)
    if not lengths:
        return None
    first, half = (1 + pieces.reached(lengths, least) for least in (1, len(body) / 2))
    return ({"coding": coding, "kb": size, "bytes": sent, "segments": len(cut), "first": first,
             "half": half}, [length / len(body) for length in lengths])


def each_server(run, site, dictionary, notes):
    """(name, server, coding, fields, dictionary); the server ends after its turn."""
    rows = {f"elastic {coding} {level}": beside.Row(ours(coding, level, ANY_SIZE), coding=coding)
            for coding, levels in LEVELS.items() for level in run.pick(levels[1:2], levels, levels)}
    rows |= {name: beside.ROWS[name] for name in run.pick(PEERS[:1], PEERS, PEERS)}
    for name, row in rows.items():
        try:
            one = beside.make(run, name, row, site)
        except tools.BenchError as problem:
            notes.append(f"Not measured: {name}: {problem}.")
            continue
        for coding in (row.coding,) if row.coding else LEVELS:
            yield name if row.coding else f"{name} {coding}", one, coding, {}, b""
        one.stop()
    way = differences.WAYS["dcz 3"]
    yield "elastic dcz 3", differences.serve(run, site, way, [(DICTIONARY, "document")]), "dcz", {
        "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate",
        "Available-Dictionary": field(dictionary)}, dictionary


def by_segments(run, site, bodies, dictionary, notes):
    """A row for each server, coding and size; the shares of PAGE's text by server."""
    rows, shares = [], {}
    for name, one, coding, fields, known in each_server(run, site, dictionary, notes):
        for size in run.pick((PAGE,), SIZES, SIZES):
            found = segments(one, size, bodies[size], coding, fields, known)
            if found:
                rows.append({"server": name, **found[0]})
                shares |= {name: found[1]} if size == PAGE else {}
        run.progress(name)
    return rows, shares


def head_of_files(run, site, bodies):
    """A row for each coding, size and way: milliseconds until the first text, and until the end."""
    rows = []
    for (coding, level), (way, line) in itertools.product(
            run.pick(HEADS[:1], HEADS, HEADS), WHOLE.items()):
        one = ours(coding, level, line).serve(run, run.new_name("httpd"), site=site).start()
        for number, size in itertools.product(range(run.pick(2, 9, 25)), (PAGE, LARGE)):
            came = pieces.fetch(one, f"/{size}.html", {"Accept-Encoding": coding})
            lengths, _ = pieces.decoded([data for _, data in came], coding, bodies[size])
            rows.append({"setup": f"{coding} {level}", "kb": size, "way": way, "round": number,
                         "first_ms": 1e3 * came[pieces.reached(lengths, 1)][0],
                         "last_ms": 1e3 * came[-1][0]})
        one.stop()
        run.progress("heads of files")
    return rows


def scripted(run, site, body):
    """A row for each setup: seconds until the first text of a page whose script works."""
    script, rows = site / "page.cgi", []
    script.write_text(SCRIPT.format(page=site / f"{PAGE}.html", work=WORK), encoding="ascii")
    script.chmod(0o755)
    for name, setup in SCRIPTED.items():
        if run.scale == "smoke" and "gzip" not in setup.coding:
            continue
        one = setup.serve(run, run.new_name("httpd"), CGI, ("cgid",), site=site).start()
        came = pieces.fetch(one, "/page.cgi", {"Accept-Encoding": setup.coding})
        lengths, _ = pieces.decoded([data for _, data in came], setup.coding, body)
        rows.append({"setup": name, "first_seconds": round(came[pieces.reached(lengths, 1)][0], 3),
                     "last_seconds": round(came[-1][0], 3)})
        one.stop()
    return rows


def in_chromium(run, site, text, notes):
    """Saves the results of painted.loads() for this module's setups."""
    painted.write(site, "painted", text)
    servers = {name: setup.serve(run, run.new_name("httpd"), site=site).start()
               for name, setup in SCRIPTED.items() if setup.is_ours}
    try:
        rows = painted.loads(run, servers, "/painted.html", run.pick(1, 5, 15))
    except tools.BenchError as problem:
        notes.append(f"Not measured: Chromium: {problem}.")
        return
    run.save_medians("chromium", rows, ("link", "server"), ("style_ms", "painted_ms", "last_ms"),
                     "milliseconds until Chromium asks for the style sheet, paints, and is done")


def find(rows, scripts):
    def worst(column, *begins, of="one"):
        found = [row[column] / row.get(of, 1) for row in rows if row["server"].startswith(begins)
                 and row["segments"] > AT_ONCE]
        return exact(max(found)) if found else NOTHING

    def latest(name):
        return exact(max(row["first_seconds"] for row in scripts if row["setup"].startswith(name)))

    return [
        *(Finding(f"{coding}-first", f"segments until the first text, {coding}, the most",
                  worst("first", f"elastic {coding}"), "at most 2", aim=(0, 2))
          for coding in (*LEVELS, "dcz")),
        Finding("half", "share of the segments until half of the text, zstd and dcz, the most",
                worst("half", "elastic zstd", "elastic dcz", of="segments"),
                "at most 0.75", aim=(0, 0.75)),
        *(Finding(f"{name}-zstd", f"segments until the first text, zstd, {name}",
                  worst("first", f"{name} zstd"), note="it cannot be had here")
          for name in ("lighttpd", "Caddy")),
        Finding("script", "seconds until the first text of the script's page, this module",
                latest("elastic"), f"less than {WORK}", aim=(0, WORK)),
        Finding("script-stock", "the same, mod_deflate and mod_brotli", latest("mod_"))]


def draw(run, shares):
    with plot.figure(run, "", f"{PAGE} KB: share of the text after each segment") as (axes,):
        for name in filter(shares.get, DRAWN):
            plot.Curve(range(len(shares[name]) + 1), [0, *shares[name]], name, DRAWN[name],
                       step=True).draw(axes)
        axes.set(xlabel="segments", ylabel="share of the text", ylim=(0, None))
        axes.legend()


def run(run):
    text, origin = corpus.document((LARGE + 512) * KB, run)
    bodies = {size: text[:size * KB] for size in (*SIZES, LARGE)}
    run.add_corpus("pages", bodies.values(), origin)
    site, notes, dictionary = run.folder("pages-served"), [], text[-512 * KB:]
    for size, body in bodies.items():
        differences.put(site, f"/{size}.html", body)
    differences.put(site, DICTIONARY, dictionary)
    rows, shares = by_segments(run, site, bodies, dictionary, notes)
    run.save_table("", rows, "segments of a response until the first text and half of it")
    heads = head_of_files(run, site, bodies)
    run.save_medians("heads", heads, ("setup", "kb", "way"), ("first_ms", "last_ms"),
                     "milliseconds until the first text of a file, and until its end, medians")
    scripts = scripted(run, site, bodies[PAGE])
    run.save_table("scripts", scripts, "seconds until the first text of a page whose script works")
    if run.scale != "smoke":
        in_chromium(run, site, bodies[PAGE], notes)
    draw(run, shares)
    return Outcome(find(rows, scripts), "zstd-first", "A decoder has the first text of a zstd "
                   "response after {here} segments at the most.", conditions=notes)
