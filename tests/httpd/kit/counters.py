"""What a request adds to the counters of the status page.

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
    """(the response, what its request added); what reading the page itself adds is taken off."""
    first = _read(server)
    before = _read(server)
    own = _difference(first, before)
    answer = request()
    server.notes(answer)  # its line in the log comes when the request is over
    grown = _difference(before, _read(server))
    return answer, {key: grown[key] - own[key] for key in grown if grown[key] != own[key]}
