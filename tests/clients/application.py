"""Applications in PHP from Debian's packages, which are unpacked and not installed, and who visits
all their pages.

    wiki = Application("dokuwiki")              # a copy of what the package has, below wiki.root
    wiki.replace("usr/share/dokuwiki/inc/preload.php", ("/etc/", f"{wiki.root}/etc/"))
    wiki.start("var/lib/dokuwiki")              # its php-fpm
    server = wiki.serve(site, "usr/share/dokuwiki")
    Visitor(server).crawl(["/"], Rules(...))
"""

import html
import os
import re
import shutil
import tempfile
import urllib.parse
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

from kit import env
from kit.fpm import Fpm
from kit.log import ErrorLog
from site_of import give

_CONFIG = """
DocumentRoot "{docs}"
DirectoryIndex index.php
TypesConfig /etc/mime.types
<FilesMatch "\\.php$">
    SetHandler "{handler}"
</FilesMatch>
<Directory "{docs}">
    Options +FollowSymLinks
</Directory>
"""


def _link(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


class Application:
    def __init__(self, name):
        self.root = Path(tempfile.mkdtemp(prefix="elastic-application-"))
        self.root.chmod(0o755)
        (self.root / "run").mkdir()
        # Of the large folder links will do: who changes a file of it makes another one.
        for folder in (f"usr/share/{name}", f"etc/{name}", f"var/lib/{name}"):
            if (env.DEBIAN / folder).exists():
                shutil.copytree(env.DEBIAN / folder, self.root / folder, symlinks=True,
                                copy_function=_link if "share" in folder else shutil.copy2)
        self._move_links()
        self._log = ErrorLog(self.root / "php.log")
        self._fpm = None

    def _move_links(self):
        """Those to files of the package lead to the copies; others, to where they led."""
        for folder, folders, files in os.walk(self.root):
            for path in filter(Path.is_symlink, (Path(folder, name) for name in folders + files)):
                to = os.path.normpath(
                    os.path.join("/", path.parent.relative_to(self.root), os.readlink(path)))
                path.unlink()
                path.symlink_to(f"{self.root}{to}" if os.path.lexists(f"{self.root}{to}") else to)

    def write(self, path, text):
        """A file of its own in place of the package's."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        file.write_text(text)

    def replace(self, path, *pairs):
        text = (self.root / path).read_text()
        for old, new in pairs:
            assert old in text, (path, old)
            text = text.replace(old, new)
        self.write(path, text)

    def start(self, *own):
        """Its php-fpm, which may write to the folders `own`."""
        for folder in ("run", *own):
            give(self.root / folder)
        self._fpm = Fpm(self.root, "php_admin_value[memory_limit] = 256M", options=())

    def serve(self, site, docs):
        """A server by the fixture `site`; `docs` is a folder below its root."""
        return site(_CONFIG.format(docs=self.root / docs, handler=self._fpm.handler),
                    ["proxy", "proxy_fcgi"], allow_log=["PHP message: PHP (Warning|Deprecated)"])

    def stop(self):
        if self._fpm:
            self._fpm.stop()
        errors = self._log.lines("PHP (Fatal|Parse)")
        if not env.KEEP:
            shutil.rmtree(self.root, ignore_errors=True)
        assert not errors, errors


class Rules(NamedTuple):
    most: int  # pages
    skip: str  # a pattern of links that change something, or lead nowhere
    blur: tuple  # patterns of what is another with every answer


class _Links(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found += [value for name, value in attrs if value and name in ("href", "src")]


class Visitor:
    def __init__(self, server):
        self.server = server
        self._cookies = {}

    def ask(self, path, ae=None, form=None, **headers):
        body = urllib.parse.urlencode(form).encode() if form else b""
        if form:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        headers["Host"] = f"127.0.0.1:{self.server.port}"
        if self._cookies:
            headers["Cookie"] = "; ".join(f"{k}={v}" for k, v in self._cookies.items())
        answer = self.server.get(path, ae=ae, headers=headers, body=body,
                                 method="POST" if form else "GET")
        for cookie in answer.headers.all("Set-Cookie"):
            name, _, value = cookie.partition(";")[0].partition("=")
            self._cookies[name] = value
        return answer

    def follow(self, path, ae):
        """(path, answer) at the end of redirections from there."""
        while (answer := self.ask(path, ae)).status in (301, 302):
            path = next(self._links(path, answer))
        return path, answer

    def send(self, path, fields):
        """Fills in the form of the page `path` that has the first of the fields, beside its hidden
        ones; the answer to that."""
        path, page = self.follow(path, "gzip")
        names = [f'name="{next(iter(fields))}"'.encode(), f"name='{next(iter(fields))}'".encode()]
        [form] = [text for text in re.findall(rb"<form.*?</form>", page.body, re.S)
                  if any(name in text for name in names)]
        hidden = {}
        for text in re.findall(rb"<input[^>]*type=.hidden.[^>]*>", form):
            name, value = (re.search(rb"\b%s=([\"'])(.*?)\1" % key, text)
                           for key in (b"name", b"value"))
            if name and value:
                hidden[name[2].decode()] = html.unescape(value[2].decode())
        action = re.search(rb"\baction=([\"'])(.*?)\1", form)
        to = urllib.parse.urljoin(path, html.unescape(action[2].decode())) if action else path
        return self.ask(re.sub("^https?://[^/]*", "", to), "gzip", form={**hidden, **fields})

    def crawl(self, paths, rules):
        """Every page that can be reached, as it is and in each coding: all have one content. How
        many there were."""
        queue, done = list(paths), set(paths)
        while queue and len(done) - len(queue) < rules.most:
            path = queue.pop(0)
            for link in self._same(path, rules):
                if link not in done and not re.search(rules.skip, link):
                    done.add(link)
                    queue.append(link)
        return len(done) - len(queue)

    def _same(self, path, rules):
        plain = self.ask(path)
        assert plain.coding is None and plain.status < 500, (path, plain)
        for coding in ("gzip", "gzip, deflate, br"):
            answer = self.ask(path, coding)
            assert answer.status == plain.status, (path, plain, answer)
            assert answer.coding in (None, *coding.split(", ")), (path, answer)
            if answer.status == 200 and len(plain.body) > 3000 and _is_text(plain):
                assert answer.coding and answer.varies, (path, answer)
            _compare(path, rules, plain.body, answer.body)
            tag = answer.headers.get("ETag")
            again = tag and self.ask(path, coding, **{"If-None-Match": tag})
            assert not again or again.status in (304, plain.status), (path, again)
        return self._links(path, plain)

    def _links(self, path, answer):
        host = f"127.0.0.1:{self.server.port}"
        links = [answer.headers["Location"]] if "Location" in answer.headers else []
        if answer.headers.get("Content-Type", "").startswith("text/html"):
            links += _Links(answer.body.decode(errors="replace")).found
        for link in links:
            url = urllib.parse.urlsplit(urllib.parse.urljoin(f"http://{host}{path}", link.strip()))
            if url.scheme == "http" and url.netloc == host:
                yield urllib.parse.quote(url.path or "/", safe="/%:@!$&'()*+,;=~-._") \
                    + (f"?{url.query}" if url.query else "")


def _is_text(answer):
    return answer.headers.get("Content-Type", "").startswith(("text/", "application/javascript"))


def _compare(path, rules, one, other):
    for pattern in rules.blur:
        one, other = (re.sub(pattern.encode(), b"~", body) for body in (one, other))
    if one != other:
        at = len(os.path.commonprefix([one, other]))
        near = slice(max(0, at - 60), at + 60)
        raise AssertionError(f"{path}: the pages differ at {at} of {len(one)} and {len(other)} "
                             f"bytes: {one[near]} {other[near]}")
