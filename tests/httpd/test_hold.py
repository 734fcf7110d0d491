"""The header and the controller's state may change while a body is held."""

import threading

import pytest

from kit import at, bodies, check, keep
from kit.driven import start_driven

PAGE = bodies.text(36_000)

# Each write is larger than httpd's buffer, and so a brigade of its own, without a flush.
LUA = """
local function halves(r, between)
    local file = io.open(r.document_root .. "/page.txt", "rb")
    local text = file:read("*a")
    file:close()
    r.content_type = "text/plain"
    r:write(string.sub(text, 1, #text / 2))
    between()
    r:write(string.sub(text, #text / 2 + 1))
    return apache2.OK
end
function shortened(r)
    r.headers_out["Content-Length"] = "50000"
    return halves(r, function() r.headers_out["Content-Length"] = nil end)
end
function paused(r)
    return halves(r, function()
        io.open(r.document_root .. "/marks/begun", "w"):close()
        repeat until io.open(r.document_root .. "/marks/go")
    end)
end
"""


@pytest.fixture
def driven(httpd):
    d = start_driven(httpd, "ElasticBypass 90\n"
                     "LuaMapHandler /(?:cached/)?(shortened|paused) {docs}/x.lua $1\n"
                     + at("cached", "ElasticCache On"),
                     modules=["lua", *keep.SHMCB])
    d.server.write("page.txt", PAGE)
    d.server.write("x.lua", LUA)
    marks = d.server.docs / "marks"
    marks.mkdir()
    marks.chmod(0o777)
    return d


def test_a_length_that_was_taken_back_is_not_missed(driven):
    check.encoded(driven.server.get("/shortened", ae="gzip"), "gzip", PAGE)


@pytest.mark.parametrize("path, before, after, coding", [
    ("/paused", 1, 99, None),
    ("/cached/paused", 1, 99, None),
    # In a bypass, only bodies that may be cached are held.
    ("/cached/paused", 99, 1, "gzip"),
])
def test_the_bypass_is_that_of_the_end_of_a_long_wait(driven, path, before, after, coding):
    server, answers = driven.server, []
    bypassed = {1: "0", 99: "1"}

    def until(load):
        def is_so():
            driven.stat.busy(load)
            return driven.status()["ElasticBypass"] == bypassed[load]
        server.wait_for(is_so, 60, "the bypass" if load == 99 else "its end")

    until(before)
    asks = threading.Thread(target=lambda: answers.append(server.get(path, ae="gzip")))
    asks.start()
    server.wait_for((server.docs / "marks/begun").exists, 30, "the first half")
    samples = int(driven.status()["ElasticSamples"])
    # The decision is made anew after the longest wait for a body and two intervals.
    server.wait_for(lambda: until(after) or int(driven.status()["ElasticSamples"]) > samples + 4,
                    60, "five samples")
    (server.docs / "marks/go").touch()
    asks.join()
    check.whole(answers[0], coding, PAGE)
    assert server.reason(answers[0]) == ("bypass" if coding is None else None)
