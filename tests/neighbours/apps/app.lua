local PAGE = ("<p>A line of the application.</p>\n"):rep(900)

function handle(r)
    r.content_type = "text/html"
    if r.uri:match("file$") then
        r:sendfile(r.document_root .. "/page.html")
    else
        r:puts(PAGE)
    end
    return apache2.OK
end

function upper(r)
    coroutine.yield()
    while bucket do
        coroutine.yield(bucket:upper())
    end
end
