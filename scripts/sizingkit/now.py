"""The present configuration of httpd: mod_deflate's and mod_brotli's levels."""

import pathlib
import re
import typing

from sizingkit.pages import Problem

PLACES = ("/etc/apache2/apache2.conf", "/etc/httpd/conf/httpd.conf",
          "/usr/local/apache2/conf/httpd.conf")
DEFLATE, BROTLI = 6, 5  # the modules' default levels


class Now(typing.NamedTuple):
    gzip: int  # mod_deflate's level; 0: it compresses nothing
    br: int  # mod_brotli's; 0: likewise
    source: str  # for people

    @property
    def name(self):
        return " and ".join(text for text in (self.br and f"mod_brotli {self.br}",
                                              self.gzip and f"mod_deflate {self.gzip}")
                            if text) or "no compression"

    def of(self, page, encoders):
        """The Result of a page, or None if it is not compressed."""
        if not (page.is_compressible() and page.body and (self.br or self.gzip)):
            return None
        return encoders.stock("br" if self.br else "gzip", self.br or self.gzip, page.body)


def read(path, seen=None):
    """The text of a configuration including the files that it includes."""
    seen = set() if seen is None else seen
    path = pathlib.Path(path)
    if path in seen or not path.is_file():
        return ""
    seen.add(path)
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as problem:
        raise Problem(f"{path}: {problem.strerror}") from None
    lines = []
    root = next((folder for folder in path.parents if (folder / "mods-enabled").is_dir()),
                path.parent.parent if path.parent.name == "conf" else path.parent)
    for line in text.replace("\\\n", " ").splitlines():
        found = re.match(r'\s*Include(?:Optional)?\s+"?([^"\s]+)"?\s*$', line, re.I)
        if found:
            pattern = found[1].removeprefix(str(root) + "/").lstrip("/")
            lines += [read(part, seen) for part in sorted(root.glob(pattern))]
        elif not line.lstrip().startswith("#"):
            lines.append(line)
    return "\n".join(lines)


def level(text, directive, least, most):
    found = re.findall(rf"(?im)^\s*{directive}\s+(\d+)", text)
    return min(max(int(found[-1]), least), most) if found else None


def of_text(text, source):
    """A filter that is named nowhere compresses nothing."""
    def named(name):
        return re.search(rf"(?im)^\s*(?:\w*OutputFilter\w*|FilterProvider)\s.*\b{name}\b", text)

    gzip = level(text, "DeflateCompressionLevel", 1, 9) or DEFLATE
    br = level(text, "BrotliCompressionQuality", 0, 11)
    return Now(gzip if named("DEFLATE") else 0,
               (BROTLI if br is None else max(br, 1)) if named("BROTLI_COMPRESS") else 0, source)


def find(given=None):
    """From the configuration `given`, else httpd's on this machine, else mod_deflate's default."""
    for path in [given] if given else PLACES:
        if pathlib.Path(path).is_file():
            return of_text(read(path), str(path))
    if given:
        raise Problem(f"{given}: there is no such file")
    return Now(DEFLATE, 0, "no configuration was found: the default of mod_deflate")
