"""Visits, page by page: what each takes of bytes and of the server's CPU."""

import contextlib

from benchkit import codecs, rounds, sample, tools
from benchkit.dictionary import servers, wiki
from dictionarykit import judge

LIVE_END = b"</html>"
OTHERWISE = "br"  # a page that a dictionary has little of may come so


def ways_of(case, has_dcb):
    """Those that mean something for a case."""
    keys = {key for step in case.steps for key in step.dictionaries}
    return [way for way in servers.WAYS
            if (not way.dictionaries or keys.intersection(way.dictionaries))
            and (way.name != servers.DCB or has_dcb)]


def content_of(step, way):
    made = step.dictionary(way.dictionaries)
    return made.content if made else None


def head_bytes(status, headers):
    """Bytes of a response's head, as HTTP/1.1 sends it."""
    return len(f"HTTP/1.1 {status} OK\r\n\r\n") + sum(
        len(name) + len(value) + 4 for name, value in headers.items())


def ask(httpd, connection, case, way, step, **more):
    """The decoded body, and the row of one page."""
    dictionary = content_of(step, way)
    status, headers, body = httpd.ask(connection, step.path, {
        **servers.request(way, case.dest, dictionary), **more})
    coding = headers.get("Content-Encoding", "")
    if status != 200:
        raise tools.BenchError(f"{way.name}: {step.path} gave {status}")
    if dictionary is not None and coding not in (way.difference, OTHERWISE):
        raise tools.BenchError(f"{step.path} came in the coding '{coding}' in place of "
                               f"{way.difference}")
    return codecs.decode(body, coding, dictionary), headers, {
        "case": case.name, "way": way.name, "page": step.number, "coding": coding,
        "bytes": len(body), "wire_bytes": len(body) + head_bytes(status, headers)}


def sizes(case, made, has_dcb):
    """A row for each page of each visit and way; each is decoded and compared with what is
    meant."""
    rows = []
    for way in ways_of(case, has_dcb):
        with contextlib.closing(made.of(way).connect()) as connection:
            for number, visit in enumerate(case.visits, 1):
                for step in visit:
                    body, _, row = ask(made.of(way), connection, case, way, step)
                    if body != step.body:
                        raise tools.BenchError(f"{way.name}: {step.path} does not decode to what "
                                               "was served")
                    rows.append({**row, "visit": number})
        check_differences(case, way, rows)
    return rows


def check_differences(case, way, rows):
    """Some page has come as a difference, where its visitor had a dictionary."""
    codings = {row["coding"] for row in rows if row["way"] == way.name}
    if way.dictionaries and way.difference not in codings:
        raise tools.BenchError(f"{case.name}: no page came as {way.difference}")


def sibling_sizes(case):
    """The rows of a precompressed file in place of the page, as scripts/precompress makes it."""
    return [{"case": case.name, "way": servers.SIBLING, "page": step.number, "visit": number,
             "coding": "br", "bytes": judge.transfer_of(step.body)}
            for number, visit in enumerate(case.visits, 1) for step in visit]


def live_sizes(case, made, names, has_dcb):
    """The same of the wiki itself, which makes its pages anew; each visitor has a session."""
    rows = []
    for way in ways_of(case, has_dcb):
        for number, visit in enumerate(case.visits, 1):
            cookie = {}
            with contextlib.closing(made.of(way).connect()) as connection:
                for step in visit:
                    live = type(step)(step.number, wiki.path_of(names[step.path]), b"",
                                      step.dictionaries)
                    body, headers, row = ask(made.of(way), connection, case, way, live, **cookie)
                    if not body.rstrip().endswith(LIVE_END):
                        raise tools.BenchError(f"{live.path} is not a whole page")
                    if "Set-Cookie" in headers:
                        cookie = {"Cookie": headers["Set-Cookie"].partition(";")[0]}
                    rows.append({**row, "visit": number})
        check_differences(case, way, rows)
    return rows


def walk(run, case, way, httpd):
    """[(page's number, CPU seconds)] of all visits, again and again for the scale's seconds."""
    pids = sample.family(httpd.pids, sample.read_parents())
    found, used = [], 0.0
    fields = {id(step): servers.request(way, case.dest, content_of(step, way))
              for step in case.steps}
    with contextlib.closing(httpd.connect()) as connection:
        while used < run.scale.seconds:
            for step in case.steps:
                before = sample.cpu_of(pids)
                httpd.ask(connection, step.path, fields[id(step)])
                found.append((step.number, sample.cpu_of(pids) - before))
                used += found[-1][1]
    return found


def cost(run, cases, made, has_dcb):
    """A row for each case, way, page and round."""
    legs = [(case, way) for case in cases for way in ways_of(case, has_dcb)]
    rows = []
    for number, (case, way) in rounds.interleaved(run, legs):
        httpd = made.of(way)
        pids = sample.family(httpd.pids, sample.read_parents())
        before = sample.clocks(httpd, pids)
        pages = walk(run, case, way, httpd)
        elapsed, cpu, everyone = (now - then for now, then
                                  in zip(sample.clocks(httpd, pids), before))
        for page in sorted({page for page, _ in pages}):
            mine = [seconds for at, seconds in pages if at == page]
            rows.append({"case": case.name, "way": way.name, "page": page, "round": number,
                         "requests": len(mine), "failed": 0,
                         "cpu_usec_per_response": round(1e6 * sum(mine) / len(mine), 2),
                         "foreign_share": round(max(0.0, everyone - cpu) / elapsed, 3)})
    return rows
