"""Three httpds, and one redis: how often a page is encoded, and what a response costs."""

import dataclasses
import os

from benchkit import load, rounds, sample, server, stats, tools
from benchkit.fleet import simulate
from benchkit.once.origin import KB, OURS, Leg, cached

SERVERS = 3
AT_A_TIME = 300  # requests, before the next server has its turn
IDENTITY = "identity"
SETUPS = (IDENTITY, simulate.NONE, simulate.OWN, simulate.SHARED)
STORED_BYTES = 48 * KB  # of a page, at most
LEAST_STORE = 16 * KB * KB
CHECKED = "/page/0"  # which nobody asks for
PATIENCE = 15  # seconds

REDIS = """ElasticCache On
ElasticCacheStore redis:127.0.0.1:{port}
ElasticCacheKey {key}
"""


def store_bytes(run):
    """So large that nothing has to go."""
    return LEAST_STORE + STORED_BYTES * run.scale.bodies


def start_redis(run):
    """A redis of the run on the load's CPU; its port."""
    folder = run.folder("redis")
    port = server.free_port()
    log = folder / "output.log"
    run.start_until(
        lambda _: b"Ready to accept" in log.read_bytes(),
        [tools.find("redis-server"), "--port", str(port), "--bind", "127.0.0.1", "--save", "",
         "--appendonly", "no", "--dir", str(folder), "--maxmemory", str(store_bytes(run)),
         "--maxmemory-policy", "allkeys-lru"], log, PATIENCE, run.load_cpu)
    return port


def setup_of(run, name, port, key):
    if name == IDENTITY:
        return dataclasses.replace(OURS, snippet="Elastic Off\n")
    if name == simulate.OWN:
        return cached(OURS, store_bytes(run))
    if name == simulate.SHARED:
        return dataclasses.replace(OURS, snippet=OURS.snippet + REDIS.format(port=port, key=key))
    return OURS


def start_fleets(run, origin):
    """{name of a setup: its httpds}."""
    port, key = start_redis(run), run.work / "cache.key"
    key.write_bytes(os.urandom(64))
    key.chmod(0o600)
    return {name: [origin.front(f"fleet-{number}", setup_of(run, name, port, key))
                   for number in range(SERVERS)] for name in SETUPS}


def replay(run, httpds, bodies, chosen):
    """All requests, in blocks that go to one server after the other; how many failed."""
    failed = 0
    for start in range(0, len(bodies), SERVERS * AT_A_TIME):
        block = list(zip(bodies, chosen))[start:start + SERVERS * AT_A_TIME]
        for number, httpd in enumerate(httpds):
            urls = [httpd.url(f"/page/{body}") for body, server_ in block if server_ == number]
            if urls:
                failed += load.h2load(run, None, {"Accept-Encoding": "gzip"}, 1,
                                      requests=len(urls), urls=urls).failed
        run.still_running()
    return failed


def hits(httpds):
    return sum(httpd.counters().get("ElasticCacheHits", 0) for httpd in httpds)


def measure(run, origin, fleets, bodies, chosen):
    """A row for each setup: all requests once."""
    rows = []
    for name, httpds in fleets.items():
        coding = "" if name == IDENTITY else "gzip"
        for httpd in httpds:
            rounds.check(Leg({"server": name}, httpd, CHECKED, origin.body(CHECKED), coding, "gzip",
                             private=False))
        before, pids = hits(httpds), [pid for httpd in httpds for pid in httpd.pids]
        cpu = sample.cpu_seconds(pids)
        failed = replay(run, httpds, bodies, chosen)
        used, found = sample.cpu_seconds(pids) - cpu, hits(httpds) - before
        rows.append({"setup": name, "requests": len(bodies), "failed": failed,
                     "cpu_usec_per_response": round(1e6 * used / len(bodies), 1),
                     "encodings_per_1000": round(1000 * stats.ratio(len(bodies) - found,
                                                                    len(bodies)), 1)})
        for httpd in httpds:
            httpd.stop()
    return rows
