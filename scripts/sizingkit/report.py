"""The result: one page for decision makers, the summary first; and the same as text."""

import html

MILLION = 1_000_000
HOUR, GIGABYTE = 3600, 1e9

STYLE = """
:root { color-scheme: light dark }
body { font: 1rem/1.5 sans-serif; margin: 2em auto; max-width: 46em; padding: 0 1em }
.summary { border: 2px solid; font-size: 1.25em; padding: .5em 1em }
table { border-collapse: collapse; width: 100% }
div { overflow-x: auto }
th, td { border-bottom: 1px solid #888; padding: .3em .8em .3em 0; text-align: right }
th:first-child, td:first-child { font-weight: normal; text-align: left }
"""


def cost(plan, prices):
    """The cost of a million requests."""
    per_hour, per_gigabyte = prices
    return MILLION * (plan.cpu / HOUR * per_hour + plan.nbytes / GIGABYTE * per_gigabyte)


def change(before, after, less, more):
    """'12 % fewer', or the like."""
    if not before:
        return f"no {less}" if not after else more
    share = 1 - after / before
    return f"{abs(share):.0%} {less if share >= 0 else more}".replace("%", " %")


def summary(plans, prices):
    today, idle = plans[1], plans[2]
    saved = cost(today, prices) - cost(idle, prices)
    return (f"With mod_elastic these pages would be sent in "
            f"{change(today.nbytes, idle.nbytes, 'fewer', 'more')} bytes, with "
            f"{change(today.cpu, idle.cpu, 'less', 'more')} CPU time of compression, and be there "
            f"in {change(today.seconds, idle.seconds, 'less', 'more')} time while the CPU is idle. "
            f"A million of them would cost {abs(saved):.2f} {'less' if saved >= 0 else 'more'}: "
            f"{cost(idle, prices):.2f} in place of {cost(today, prices):.2f}.")


def columns(plan, prices):
    return (plan.name, f"{plan.nbytes / 1000:.1f} KB", f"{plan.cpu * 1000:.2f} ms",
            f"{plan.seconds * 1000:.0f} ms", f"{cost(plan, prices):.2f}")


HEADS = ("", "Sent, of a page", "CPU time of compressing it", "Until it is there",
         "Cost of a million")


def kinds(sizes):
    """(media type, pages, KB, share left today) with the most bytes first."""
    found = {}
    for size in sizes:
        row = found.setdefault(size.kind or "unknown", [0, 0, 0])
        row[0] += 1
        row[1] += size.nbytes
        row[2] += size.today.nbytes if size.today else size.nbytes
    rows = sorted(found.items(), key=lambda item: -item[1][1])
    return [(kind, str(count), f"{before / 1000:.0f} KB",
             f"{after / before:.0%}".replace("%", " %") if before else "-")
            for kind, (count, before, after) in rows]


def table(heads, rows):
    def line(cells, tag):
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return ("<div><table>" + line(heads, "th") + "".join(line(row, "td") for row in rows)
            + "</table></div>")


def notes(facts):
    return [f"{facts.pages} pages of {facts.given}, {facts.compressed} of a type that is "
            "compressed. Each counts once: pages that are asked for more often weigh more in "
            "truth.",
            f"Today: {facts.source}.",
            f"CPU time was measured on this machine ({facts.machine}), of the compression "
            "libraries alone, one body after the other.",
            f"Until a page is there: compression, and its bytes at {facts.rate / 1e6:g} Mbit/s. An "
            f"hour of one CPU costs {facts.prices[0]:g}, a GB sent {facts.prices[1]:g}.",
            "mod_elastic: the setup that its default goal takes at this load, for browsers that "
            "accept gzip, br and zstd. On a busy CPU it takes less of it, and sends more bytes; "
            "“ElasticLevel gzip stock” keeps it from that (last row). What is kept and used again "
            "(ElasticCache), or compressed in advance, costs no CPU time, and is not counted here."]


def page(plans, sizes, facts):
    rows = [columns(plan, facts.prices) for plan in plans]
    return ("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
            f"<title>mod_elastic for {html.escape(facts.given)}</title><style>{STYLE}</style>"
            f"</head><body><h1>mod_elastic for {html.escape(facts.given)}</h1>"
            f"<p class=\"summary\">{html.escape(summary(plans, facts.prices))}</p>"
            f"<h2>In figures</h2>{table(HEADS, rows)}"
            "<h2>What was looked at</h2>"
            f"{table(('Type', 'Pages', 'Uncompressed', 'Left today'), kinds(sizes))}<ul>"
            + "".join(f"<li>{html.escape(note)}</li>" for note in notes(facts))
            + "</ul></body></html>\n")


def text(plans, facts):
    rows = [HEADS, *(columns(plan, facts.prices) for plan in plans)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADS))]
    lines = ["  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                       for i, (cell, width) in enumerate(zip(row, widths))) for row in rows]
    return "\n".join([summary(plans, facts.prices), "", *lines])
