"""Flushed data can be decoded at once: server-sent events, progress pages, slow backends."""

import pytest

from kit import at, bodies, check, env
from kit.proxied import EACH, WAIT, Steps, config, start

CODINGS = pytest.mark.parametrize("coding", ("gzip", "br", *["zstd"] * env.HAS_ZSTD, None))
# The encoders flush in special ways at these levels.
LOW = (("gzip", 1), ("br", 0), ("br", 1))
# An event is far below a segment, and a large part passes every threshold. A page's head names its
# style sheets; its script then works on the rest.
PARTS = {
    "events": [b"data: event %d of a stream\n\n" % n for n in range(3)],
    "large": [bodies.text(50000) + b"<1>", bodies.text(50001) + b"<2>", bodies.text(9)],
    "header": [b"", bodies.text(30000)],
    **{f"head-{size}": [bodies.html(size) + b"<!-- the head -->", bodies.text(60000)]
       for size in (1000, 8000)},
}
FORMS = ("chunked", "until_close", "length")
# {prefix: (a name of 127.0.0.1 that makes a separate worker, its parameters)}
WORKERS = {"": ("127.0.0.1", ""), "flush-": ("127.1", "flushpackets=on"),
           "auto-": ("127.0.1", "flushpackets=auto flushwait=20")}
CGI = WAIT + """
name = os.environ['QUERY_STRING']
head('Content-Type: text/' + ('event-stream' if name == 'events' else 'html'))
for n in range(3):
    part = os.environ['KIT'] + '/docs/%s/%d' % (name, n)
    wait(n)
    out(open(part, 'rb').read() if os.path.exists(part) else b'')
"""


@pytest.fixture(scope="module")
def server(httpd_shared, origin):
    return start(
        httpd_shared,
        at("cgi", "Elastic On") + "".join(
            at(f"{coding}-{level}", "Elastic On", f"ElasticLevel {coding} {level}")
            for coding, level in LOW)
        + "".join(config(f"http://{name}:{origin.port}", parameters=parameters, prefix=prefix)
                  for prefix, (name, parameters) in WORKERS.items()),
        tls=True, h2=True, files={f"{name}/{n}": part for name, parts in PARTS.items()
                                  for n, part in enumerate(parts)},
        cgi={"parts.cgi": CGI,
             "late.cgi": "head('Content-Type: text/plain')\ntime.sleep(.5)\nout('x' * 2000)\n"})


@pytest.fixture(scope="module")
def steps(server, origin):
    steps = Steps(server)

    def send(form, name):
        def answer(exchange):
            parts = steps.parts(PARTS[name])
            fields = {"Content-Type": f"text/{'event-stream' if name == 'events' else 'html'}"}
            if form == "length":
                exchange.head(200, {**fields, "Content-Length": sum(map(len, PARTS[name]))})
                for part in parts:
                    exchange.send(part)
            else:
                getattr(exchange, form)(200, fields, parts)

        return answer

    for form in FORMS:
        for name in PARTS:
            origin.route(f"/{form}-{name}", send(form, name))
    return steps


@pytest.mark.smoke
@pytest.mark.protocols()
@pytest.mark.parametrize("path", ["/cgi/parts.cgi?events", "/on/chunked-events",
                                  "/flush-on/chunked-events"])
@CODINGS
def test_events_can_be_decoded_when_they_are_sent(server, steps, protocol, path, coding):
    steps.check(server, path, coding, PARTS["events"], protocol)


@pytest.mark.parametrize("coding,level", LOW)
def test_an_event_can_be_decoded_at_low_levels(server, steps, coding, level):
    steps.check(server, f"/{coding}-{level}/parts.cgi?events", coding, PARTS["events"])


@pytest.mark.parametrize("source", ["cgi/parts.cgi?", "on/chunked-", "on/length-"])
@pytest.mark.parametrize("name", ["large", "head-1000", "head-8000"])
@CODINGS
def test_the_head_of_a_page_arrives_while_its_script_works(server, steps, source, name, coding):
    """mod_deflate and mod_brotli hold the head until the script ends."""
    steps.check(server, f"/{source}{name}", coding, PARTS[name])


@pytest.mark.parametrize("prefix", WORKERS)
@pytest.mark.parametrize("name", ["chunked-events", "chunked-header",
                                  *(f"{form}-large" for form in FORMS)])
@EACH
def test_a_part_is_decodable_before_the_next_is_made(server, steps, way, coding, prefix, name):
    parts = PARTS[name.partition("-")[2]]
    steps.check(server, f"/{prefix}{way.name}/{name}", coding, parts)


def test_a_body_that_starts_late(server):
    check.encoded(server.get("/cgi/late.cgi", ae="gzip"), "gzip", b"x" * 2000)
