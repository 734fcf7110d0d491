"""How soon a browser can use a response: segments until the first text; pages whose script
works."""

import importlib.util
import itertools
import re
import socket
import time

from benchkit import beside, codecs, corpus, differences, plot, stats, tools, web
from benchkit.findings import NOTHING, Finding, exact
from benchkit.http1 import Responses
from benchkit.results import Outcome
from benchkit.server import PATIENCE
from benchkit.setups import ANY_SIZE, CGI, mod_brotli, mod_deflate, ours
from codeckit import decoders
from codeckit.dictionaries import field, head

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
SCRIPTED = {**{f"elastic {coding} {level}": ours(coding, level)
               for coding, level in (("gzip", 6), ("br", 5), ("zstd", 3))},
            "mod_deflate 6": mod_deflate(6), "mod_brotli 5": mod_brotli(5)}


def fetch(one, path, fields):
    """[(seconds since the request, bytes)] of a response, as they arrive."""
    lines = {"Host": f"{one.address}:{one.port}", **fields}
    request = "".join([f"GET {path} HTTP/1.1\r\n",
                       *(f"{name}: {value}\r\n" for name, value in lines.items()), "\r\n"])
    parser, pieces = Responses(), []
    with socket.create_connection((one.address, one.port), PATIENCE) as connection:
        began = time.monotonic()
        connection.sendall(request.encode())
        while not any(complete for _, complete in parser.feed(pieces[-1][1] if pieces else b"")):
            data = connection.recv(1 << 16)
            if not data:
                raise tools.BenchError(f"{one.name} closed the connection")
            pieces.append((time.monotonic() - began, data))
    return pieces


def decoded(raw, coding, body, dictionary=b""):
    """(bytes of text after each piece of a response, bytes of its body); None if it came in another
    coding."""
    parser, left = Responses(), len(head("dcz", dictionary)) if coding == "dcz" else 0
    parts = [b"".join(part for part, _ in parser.feed(piece)) for piece in raw]
    if parser.status != 200:
        raise tools.BenchError(f"a page gave {parser.status}")
    if parser.fields.get(b"content-encoding", b"").decode() != coding:
        return None
    sent = sum(map(len, parts))
    for place, part in enumerate(parts):  # the dictionary's hash
        parts[place], left = part[left:], max(0, left - len(part))
    texts = list(decoders.in_pieces(coding, parts, dictionary))
    if b"".join(texts) != body:
        raise codecs.WrongBody("a page does not decode to what is served")
    return list(itertools.accumulate(map(len, texts))), sent


def reached(lengths, least):
    return next(place for place, length in enumerate(lengths) if length >= least)

DRIVER = tools.ROOT / "tests" / "httpd" / "kit" / "chromium.py"  # of the tests
LINKS = ((1.6, 150), (5, 40))  # Mbit/s; milliseconds of each request
HEAD = b'<!DOCTYPE html><html><head><title>t</title><link rel="stylesheet" href="style.css"></head>'
STYLE = b"body { color: #222 }\n"
FIGURES = """new Promise(done => {
    const all = () => {
        const painted = performance.getEntriesByName("first-paint")[0];
        const style = performance.getEntriesByType("resource")[0];
        const page = performance.getEntriesByType("navigation")[0];
        painted ? done([style.startTime, painted.startTime, page.responseEnd])
                : setTimeout(all, 20);
    };
    all();
})"""


def write_painted(site, name, text):
    plain = re.sub(rb"<(link|script|img)\b[^>]*>|(?:href|src)=\"[^\"]*\"", b"", text)
    (site / f"{name}.html").write_bytes(HEAD + plain[:len(text) - len(HEAD)])
    (site / "style.css").write_bytes(STYLE)


def painted(run, servers, path, rounds):
    spec = importlib.util.spec_from_file_location("chromium", DRIVER)
    driver = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(driver)
    if not driver.CHROMIUM:
        raise tools.BenchError("chromium-headless-shell is missing")
    rows = []
    with driver.Chromium(run.folder("chromium")) as browser:
        for (rate, delay), number in ((link, place) for link in LINKS for place in range(rounds)):
            for name, one in servers.items():
                page = browser.page()
                page.call("Network.enable")
                page.call("Network.emulateNetworkConditions", offline=False, latency=delay,
                          downloadThroughput=rate * 1e6 / 8, uploadThroughput=rate * 1e6 / 8)
                page.open(one.url(path))
                style, shown, last = page.run(FIGURES)
                rows.append({"link": f"{rate} Mbit/s, {delay} ms", "server": name, "round": number,
                             "style_ms": style, "painted_ms": shown, "last_ms": last})
            run.progress("Chromium")
    return rows


def segments(one, size, body, coding, fields, dictionary):
    raw = b"".join(data for _, data in fetch(one, f"/{size}.html", {
        "Accept-Encoding": coding, **fields}))
    cut = [raw[at:at + SEGMENT] for at in range(0, len(raw), SEGMENT)]
    lengths, sent = decoded(cut, coding, body, dictionary) or ([], 0)
    if not lengths:
        return None
    first, half = (1 + reached(lengths, least) for least in (1, len(body) / 2))
    return ({"coding": coding, "kb": size, "bytes": sent, "segments": len(cut), "first": first,
             "half": half}, [length / len(body) for length in lengths])


def each_server(run, site, dictionary, notes):
    """(name, server, coding, fields, dictionary); the server ends after its turn."""
    rows = {f"elastic {coding} {level}": beside.Row(ours(coding, level, ANY_SIZE), coding=coding)
            for coding, levels in LEVELS.items() for level in run.pick(levels[1:2], levels, levels)}
    rows |= {name: beside.ROWS[name] for name in run.pick(PEERS[:1], PEERS, PEERS)}
    for name, row, one in beside.make_each(run, rows, site, notes):
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


def timed(one, path, coding, body):
    """Seconds until the first text of a page, and until its end."""
    came = fetch(one, path, {"Accept-Encoding": coding})
    lengths, _ = decoded([data for _, data in came], coding, body)
    return came[reached(lengths, 1)][0], came[-1][0]


def head_of_files(run, site, bodies):
    """A row for each coding, size and way: milliseconds until the first text, and until the end."""
    rows = []
    for (coding, level), (way, line) in itertools.product(
            run.pick(HEADS[:1], HEADS, HEADS), WHOLE.items()):
        one = ours(coding, level, line).serve(run, run.new_name("httpd"), site=site).start()
        for number, size in itertools.product(range(run.pick(2, 9, 25)), (PAGE, LARGE)):
            first, last = timed(one, f"/{size}.html", coding, bodies[size])
            rows.append({"setup": f"{coding} {level}", "kb": size, "way": way, "round": number,
                         "first_ms": 1e3 * first, "last_ms": 1e3 * last})
        one.stop()
        run.progress("heads of files")
    return rows


def scripted(run, site, body):
    """A row for each setup: seconds until the first text of a page whose script works."""
    rows = []
    web.write_script(site / "page.cgi", SCRIPT.format(page=site / f"{PAGE}.html", work=WORK))
    for name, setup in SCRIPTED.items():
        if run.scale == "smoke" and "gzip" not in setup.coding:
            continue
        one = setup.serve(run, run.new_name("httpd"), CGI, ("cgid",), site=site).start()
        first, last = timed(one, "/page.cgi", setup.coding, body)
        rows.append({"setup": name, "first_seconds": round(first, 3),
                     "last_seconds": round(last, 3)})
        one.stop()
    return rows


def in_chromium(run, site, text, notes):
    write_painted(site, "painted", text)
    servers = {name: setup.serve(run, run.new_name("httpd"), site=site).start()
               for name, setup in SCRIPTED.items() if setup.is_ours}
    try:
        rows = painted(run, servers, "/painted.html", run.pick(1, 5, 15))
    except tools.BenchError as problem:
        notes.append(f"Not measured: Chromium: {problem}.")
        return
    run.save_table("chromium", rows)


def find(tables):
    rows, scripts = tables[""], tables["scripts"]

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


def summaries(tables):
    found = {"heads-summary": (
        stats.median_rows(tables["heads"], ("setup", "kb", "way"), ("first_ms", "last_ms")),
        "milliseconds until the first text of a file, and until its end, medians")}
    if "chromium" in tables:
        found["chromium-summary"] = (stats.median_rows(
            tables["chromium"], ("link", "server"), ("style_ms", "painted_ms", "last_ms")),
            "milliseconds until Chromium asks for the style sheet, paints, and is done, medians")
    return found


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
    run.save_table("heads", head_of_files(run, site, bodies))
    scripts = scripted(run, site, bodies[PAGE])
    run.save_table("scripts", scripts, "seconds until the first text of a page whose script works")
    if run.scale != "smoke":
        in_chromium(run, site, bodies[PAGE], notes)
    draw(run, shares)
    return Outcome("zstd-first", "A decoder has the first text of a zstd "
                   "response after {here} segments at the most.", conditions=notes)
