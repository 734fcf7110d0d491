"""The counters of the status page that a request raises.

    answer, grown = counted(server, lambda: server.get("/a.txt", ae="gzip"))
    assert grown == {"compressed": 1}                 # or a reason's name, as in elastic-reason
"""


def _read(server):
    status = server.status()
    skipped = {key.removeprefix("ElasticSkipped-"): int(value) for key, value in status.items()
               if key.startswith("ElasticSkipped-")}
    return {"compressed": int(status["ElasticCompressed"]), **skipped}


def _difference(before, after):
    return {key: after[key] - before[key] for key in after}


def counted(server, request):
    """Returns (the response, the counters that its request raised), without the page's own
    requests."""
    first = _read(server)
    before = _read(server)
    own = _difference(first, before)
    answer = request()
    server.notes(answer)  # its log line comes when the request is over
    grown = _difference(before, _read(server))
    return answer, {key: grown[key] - own[key] for key in grown if grown[key] != own[key]}
