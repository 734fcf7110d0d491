"""A 300 KB page: as it is, compressed for each request, at the first one, and beforehand.

After "gzip encoding and compress middleware": wrk, 100 connections, 10 seconds.
"""

from benchkit import corpus, load, machine, plot, rounds, server, stats, verdict, web
from benchkit.headline import Headline
from benchkit.outcome import Outcome
from benchkit.run import Scale
from benchkit.setups import CACHE, CACHED, KEPT, LEVEL_6, location

SUMMARY = "a 300 KB page: plain, compressed for each request, once, precompressed"
SOURCE = "“gzip encoding and compress middleware” (2013)"
THERE = {"": "no figure; what wrk printed: 1381 requests a second plain, 225 compressed for each "
             "request, 2078 precompressed"}
FIXED = "one page of 345 KB, gzip level 6, 100 connections in a closed loop"

SCALES = {"smoke": Scale(1, 0.55), "quick": Scale(8, 0.75), "full": Scale(40, 1, least=6)}
SECONDS = {"smoke": 6, "quick": 33, "normal": 70, "full": 140}

HEADLINE = Headline(
    "Is a page served less often where it is compressed for each request?",
    "Yes, less often than plain.", "No, no less often than plain.",
    "compressed for each request, the page is served less often than plain")

PAGE_BYTES = 305826  # of the source's play, of which gzip left 0.298
CONNECTIONS = 100
REPORTED = {"plain": 1380.67, "each time": 224.70, "kept": 2078.08}  # req/s

SNIPPET = LEVEL_6 + location("/each") + CACHED + KEPT

FOLDERS = {"plain": "plain", "each time": "each", "cached": "cached", "kept": "kept"}


def lengths(legs):
    """{variant: whether the response has a Content-Length}."""
    return {leg.labels["variant"]:
            leg.server.get(leg.path, leg.headers)[1].get("Content-Length") is not None
            for leg in legs}


def judge(rows, has_length):
    def compare(finding, over, under, origin=verdict.SOURCE, **bounds):
        reported = "as often"
        if over in REPORTED:
            there = REPORTED[over] / REPORTED[under]
            bounds["there"] = there, there
            reported = f"{verdict.number(there)} times as often"
        return verdict.compare(finding, rows, ({"variant": over}, {"variant": under}), "rate",
                               reported, origin=origin, **bounds)

    return [
        compare("compressed for each request, the page is served less often than plain",
                "each time", "plain", below=1),
        compare("precompressed, it is served more often than plain", "kept", "plain", above=1),
        compare("precompressed, it is served several times as often as compressed each time",
                "kept", "each time", verdict.loosened(verdict.SOURCE, "9.25", "by how much depends "
                                                      "on the encoder"), above=2),
        compare("compressed at the first request, it is served as often as precompressed",
                "cached", "kept", verdict.AIM, above=0.95),
        verdict.exact("the sibling says its length", float(has_length["kept"]), "it does", above=0,
                      origin=verdict.SOURCE),
        verdict.exact("the page compressed for each request says no length",
                      float(has_length["each time"]), "it says none", below=1,
                      origin=verdict.SOURCE)]


def draw(run, rows, middle):
    spread = stats.intervals(rows, ("variant",), ("rate",))
    with plot.figure(run, "", "requests per second, and bytes", 2, 8, 3.2) as (rates, traffic):
        colours = (plot.IDENTITY, plot.GZIP, plot.CACHED, plot.KEPT)
        plot.bars(rates, list(FOLDERS), [spread[name,]["rate"] for name in FOLDERS],
                  color=colours)
        base = middle["plain",]["rate"] / REPORTED["plain"]
        rates.plot(list(REPORTED), [REPORTED[name] * base for name in REPORTED], "k_", ms=30,
                   label="the source, scaled to plain")
        rates.set_ylabel("requests per second")
        rates.legend()
        traffic.bar(list(FOLDERS), [middle[name,]["sent_bytes"] / 1e3 for name in FOLDERS],
                    color=colours)
        traffic.set_ylabel("KB of a response")


def run(run):
    body, origin = corpus.article(PAGE_BYTES, run)
    run.add_corpus("page", [body], origin)
    httpd = server.Httpd(run, "httpd", SNIPPET, CACHE, threads=CONNECTIONS)
    web.write_folders(httpd.site, [("page.html", body)], *FOLDERS.values())
    httpd.start()
    legs = [rounds.Leg({"variant": name}, httpd, f"/{folder}/page.html", body,
                       "" if name == "plain" else "gzip", "gzip")
            for name, folder in FOLDERS.items()]
    has_length = lengths(legs)
    web.wait_cached(httpd, ["/cached/page.html"])
    rows = rounds.measure(run, legs, lambda leg: load.wrk(
        run, leg.url, leg.headers, run.scale.seconds, CONNECTIONS),
        lambda rows: HEADLINE.is_narrow(judge(rows, has_length)))
    run.save_table("", rows)
    middle = stats.medians(rows, ("variant",), ("rate", "sent_bytes", "cpu_usec_per_response",
                                                "p50_ms", "memory_peak_kb"))
    run.save_table("summary", [
        {"variant": name, "says_its_length": "yes" if has_length[name] else "no",
         **figures, "source_rate": REPORTED.get(name)} for (name,), figures in middle.items()],
                   "medians")
    draw(run, rows, middle)
    text = "\n".join([
        machine.heading(run, "wrk"),
        f"A page of {len(body)} bytes that gzip level 6 makes {corpus.gzip_size(body)}; "
        f"{CONNECTIONS} connections, closed loop. The source: 1381 req/s plain, 225 compressed "
        "for each request, 2078 precompressed."])
    return Outcome(text, judge(rows, has_length), HEADLINE, rounds.remarks(rows, "variant"))
