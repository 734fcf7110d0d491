local PAGE = ("<p>A line of the application.</p>\n"):rep(900)

-- The page in gzip.
local CODED = "H4sIAAAAAAACA+3KwQmAIBQA0HtT/AlqAREaRcJIkPTg/jRGl/fOL818Rm9vjXHHemqUOXu7ymrj3dMx85YM" ..
    "wzAMwzAMwzAMwzAMwzAMwzAMwzAMwzAMwzAMwzAMwzAMwzAMwzAMwzAMwzAMwzAMwzAMwzAMwzAMwzAMwzAM" ..
    "wzAMwzAMwzAMwzAMwzAMwzAMwzAMwzAM47fxAYmY9bCIdwAA"

local function events(r)
    r.content_type = "text/event-stream"
    for number = 0, 2 do
        r:puts(("data: event %d\n\n"):format(number))
        r:flush()
        os.execute("sleep 0.4")
    end
end

local function pieces(r)
    for at = 1, #PAGE, 3400 do
        r:puts(PAGE:sub(at, at + 3399))
        r:flush()
    end
end

function handle(r)
    local name, body, fields = r.uri:match("[^/]*$"), PAGE, r.headers_out
    local status = ({none = 204, reset = 205, kept = 304})[name]
    r.content_type = "text/html"
    fields["X-Application"] = "yes"
    if name == "file" then
        r:sendfile(r.document_root .. "/page.html")
        return apache2.OK
    elseif name == "events" or name == "pieces" then
        local send = name == "events" and events or pieces
        send(r)
        return apache2.OK
    elseif status then
        r.status = status
        fields["ETag"] = '"kept"'
        fields["Cache-Control"] = "max-age=9"
        return apache2.OK
    elseif name == "length" then
        fields["Content-Length"] = tostring(#PAGE)
    elseif name == "long" then -- a length that is larger than the body
        fields["Content-Length"] = tostring(#PAGE + 100)
    elseif name == "short" then -- or smaller
        fields["Content-Length"] = tostring(#PAGE - 100)
    elseif name == "gone" then
        r.status = 404
    elseif name == "coded" then
        body = r:base64_decode(CODED)
        fields["Content-Encoding"] = "gzip"
        fields["Content-Length"] = tostring(#body)
    end
    r:puts(body)
    if name == "stops" then
        r:flush()
        error("on purpose")
    end
    return apache2.OK
end

function upper(r)
    coroutine.yield()
    while bucket do
        coroutine.yield(bucket:upper())
    end
end
