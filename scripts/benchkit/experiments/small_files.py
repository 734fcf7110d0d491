"""Eleven text files of 1 KB to 1 MB over HTTP/2: identity against gzip.

After "Why Compressing Small Files is a Bad Idea": h2load, 20 clients, each file with and without
gzip. The source's server kept the compressed files; here gzip is measured three ways: made for
each response, made only above the one-segment threshold, and kept as precompressed siblings.
"""

import subprocess
import sys

from benchkit import corpus, load, machine, plot, rounds, server, stats, tools, verdict, web
from benchkit.outcome import Outcome
from benchkit.run import Scale

SUMMARY = "identity against gzip for files of 1 KB to 1 MB over HTTP/2 (req/s, bytes)"
SOURCE = "“Why Compressing Small Files is a Bad Idea”"

SCALES = {"smoke": Scale(1, 0.02, only=4), "quick": Scale(10, 0.08), "normal": Scale(12, 0.8),
          "full": Scale(6, 20)}
SECONDS = {"smoke": 3, "quick": 65, "normal": 500, "full": 5400}

CLIENTS = 20

LINK_SECONDS = 0.5  # of a leg on a link, at the least

SMALL = 32 * corpus.KB  # the source: identity wins up to here, gzip above

NOISE = 0.02  # ratios nearer to 1 than this are ties

# The level is pinned, so that the controller has no part in the figures.
SNIPPET = """
ElasticLevel gzip 6 6
Alias /gzip {folder}/site/identity
Alias /threshold {folder}/site/identity
<Location /identity>
    Elastic Off
</Location>
<Location /gzip>
    Elastic On
    ElasticMinSize 0
</Location>
<Location /threshold>
    Elastic On
    ElasticMinSize auto
</Location>
<Location /kept>
    Elastic On
    ElasticPrecompressed On
</Location>
"""

VARIANTS = {
    "identity": ("identity", plot.IDENTITY),
    "kept": ("gzip, kept sibling", plot.KEPT),
    "gzip": ("gzip, each time", plot.GZIP),
    "threshold": ("gzip, each time, above one segment", plot.THRESHOLD),
}


def fill_site(site, files):
    """The files once as they are and once with the siblings that scripts/precompress makes."""
    for folder in ("identity", "kept"):
        (site / folder).mkdir()
        for name, body in files:
            (site / folder / name).write_bytes(body)
    subprocess.run([sys.executable, tools.ROOT / "scripts" / "precompress", "--quiet", "--all",
                    "--no-br", site / "kept"], check=True)


def make_legs(files):
    # The response's header decides with the body's size what the threshold leaves alone.
    coding = {"identity": "", "threshold": None}
    return [rounds.Leg({"file": name, "variant": variant}, f"/{variant}/{name}", body,
                       coding.get(variant, "gzip"), "gzip")
            for name, body in files for variant in VARIANTS]


def make_load(run, httpd, legs):
    """The function that loads a leg: for a while on a link, whose pace only time can tell.

    Without a link so many requests as take about that long: of a short run, what its end cuts off
    would be a large part.
    """
    if run.link:
        return lambda leg: load.h2load(run, httpd.url(leg.path), leg.headers, CLIENTS,
                                       seconds=max(run.scale.seconds, LINK_SECONDS))
    counts = {leg.path: load.count_requests(httpd, leg, CLIENTS, run.scale.seconds)
              for leg in legs}
    return lambda leg: load.h2load(run, httpd.url(leg.path), leg.headers, CLIENTS,
                                   requests=counts[leg.path])


def draw(run, names, middle):
    with plot.figure(run, run.name, width=9) as (axes,):
        width = 0.8 / len(VARIANTS)
        places = range(len(names))
        traffic = axes.twinx()
        traffic.set_zorder(axes.get_zorder() - 1)
        axes.patch.set_visible(False)
        traffic.grid(False)
        for index, (variant, (label, colour)) in enumerate(VARIANTS.items()):
            rates = [middle[name, variant]["rate"] / CLIENTS for name in names]
            axes.bar([place + (index - 1.5) * width for place in places], rates, width,
                     color=colour, label=label)
        for variant in ("identity", "kept"):
            sent = [middle[name, variant]["sent_bytes"] / corpus.KB for name in names]
            traffic.fill_between(places, sent, color=VARIANTS[variant][1], alpha=0.2, lw=0)
        axes.set_yscale("log")
        traffic.set_yscale("log")
        axes.set_xticks(places, [name.partition(".")[0] for name in names])
        axes.set_xlabel("file")
        axes.set_ylabel("requests per second and client (bars)")
        traffic.set_ylabel("KB sent per response (areas: identity, kept gzip)")
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=len(VARIANTS), fontsize=8)


def compare(files, middle, variant, figure):
    """{size: a figure of `variant` over identity's} of every file."""
    return {len(body): stats.ratio(middle[name, variant][figure], middle[name, "identity"][figure])
            for name, body in files}


def range_of(ratios):
    return f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "-"


def judge(files, middle, variant):
    """A sentence that sets one gzip variant beside the source's finding."""
    rates = compare(files, middle, variant, "rate")
    below = [rate for size, rate in rates.items() if size <= SMALL]
    above = [rate for size, rate in rates.items() if size > SMALL]
    cpu = compare(files, middle, variant, "cpu_usec_per_response")
    wins = [corpus.size_name(size) for size, rate in rates.items() if rate > 1 + NOISE]
    return (f"{VARIANTS[variant][0]}: {range_of(below)} times identity's req/s up to 32K "
            f"(identity wins all of them: {yes_or_no(rate < 1 - NOISE for rate in below)}), "
            f"{range_of(above)} times above (gzip wins all of them: "
            f"{yes_or_no(rate > 1 + NOISE for rate in above)}); faster than identity at: "
            f"{', '.join(wins) or 'no size'}; server CPU per response "
            f"{range_of([share for size, share in cpu.items() if size <= SMALL])} times "
            f"identity's up to 32K.")


def yes_or_no(answers):
    return "yes" if all(answers) else "no"


def find_verdicts(files, rows):
    """The source's findings on its own way, kept gzip, and the threshold's for gzip each time."""
    small = [name for name, body in files if len(body) <= SMALL]

    def ratios(variant, other, figure, names):
        return verdict.per_round([row for row in rows if row["file"] in names],
                                 {"variant": variant}, {"variant": other}, figure, ("file",))

    large = [name for name, _ in files if name not in small]
    alone = [name for name, body in files
             if {row["sent_bytes"] for row in rows
                 if row["file"] == name and row["variant"] == "threshold"} == {len(body)}]
    if not small or not large:
        return [verdict.impossible("identity wins up to 32K, gzip above", "51–56 against 41–52",
                                   "the pages given are all on one side of 32K")]
    # Both send a file as it is: what slows the one down slows the other as much.
    alike = {"drift": verdict.NO_DRIFT}
    return [
        verdict.judge("kept gzip is served less often than identity up to 32K",
                      ratios("kept", "identity", "rate", small), "about 0.9 times", below=1,
                      **alike),
        verdict.judge("kept gzip is served more often than identity above 32K",
                      ratios("kept", "identity", "rate", large), "1 to 3.4 times", above=1),
        verdict.judge("a kept sibling costs the server more CPU than identity up to 32K",
                      ratios("kept", "identity", "cpu_usec_per_response", small),
                      "2 ms more each", above=1, **alike),
        verdict.judge("identity's bytes grow as the file does, kept gzip's hardly",
                      ratios("kept", "identity", "sent_bytes", large), "down to 1/200", below=0.1),
        verdict.judge("files within one segment cost less CPU where the threshold leaves them",
                      ratios("threshold", "gzip", "cpu_usec_per_response", alone),
                      "nothing is gained by compressing them", below=1)]


def judge_threshold(files, middle):
    """What the threshold changes for the files that it leaves alone."""
    lines = []
    for name, body in files:
        if middle[name, "threshold"]["sent_bytes"] == len(body):
            gzip, threshold = middle[name, "gzip"], middle[name, "threshold"]
            gain = stats.ratio(threshold["rate"], gzip["rate"])
            cpu = stats.ratio(gzip["cpu_usec_per_response"], threshold["cpu_usec_per_response"])
            lines.append(f"{name}: {gain:.2f} times the req/s, CPU divided by {cpu:.2f}")
    return "; ".join(lines) or "it left no file alone"


def write_paragraph(run, files, rows, middle):
    first, last = files[0][0], files[-1][0]
    identity = [middle[name, "identity"]["rate"] / CLIENTS for name, _ in files]
    ratios = [len(body) / middle[name, "kept"]["sent_bytes"] for name, body in files]
    parts = [
        f"small-files. {machine.describe(run, 'h2load')}",
        f"{CLIENTS} clients over h2c, one request at a time each; files "
        f"{', '.join(name.partition('.')[0] for name, _ in files)} that gzip makes "
        f"{min(ratios):.1f} to {max(ratios):.0f} times smaller "
        f"(SHA-256 of the largest {corpus.digest(files[-1][1])}…).",
        "The source: identity wins from 1K to 32K (51–56 against 41–52 req/s/client), gzip from "
        "64K on, where identity falls from 41 to 12.",
        f"Here: identity {identity[0]:.0f} req/s/client at {first} and {identity[-1]:.1f} at "
        f"{last}."]
    verdicts = [judge(files, middle, variant) for variant in ("kept", "gzip", "threshold")]
    threshold = (f"The threshold, for files that fit into one segment: "
                 f"{judge_threshold(files, middle)}.")
    return "\n".join([*parts, *verdicts, threshold, *rounds.remarks(rows)])


def run(run):
    files = corpus.small_files(run.pages)
    # A few of them: from both ends, so that both sides of the source's finding are there.
    files = files[::len(files) // run.scale.only] if run.scale.only else files
    run.corpora.append(web.composition("files", [body for _, body in files],
                                       corpus.origin(run.pages)))
    httpd = server.Httpd(run, "httpd", SNIPPET)
    fill_site(httpd.site, files)
    legs = make_legs(files)
    httpd.start()
    rows = rounds.measure(run, httpd, legs, make_load(run, httpd, legs))
    run.save_table(run.name, rows)
    middle = stats.medians(rows, ("file", "variant"),
                           ("rate", "sent_bytes", "cpu_usec_per_response", "p50_ms"))
    run.save_table(f"{run.name}-summary", [
        {"file": name, "variant": variant, **figures,
         "rate_to_identity": stats.ratio(figures["rate"], middle[name, "identity"]["rate"])}
        for (name, variant), figures in middle.items()])
    draw(run, [name for name, _ in files], middle)
    return Outcome(write_paragraph(run, files, rows, middle), find_verdicts(files, rows),
                   {"medians": f"{run.name}-summary"},
                   {"requests per second and client (bars), bytes (areas)": run.name})
