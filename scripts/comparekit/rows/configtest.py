"""What `apachectl configtest` takes of each directive: values, numbers of arguments, sections."""

from .. import sites
from ..row import Row

SITE = "configtest"
sites.SITES[SITE] = sites.Site(started=False)


def _numbers(low, high):
    """The bounds, their neighbours outside, and what is no number."""
    return [str(n) for n in (low - 1, low, high, high + 1)] + ["-1", "1.5", "x", "6x", ""]


_OPEN = ["0", "1", "-1", "4096", "1.5", "x", "6x", "", "99999999999999999999"]
_TAGS = ["AddSuffix", "NoChange", "Remove", "addsuffix", "keep", ""]
_NOTES = ["name", "Input name", "Output name", "Ratio name", "input name", "Sum name", "Input", "",
          "Input name more"]

# {directive: (a good value, all values to try)}
_DIRECTIVES = {
    "DeflateFilterNote": ("name", _NOTES),
    "BrotliFilterNote": ("name", _NOTES),
    "DeflateWindowSize": ("15", _numbers(1, 15) + ["8", "9"]),
    "DeflateMemLevel": ("9", _numbers(1, 9)),
    "DeflateBufferSize": ("8096", _OPEN),
    "DeflateCompressionLevel": ("6", _numbers(1, 9)),
    "DeflateAlterETag": ("NoChange", _TAGS),
    "BrotliAlterETag": ("NoChange", _TAGS),
    "DeflateInflateLimitRequestBody": ("1000", _OPEN),
    "DeflateInflateRatioLimit": ("100", _OPEN),
    "DeflateInflateRatioBurst": ("3", _OPEN),
    "BrotliCompressionQuality": ("5", _numbers(0, 11)),
    "BrotliCompressionWindow": ("18", _numbers(10, 24)),
    "BrotliCompressionMaxInputBlock": ("20", _numbers(16, 24) + ["0"]),
}

_SECTIONS = {
    "VirtualHost": "<VirtualHost 127.0.0.1:{port}>\n%s\n</VirtualHost>",
    "Directory": '<Directory "/srv">\n%s\n</Directory>',
    "Location": '<Location "/x">\n%s\n</Location>',
    "Files": '<Files "*.html">\n%s\n</Files>',
}

_FILTERS = (
    "SetOutputFilter DEFLATE", "SetOutputFilter BROTLI_COMPRESS;DEFLATE", "SetOutputFilter INFLATE",
    "SetInputFilter DEFLATE", "AddOutputFilterByType DEFLATE text/html text/plain",
    "AddOutputFilterByType BROTLI_COMPRESS;DEFLATE text/html", "AddOutputFilter DEFLATE html",
    "AddInputFilter DEFLATE gz", "RemoveOutputFilter html",
    "FilterDeclare z CONTENT_SET\nFilterProvider z DEFLATE \"%{Content_Type} =~ m#^text/#\"\n"
    "FilterChain z",
)


def _row(name, line, snippet=None):
    def probe(server):
        server.configure(server.loads + (line if snippet is None else snippet))
        taken, said = server.configtest()
        if "Segmentation" in said:
            return {"configtest": "crashes"}
        return {"configtest": "accepted" if taken else "refused"}
    return Row(name, line.replace("\n", "; "), probe)


def rows():
    for directive, (good, values) in _DIRECTIVES.items():
        for value in dict.fromkeys(values):
            argument = value or '""'
            yield _row(f"{directive}={argument}", f"{directive} {argument}")
        yield _row(f"{directive} alone", directive)
        yield _row(f"{directive} and more", f"{directive} {good} 1 2")
        yield _row(f"{directive} in small letters", f"{directive.lower()} {good}")
        for section, text in _SECTIONS.items():
            line = f"{directive} {good}"
            yield _row(f"{directive} in {section}", f"<{section}> {line}", text % line)
    for name in ("mod_deflate.c", "deflate_module", "mod_brotli.c", "brotli_module"):
        yield _row(f"IfModule {name}", f"<IfModule !{name}> leaves out what it holds",
                   f"<IfModule !{name}>\nNoSuchDirective\n</IfModule>")
    for number, line in enumerate(_FILTERS, 1):
        yield _row(f"filter {number}", line)
