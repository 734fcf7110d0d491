"""The harness's own control: one leg under two names, which must not differ."""

from benchkit import corpus, load, machine, rounds, server, verdict
from benchkit.headline import Headline
from benchkit.outcome import Outcome
from benchkit.run import Scale
from benchkit.setups import LEVEL_6

SUMMARY = "the same leg under two names: what difference the harness sees where there is none"
SOURCE = ""
FIXED = "one page, gzip level 6, four clients: everything"

SCALES = {"smoke": Scale(2, 0.1), "quick": Scale(60, 0.1), "full": Scale(80, 0.5, least=40)}
SECONDS = {"smoke": 2, "quick": 12, "normal": 50, "full": 100}

HEADLINE = Headline("Does the harness see a difference where there is none?",
                    "No: A and A agree.", "Yes: A and A differ, and nothing finer can be decided.",
                    "no difference between A and A")

PAGE_BYTES = 64 * corpus.KB
CLIENTS = 4

FIGURES = {"cpu_usec_per_response": "CPU per response", "rate": "requests per second"}


def judge(rows):
    """A verdict for each figure: that the two names of one leg agree."""
    return [verdict.same(f"{name}: no difference between A and A",
                         verdict.per_round(rows, {"leg": "B"}, {"leg": "A"}, figure))
            for figure, name in FIGURES.items()]


def run(run):
    page = corpus.page(PAGE_BYTES, run.pages)
    run.add_corpus("page", [page], corpus.origin(run.pages))
    httpd = server.Httpd(run, "httpd", LEVEL_6 + "Elastic On\n")
    for name in "AB":
        (httpd.site / f"{name}.html").write_bytes(page)
    httpd.start()
    legs = [rounds.Leg({"leg": name}, httpd, f"/{name}.html", page, "gzip", "gzip")
            for name in "AB"]
    count = load.count_requests(legs[0], CLIENTS, run.scale.seconds)
    rows = rounds.measure(run, legs, lambda leg: load.h2load(
        run, leg.url, leg.headers, CLIENTS, requests=count))
    run.save_table("", rows, "every round")
    return Outcome("\n".join([machine.heading(run, "h2load"),
                              f"One page of {len(page)} bytes, gzip level 6, as A and as B."]),
                   judge(rows), HEADLINE, rounds.remarks(rows))
