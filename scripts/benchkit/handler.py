"""A page that httpd itself writes, in pieces like a template engine: a handler of mod_lua."""

MODULES = ("lua",)  # of an httpd with it
PIECE = 8000  # bytes that the handler writes at a time; it flushes nothing

# Each Lua state reads the page once.
SCRIPT = """
local file = assert(io.open("{page}", "rb"))
local page = file:read("a")
file:close()
function handle(r)
    r.content_type = "text/html"
    for start = 1, #page, {piece} do
        r:write(page:sub(start, start + {piece} - 1))
    end
    return apache2.OK
end
"""


def snippet(path):
    return f"LuaScope thread\nLuaMapHandler ^{path}$ {{folder}}/page.lua handle\n"


def write(folder, page, script=SCRIPT):
    source = folder / "page.body"
    source.write_bytes(page)
    (folder / "page.lua").write_text(script.format(page=source, piece=PIECE), encoding="utf-8")
