"""Pages that httpd itself writes, in pieces as a template engine does: a handler of mod_lua."""

import math

MODULES = ("lua",)  # what an httpd needs for it

PIECE = 8000  # bytes that the handler writes at a time; it flushes nothing

SNIPPET = """
LuaScope thread
LuaMapHandler ^{path}$ {script} handle
"""

# The page is read once for each Lua state.
SCRIPT = """
local file = assert(io.open("{page}", "rb"))
local page = file:read("a")
file:close()
local pieces = {{}}
for start = 1, #page, {piece} do
    pieces[#pieces + 1] = page:sub(start, start + {piece} - 1)
end
function handle(r)
    r.content_type = "text/html"
    for number = 1, math.random({least}, #pieces) do
        r:write(pieces[number])
    end
    return apache2.OK
end
"""


def write(folder, path, page, least):
    """Puts the handler and its page into a folder; the snippet that has it answer at `path`.

    Every response is the beginning of the page, `least` bytes or more: its length is drawn.
    """
    script = folder / "page.lua"
    write_script(script, page, least)
    return SNIPPET.format(path=path, script=script)


def write_script(script, page, least=None):
    """The same without a snippet; the page goes beside the script."""
    source = script.with_suffix(".body")
    source.write_bytes(page)
    script.write_text(SCRIPT.format(page=source, piece=PIECE,
                                    least=math.ceil((least or len(page)) / PIECE)),
                      encoding="utf-8")
