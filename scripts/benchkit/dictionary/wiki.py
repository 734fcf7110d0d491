"""A PHP application: dokuwiki as Debian has it, in a php-fpm of the run.

Its articles are the sections of a manual's pages, written as dokuwiki writes them. Nothing is
installed: a copy of the packages has its own paths.
"""

import html
import os
import re
import shutil
import urllib.parse

from benchkit import fpm, packages, server

PACKAGES = ("dokuwiki", "php-geshi", "php-phpseclib", "php-random-compat", "libphp-simplepie")
VERSION = "usr/share/dokuwiki/VERSION"
PLACES = ("/usr/share/", "/etc/dokuwiki", "/var/lib/dokuwiki")  # that its scripts name
URL = "/dokuwiki/"

# Articles, not stubs and not books: texts of this many characters.
LEAST, MOST = 500, 20000

SETTINGS = """<?php
$conf['title'] = 'Manual';
$conf['useacl'] = 0;
$conf['updatecheck'] = 0;
"""

ALIAS = """
Alias "{url}" "{folder}/usr/share/dokuwiki/"
<Directory "{folder}">
    Require all granted
</Directory>
"""

SECTION = re.compile(r'<div class="section">\s*<h2[^>]*>(.*?)</h2>(.*?)(?=<div class="top">|</div>'
                     r'\s*<div class="section">|<div id="footer">)', re.DOTALL)

# What a tag becomes in a wiki's text, in this order.
MARKUP = tuple((re.compile(pattern, re.DOTALL | re.IGNORECASE), text) for pattern, text in (
    (r"<(script|button|style)\b.*?</\1>", ""),
    (r'<a [^>]*class="permalink".*?</a>', ""),
    (r"<pre[^>]*>(.*?)</pre>", "\n\n\x01\n\\1\n\x02\n\n"),
    (r"<h[34][^>]*>(.*?)</h[34]>", r"\n\n===== \1 =====\n\n"),
    (r"<dt[^>]*>(.*?)</dt>", r"\n\n**\1**\n\n"),
    (r"<li[^>]*>", r"\n  * "),
    (r"<code[^>]*>(.*?)</code>", r"''\1''"),
    (r"<(strong|b)>(.*?)</\1>", r"**\2**"),
    (r"<em[^>]*>(.*?)</em>", r"//\1//"),
    (r"</?(p|ul|ol|dl|dd|div|table|tr|blockquote)\b[^>]*>", "\n\n"),
    (r"</t[dh]>", " "),
    (r"<[^>]*>", "")))


def text_of(fragment):
    """HTML as dokuwiki's markup."""
    for pattern, text in MARKUP:
        fragment = pattern.sub(text, fragment)
    # Every other one is a listing, whose lines stay.
    blocks = re.split("[\x01\x02]", html.unescape(fragment).replace("¶", ""))
    return "\n\n".join(f"<code>{block.rstrip()}\n</code>" if place % 2 else paragraphs(block)
                       for place, block in enumerate(blocks)).strip() + "\n"


def paragraphs(text):
    """Without line ends in them; what begins a list's item begins a line."""
    found = []
    for block in re.split(r"\n\s*\n", text):
        lines = re.split(r"\n(?=  \* )", block)
        found.append("\n".join(("  " if line.startswith("  * ") else "") + " ".join(line.split())
                               for line in lines if line.strip()))
    return "\n\n".join(filter(None, found))


def articles(pages):
    """{name: text} of the sections of pages."""
    found = {}
    for page in pages:
        stem = re.sub(r"[^a-z0-9]+", "_", page.url.lower().removesuffix(".html")).strip("_")
        body = page.body.decode("utf-8", "replace")
        for number, (title, rest) in enumerate(SECTION.findall(body), 1):
            text = f"====== {text_of(title).strip()} ======\n\n{text_of(rest)}"
            if LEAST <= len(text) <= MOST:
                found[f"{stem}_{number}"] = text
    return found


def path_of(name):
    return f"{URL}doku.php?id=" + urllib.parse.quote(name)


class Wiki:
    """The application, its articles written; httpds in front of it need `snippet` and
    fpm.MODULES. BenchError where a package or php-fpm is missing."""

    def __init__(self, run, texts):
        folders = packages.whole(PACKAGES, run.say, run.download)
        self.folder = run.folder("wiki")
        for source in folders:
            shutil.copytree(source, self.folder, symlinks=True, dirs_exist_ok=True)
            self.relocate_links()  # of which the next package has the place of some
        self.version = (self.folder / VERSION).read_text(encoding="utf-8").strip()
        for path in self.folder.rglob("*.php"):
            self.rename_places(path)
        self.write(texts)
        lines, self.pid = fpm.serve(run)
        self.snippet = ALIAS.format(url=URL, folder=self.folder) + lines

    def relocate_links(self):
        """Links lead to within the copy; those that lead nowhere go."""
        for path in self.folder.rglob("*"):
            if not path.is_symlink():
                continue
            target = os.readlink(path)
            if target.startswith("/") and (self.folder / target[1:]).exists():
                path.unlink()
                path.symlink_to(os.path.relpath(self.folder / target[1:], path.parent))
            elif target.startswith("/") or not path.exists():
                path.unlink()

    def rename_places(self, path):
        """A script names the copy's folders."""
        before = text = path.read_bytes()
        for place in PLACES:
            text = re.sub(rb"(?<![\w/])" + re.escape(place.encode()),
                          f"{self.folder}{place}".encode(), text)
        if text != before:
            path.write_bytes(text)

    def write(self, texts):
        (self.folder / "etc/dokuwiki/local.php").write_text(SETTINGS, encoding="utf-8")
        data = self.folder / "var/lib/dokuwiki/data"
        for name, text in texts.items():
            (data / "pages" / f"{name}.txt").write_text(text, encoding="utf-8")
        if server.unprivileged_user():
            for path in (data, *data.rglob("*")):
                shutil.chown(path, server.unprivileged_user())


def names_of(texts, count):
    """So many of the articles, evenly spaced."""
    names = sorted(texts)
    return names if len(names) <= count else [names[place * len(names) // count]
                                              for place in range(count)]
