"""What `apachectl configtest` takes of each directive: values, numbers of arguments, sections."""

from .. import sites
from ..row import Row

sites.SITES["configtest"] = sites.Site(started=False)


def _numbers(low, high):
    """The bounds, their neighbours outside, and what is no number."""
    return [str(n) for n in (low - 1, low, high, high + 1)] + ["-1", "1.5", "x", "6x", ""]


_OPEN = ["0", "1", "-1", "4096", "1.5", "x", "6x", "", "99999999999999999999"]
_TAGS = ["AddSuffix", "NoChange", "Remove", "addsuffix", "keep", ""]
_NOTES = ["name", "Input name", "Output name", "Ratio name", "input name", "Sum name", "Input", "",
          "Input name more"]

VALUES = {
    "DeflateFilterNote": _NOTES,
    "BrotliFilterNote": _NOTES,
    "DeflateWindowSize": _numbers(1, 15) + ["8", "9"],
    "DeflateMemLevel": _numbers(1, 9),
    "DeflateBufferSize": _OPEN,
    "DeflateCompressionLevel": _numbers(1, 9),
    "DeflateAlterETag": _TAGS,
    "BrotliAlterETag": _TAGS,
    "DeflateInflateLimitRequestBody": _OPEN,
    "DeflateInflateRatioLimit": _OPEN,
    "DeflateInflateRatioBurst": _OPEN,
    "BrotliCompressionQuality": _numbers(0, 11),
    "BrotliCompressionWindow": _numbers(10, 24),
    "BrotliCompressionMaxInputBlock": _numbers(16, 24) + ["0"],
}

GOOD = {
    "DeflateFilterNote": "name", "BrotliFilterNote": "name", "DeflateWindowSize": "15",
    "DeflateMemLevel": "9", "DeflateBufferSize": "8096", "DeflateCompressionLevel": "6",
    "DeflateAlterETag": "NoChange", "BrotliAlterETag": "NoChange",
    "DeflateInflateLimitRequestBody": "1000", "DeflateInflateRatioLimit": "100",
    "DeflateInflateRatioBurst": "3", "BrotliCompressionQuality": "5",
    "BrotliCompressionWindow": "18", "BrotliCompressionMaxInputBlock": "20",
}

SECTIONS = {
    "VirtualHost": "<VirtualHost 127.0.0.1:{port}>\n%s\n</VirtualHost>",
    "Directory": '<Directory "/srv">\n%s\n</Directory>',
    "Location": '<Location "/x">\n%s\n</Location>',
    "Files": '<Files "*.html">\n%s\n</Files>',
}

_CONDITIONS = ("mod_deflate.c", "deflate_module", "mod_brotli.c", "brotli_module")

_FILTERS = (
    "SetOutputFilter DEFLATE", "SetOutputFilter BROTLI_COMPRESS;DEFLATE", "SetOutputFilter INFLATE",
    "SetInputFilter DEFLATE", "AddOutputFilterByType DEFLATE text/html text/plain",
    "AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/html", "AddOutputFilter DEFLATE html",
    "AddInputFilter DEFLATE gz", "RemoveOutputFilter html",
    "FilterDeclare z CONTENT_SET\nFilterProvider z DEFLATE \"%{Content_Type} =~ m#^text/#\"\n"
    "FilterChain z",
)


def _try(snippet):
    def probe(server):
        server.configure(server.loads + snippet)
        taken, said = server.configtest()
        if "Segmentation" in said:
            return {"configtest": "crashes"}
        return {"configtest": "accepted" if taken else "refused"}
    return probe


def _row(name, line, snippet=None):
    return Row(f"configtest/{name}", line.replace("\n", "; "), "configtest",
               _try(line if snippet is None else snippet))


def rows():
    found = []
    for directive, values in VALUES.items():
        for value in dict.fromkeys(values):
            argument = value or '""'
            found.append(_row(f"{directive}={argument}", f"{directive} {argument}"))
        found.append(_row(f"{directive} alone", directive))
        found.append(_row(f"{directive} and more", f"{directive} {GOOD[directive]} 1 2"))
        lower = f"{directive.lower()} {GOOD[directive]}"
        found.append(_row(f"{directive} in small letters", lower))
        for section, text in SECTIONS.items():
            line = f"{directive} {GOOD[directive]}"
            found.append(_row(f"{directive} in {section}", f"<{section}> {line}", text % line))
    for word in _CONDITIONS:
        found.append(_row(f"IfModule {word}", f"<IfModule !{word}> leaves out what it holds",
                          f"<IfModule !{word}>\nNoSuchDirective\n</IfModule>"))
    found += [_row(f"filter {n}", line) for n, line in enumerate(_FILTERS, 1)]
    return found
