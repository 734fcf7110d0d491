"""Web files, one by one: with an encoder made for each and with one kept.

After "Gzip Performance for Go Webservers": files per second and the ratio of each level, in the
codec alone and through httpd, where mod_deflate makes an encoder for each response.
"""

from benchkit import (build, codecs, load, machine, overhead, plot, rounds, sample, stats, tools,
                      verdict, web)
from benchkit.headline import Headline
from benchkit.outcome import Outcome
from benchkit.run import Scale
from benchkit.setups import ANY_SIZE, NOTHING, mod_deflate, ours
from codeckit import engines

SUMMARY = "web files: encoders made for each file and encoders kept, at each level"
SOURCE = "“Gzip Performance for Go Webservers”"
THERE = {"": "a chart with files per second upwards and the ratio to the right, a curve for each "
             "library: little is gained above level 5, and the library in C is the fastest. That "
             "a writer made for each request loses about 35 % is in the text"}
FIXED = "the same web files in the same order, one thread, each engine's own levels"

SCALES = {"smoke": Scale(1, 0, only=12), "quick": Scale(8, 0, only=80),
          "full": Scale(50, 0, only=160, least=5)}  # the source: 50, all files
SECONDS = {"smoke": 2, "quick": 45, "normal": 200, "full": 400}

HEADLINE = Headline("Are fewer files compressed a second where each has an encoder made for it?",
                    "Yes, fewer than with encoders that are kept.",
                    "No, as many as with encoders that are kept.",
                    "zlib: fresh encoders serve fewer files than kept ones")

CLIENTS = 4
SERVED_LEVELS = (1, 6)
ZLIB = "mod_elastic, zlib alone"


def measure_codecs(run, bodies):
    """Rows of every engine, level and kind of context; every round visits all."""
    largest = max(map(len, bodies))
    legs = [(name, level, context, engine.make(level, largest, context == engines.KEPT))
            for name, engine in engines.installed().items() for level in engine.levels
            for context in engine.contexts]
    total = sum(map(len, bodies))
    rows = []
    for number, (name, level, context, encoder) in rounds.interleaved(run, legs):
        with codecs.fresh_memory(context == engines.FRESH):
            out, seconds = codecs.encode_all(encoder, bodies)
        rows.append({"engine": name, "level": level, "context": context,
                     "round": number, "files": len(bodies), "bytes_in": total, "bytes_out": out,
                     "ratio": round(out / total, 5), "cpu_seconds": round(seconds, 6),
                     "files_per_second": round(stats.ratio(len(bodies), seconds), 1)})
    return rows


def measure_servers(run, files):
    """Rows of serving every file once or more often, by module and level."""
    site = run.folder("files")
    paths = []
    for number, (name, body) in enumerate(files):
        paths.append(f"/{number}.{name.rpartition('.')[2]}")
        (site / paths[-1][1:]).write_bytes(body)
    setups = {("identity", 0): NOTHING}
    for level in SERVED_LEVELS:
        setups["mod_elastic", level] = ours("gzip", level, ANY_SIZE)
        setups["mod_deflate", level] = mod_deflate(level)
    legs = [(module, level, setup.serve(run, f"{module}-{level}", site=site).start())
            for (module, level), setup in setups.items()] + serve_zlib(run, site)
    rows = []
    for number, (module, level, httpd) in rounds.interleaved(run, legs):
        # Every client asks for every file in turn.
        figures = sample.measure(httpd, lambda: load.h2load(
            run, None, {"Accept-Encoding": "gzip"}, CLIENTS, requests=CLIENTS * len(paths),
            urls=[httpd.url(path) for path in paths]))
        rows.append({"module": module, "level": level, "round": number, **figures})
    return overhead.steady(rows, ("module", "level"))


def serve_zlib(run, site):
    """The legs of this module with the engine that mod_deflate has; none where it cannot be had."""
    try:
        module = build.zlib_alone(run)
    except tools.BenchError as problem:
        run.say(f"{run.name}: {problem}")
        return []
    return [(ZLIB, level, ours("gzip", level, ANY_SIZE).serve(
        run, f"zlib-{level}", site=site, elastic=module).start()) for level in SERVED_LEVELS]


def judge_codecs(rows):
    """Fresh against kept, over zlib's levels; and what the levels above 5 bring."""
    zlib = [row for row in rows if row["engine"] == "zlib"]
    fresh = verdict.per_round(zlib, {"context": "fresh"}, {"context": "kept"}, "files_per_second",
                              ("level",))
    kept = [row for row in zlib if row["context"] == "kept"]
    return [
        verdict.judge("zlib: fresh encoders serve fewer files than kept ones", fresh,
                      "0.65 times as many", below=0.95, there=(0.65, 0.65),
                      origin=verdict.loosened(verdict.SOURCE, "0.65", "whether there is a loss; "
                                              "the next finding is on how large")),
        verdict.judge("as few as the source saw", fresh, "0.65 times as many",
                      above=0.5, below=0.75, there=(0.65, 0.65), origin=verdict.loosened(
                          verdict.SOURCE, "0.65", "as far on either side as its levels differ")),
        verdict.exact("zlib: little is gained above level 5", stats.ratio(
            *(stats.median(row["bytes_out"] for row in kept if row["level"] == level)
              for level in (9, 5))), "“only very small gains”", above=0.97),
        verdict.compare("zlib: level 9 serves far fewer files than level 5", kept,
                        ({"level": 9}, {"level": 5}), "files_per_second", "about 0.6 times",
                        below=0.8, there=(0.6, 0.6), origin=verdict.loosened(
                            verdict.SOURCE, "0.6", "“far fewer”"))]


def judge_servers(rows):
    """Of one engine, zlib: others take less time whether they are kept or not."""
    bounds = {"below": 0.95, "there": (0.65, 0.65), "origin": verdict.loosened(
        verdict.SOURCE, "0.65", "whether there is a gain")}
    return [verdict.judge_interval(
        f"level {level} through httpd: this module's kept encoders, zlib's, take less CPU than "
        "mod_deflate's fresh ones", *overhead.ratio(
            rows, {"module": ZLIB, "level": level}, {"module": "mod_deflate", "level": level},
            {"module": "identity"}), "0.65 with kept ones", **bounds) for level in SERVED_LEVELS]


def draw(run, rows):
    """Speed upwards, ratio to the right, as the source's chart has it."""
    middle = stats.intervals(rows, ("engine", "context", "level"),
                             ("ratio", "files_per_second"))
    colours = dict(zip(engines.KINDS, (plot.GZIP, plot.KEPT, plot.THRESHOLD, plot.IDENTITY,
                                      plot.BR)))
    with plot.figure(run, "", "speed and ratio of each level", width=7, height=4.2) as (axes,):
        for engine, context in dict.fromkeys(key[:2] for key in middle):
            if context == engines.REMADE:
                continue  # near one of the others; the table has it
            points = [(figures["ratio"][0], figures["files_per_second"], level)
                      for (name, kind, level), figures in middle.items()
                      if (name, kind) == (engine, context)]
            plot.Curve([x for x, _, _ in points], [y for _, y, _ in points],
                       f"{engine}, {context}", colours[engine],
                       "o-" if context == engines.KEPT else "x--").draw(axes)
            for x, y, level in points if context == engines.KEPT else ():
                axes.annotate(level, (x, y[0]), textcoords="offset points", xytext=(3, 3),
                              fontsize=7)
        axes.set(yscale="log", xlabel="bytes out / bytes in", ylabel="files per second of CPU")
        axes.legend(fontsize=7)


def run(run):
    files = web.web_files(run)
    bodies = [body for _, body in files]
    run.add_corpus("web files", bodies, web.web_files_origin(run))
    run.begin_part(0.6)
    rows = measure_codecs(run, bodies)
    run.save_table("", rows)
    run.save_medians("summary", rows, ("engine", "level", "context"),
                     ("ratio", "files_per_second"), "codec alone, medians")
    draw(run, rows)
    run.begin_part(0.4)
    served = measure_servers(run, files)
    run.save_table("httpd", served)
    run.save_medians("httpd-summary", served, ("module", "level"),
                     ("rate", "cpu_usec_per_response", "bytes_per_response", "memory_peak_kb"),
                     "through httpd, medians")
    text = "\n".join([
        machine.heading(run, "h2load"),
        f"{len(bodies)} files, {sum(map(len, bodies)) / len(bodies):.0f} bytes on average, one "
        "after the other. In the codec alone: one thread, CPU time of this process. Through httpd: "
        f"every file, {CLIENTS} clients. An encoder is `fresh` where it is made for each file in "
        "memory fresh from the system, `remade` where it is made in memory used before."])
    return Outcome(text, judge_codecs(rows) + judge_servers(served), HEADLINE,
                   rounds.remarks(served))
