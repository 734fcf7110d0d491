"""Web files, one by one: with a new encoder for each, and with a kept one.

After "Gzip Performance for Go Webservers": files per second and the ratio of each level.
"""

from benchkit import codecs, plot, rounds, stats, web
from benchkit.findings import Finding, paired
from benchkit.results import Outcome
from codeckit import engines

TITLE = "web files: encoders made for each file and encoders kept, at each level"
SOURCE = "“Gzip Performance for Go Webservers”"
THERE = ("a chart with files per second upwards and the ratio to the right, a curve for each "
         "library: little is gained above level 5. That a writer made for each request loses about "
         "35 % is in the text.")
SETUP = ("The same web files in the same order, one thread, CPU time, each engine's own levels. "
         "`fresh`: an encoder is made for each file in memory fresh from the system; `remade`: in "
         "memory that was used before; `kept`: one encoder is set back.")
SECONDS = 3, 25, 70


def measure(run, bodies):
    """Rows of every engine, level and kind of context; every round visits all."""
    largest, total = max(map(len, bodies)), sum(map(len, bodies))
    legs = [(name, level, context, engine.make(level, largest, context == engines.KEPT))
            for name, engine in engines.installed().items() for level in engine.levels
            for context in engine.contexts]
    rows = []
    for number, (name, level, context, encoder) in rounds.interleaved(run, legs):
        with codecs.fresh_memory(context == engines.FRESH):
            out, seconds = codecs.encode_all(encoder, bodies)
        rows.append({"engine": name, "level": level, "context": context, "round": number,
                     "ratio": round(out / total, 5), "cpu_seconds": round(seconds, 6),
                     "files_per_second": round(stats.ratio(len(bodies), seconds), 1)})
    return rows


def find(rows):
    zlib = [row for row in rows if row["engine"] == "zlib"]
    kept = [row for row in zlib if row["context"] == engines.KEPT]
    sides = {"level": 9}, {"level": 5}
    return [
        Finding("fresh", "files a second, zlib's fresh encoders to kept ones", paired(
            zlib, {"context": engines.FRESH}, {"context": engines.KEPT}, "files_per_second",
            ("level",)), "0.65 times as many", (0.65, 0.65)),
        Finding("bytes", "zlib's bytes, level 9 to level 5", paired(kept, *sides, "ratio"),
                "“only very small gains” above level 5", (0.9, 1)),
        Finding("speed", "zlib's files a second, level 9 to level 5", paired(
            kept, *sides, "files_per_second"), "about 0.6 times", (0.6, 0.6))]


def draw(run, rows):
    middle = stats.intervals(rows, ("engine", "context", "level"), ("ratio", "files_per_second"))
    colours = dict(zip(engines.KINDS, (plot.GZIP, plot.KEPT, plot.THRESHOLD, plot.IDENTITY,
                                      plot.BR)))
    with plot.figure(run, "", "speed and ratio of each level", width=7, height=4.2) as (axes,):
        for engine, context in dict.fromkeys(key[:2] for key in middle):
            if context == engines.REMADE:
                continue  # near one of the others; the table has it
            points = [(figures["ratio"][0], figures["files_per_second"])
                      for (name, kind, _), figures in middle.items()
                      if (name, kind) == (engine, context)]
            plot.Curve([x for x, _ in points], [y for _, y in points], f"{engine}, {context}",
                       colours[engine], "o-" if context == engines.KEPT else "x--").draw(axes)
        axes.set(yscale="log", xlabel="bytes out / bytes in", ylabel="files per second of CPU")
        axes.legend(fontsize=7)


def run(run):
    files, origin = web.web_files(run, run.pick(12, 80, 160))
    bodies = [body for _, body in files]
    run.add_corpus("web files", bodies, origin)
    rows = measure(run, bodies)
    run.save_table("", rows)
    run.save_medians("summary", rows, ("engine", "level", "context"),
                     ("ratio", "files_per_second"))
    draw(run, rows)
    return Outcome(find(rows), "fresh", "An encoder made for each response serves {here} times as "
                   "many files as one that is kept: this module keeps them.",
                   f"{len(bodies)} files, {sum(map(len, bodies)) / len(bodies):.0f} bytes on "
                   "average.")
