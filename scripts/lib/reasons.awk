# reasons.awk TROUBLESHOOTING.md: the manual's sections about reasons, as HTML in C strings, which
# the status page serves. A link is left as its text, and the name of another page.

function escaped(text) {
    gsub(/&/, "\\&amp;", text)
    gsub(/</, "\\&lt;", text)
    gsub(/"/, "\\&quot;", text)
    gsub(/\\/, "\\&#92;", text)
    return text
}

function html(text,    at, link, name, page) {
    text = escaped(text)
    while (match(text, /\[[^]]*\]\([^)]*\)/)) {
        at = RSTART + RLENGTH
        link = substr(text, RSTART + 1, RLENGTH - 2)
        name = page = link
        sub(/\]\(.*/, "", name)
        sub(/.*\]\(/, "", page)
        sub(/#.*/, "", page)
        text = substr(text, 1, RSTART - 1) name (page == "" ? "" : " (" page ")") substr(text, at)
    }
    while (match(text, /`[^`]*`/)) {
        text = substr(text, 1, RSTART - 1) "<code>" substr(text, RSTART + 1, RLENGTH - 2) \
            "</code>" substr(text, RSTART + RLENGTH)
    }
    return text
}

function put(line) {
    print "\"" line "\\n\","
}

# Writes the piece that was read so far: a paragraph, or an item of a list.
function finish() {
    if (piece != "") {
        put("<" kind ">" html(piece) "</" kind ">")
    }
    piece = ""
}

function begin(new, text) {
    finish()
    if (new != kind && (new == "li" || kind == "li")) {
        put(new == "li" ? "<ul>" : "</ul>")
    }
    kind = new
    piece = text
}

BEGIN {
    kind = "p"
}

/^```/ && inside {
    begin("p", "")
    code = !code
    put(code ? "<pre>" : "</pre>")
    next
}

code {
    put(escaped($0))
    next
}

/^##? / {
    begin("p", "")
    inside = 0
}

/^### / {
    begin("p", "")
    inside = 1
    sections++
    put("<h2 id=" $2 ">" $2 "</h2>")
    next
}

!inside || /^\|[-| :]*$/ {
    next
}

/^$/ {
    finish()
    next
}

/^[-*] / {
    begin("li", substr($0, 3))
    next
}

/^\|/ {
    text = $0
    gsub(/^\| *| *\|$/, "", text)
    gsub(/ \| /, ": ", text)
    begin("p", text)
    next
}

{
    if (piece == "") {
        # An indented line goes on with the list.
        begin(kind == "li" && /^ / ? "li" : "p", $0)
    } else {
        piece = piece " " $0
    }
}

END {
    begin("p", "")
    if (!sections) {
        print "reasons.awk: the page has no section about a reason" > "/dev/stderr"
        exit 1
    }
}
