"""The header and the controller's state may change while a body is held."""

import shutil
from concurrent.futures import ThreadPoolExecutor

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


@pytest.fixture(scope="module")
def driven(httpd_shared):
    d = start_driven(httpd_shared, "ElasticBypass 90\n"
                     "LuaMapHandler /(?:cached/)?(shortened|paused) {docs}/x.lua $1\n"
                     + at("cached", "ElasticCache On"), modules=["lua", *keep.SHMCB])
    d.server.write("page.txt", PAGE)
    d.server.write("x.lua", LUA)
    return d


def test_a_length_that_was_taken_back_is_not_missed(driven):
    check.encoded(driven.server.get("/shortened", ae="gzip"), "gzip", PAGE)


# In a bypass, only bodies that may be cached are held.
@pytest.mark.parametrize("path, before, after, coding", [
    ("/paused", 1, 99, None), ("/cached/paused", 1, 99, None), ("/cached/paused", 99, 1, "gzip")])
def test_the_bypass_is_that_of_the_end_of_a_long_wait(driven, path, before, after, coding):
    server, marks = driven.server, driven.server.docs / "marks"
    shutil.rmtree(marks, ignore_errors=True)
    marks.mkdir()
    marks.chmod(0o777)

    def is_at(load):
        driven.stat.busy(load)
        return driven.status()["ElasticBypass"] == {1: "0", 99: "1"}[load]

    server.wait_for(lambda: is_at(before), 60, "the load")
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(server.get, path, "gzip")
        server.wait_for((marks / "begun").exists, 30, "the first half")
        # The decision is made anew after the longest wait for a body and two intervals.
        enough = int(driven.status()["ElasticSamples"]) + 5
        server.wait_for(lambda: is_at(after) and
                        int(driven.status()["ElasticSamples"]) >= enough, 60, "samples")
        (marks / "go").touch()
        answer = asked.result()
    check.whole(answer, coding, PAGE)
    assert server.reason(answer) == ("bypass" if coding is None else None)
