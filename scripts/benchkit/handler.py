"""Pages that httpd itself writes, in pieces as a template engine does: a handler of mod_lua."""

import math

MODULES = ("lua",)  # what an httpd needs for it
PIECE = 8000  # bytes that the handler writes at a time; it flushes nothing

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
    for number = 1, r.args and #pieces or math.random({least}, #pieces) do
        r:write(pieces[number])
    end
    return apache2.OK
end
"""


def snippet(path, script="{folder}/page.lua"):
    """The lines that have the script, by default one in the server's folder, answer at `path`."""
    return f"LuaScope thread\nLuaMapHandler ^{path}$ {script} handle\n"


def leg(run, setup, labels, page, **options):
    """The leg of a page that the handler of a server of its own writes, which is started."""
    httpd = setup.serve(run, run.new_name("handler"), snippet("/page"), MODULES, **options)
    write(httpd.folder, page)
    return setup.leg(labels, httpd.start(), "/page", page)


def write(folder, page, least=None):
    """Puts the handler's script and its page into a folder; the script's path.

    Every response is the page; or with `least`, where the request has no query, its beginning, of a
    random length of so many bytes or more.
    """
    script = folder / "page.lua"
    source = script.with_suffix(".body")
    source.write_bytes(page)
    script.write_text(SCRIPT.format(page=source, piece=PIECE,
                                    least=math.ceil((least or len(page)) / PIECE)),
                      encoding="utf-8")
    return script
