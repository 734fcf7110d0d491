"""The harness's own control: one leg under two names, which must not differ."""

from benchkit import corpus, load, rounds, server
from benchkit.findings import Finding, paired
from benchkit.results import Outcome
from benchkit.setups import LEVEL_6

TITLE = "the same leg under two names: what difference the harness sees where there is none"
SOURCE = THERE = ""
SETUP = "One page of 64 KB, gzip level 6, four clients in a closed loop, as A and as B."
SECONDS = 2, 10, 30

CLIENTS = 4
FIGURES = {"cpu_usec_per_response": "CPU per response", "rate": "requests per second"}


def find(rows):
    return [Finding(key, f"{name}, B's to A's", paired(rows, {"leg": "B"}, {"leg": "A"}, key),
                    "1, within 5 %", aim=(0.95, 1.05)) for key, name in FIGURES.items()]


def run(run):
    page = corpus.text(64 * corpus.KB)
    run.add_corpus("page", [page], corpus.origin())
    httpd = server.Httpd(run, "httpd", LEVEL_6 + "Elastic On\n")
    for name in "AB":
        (httpd.site / f"{name}.html").write_bytes(page)
    httpd.start()
    legs = [rounds.Leg({"leg": name}, httpd, f"/{name}.html", page, "gzip", "gzip")
            for name in "AB"]
    rows = rounds.measure(run, legs, load.fixed_counts(run, legs, CLIENTS, run.pick(.05, .1, .3)))
    run.save_table("", rows)
    return Outcome(find(rows), "cpu_usec_per_response",
                   "Two legs that do the same differ by a factor of {here}: what is smaller than "
                   "that cannot be seen here.", conditions=rounds.remarks(rows), tools=("h2load",))
