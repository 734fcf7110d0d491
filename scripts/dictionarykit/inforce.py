"""Writes dictionary and configuration of a site, has httpd read it, and takes all of it back."""

import contextlib
import os
import shutil

from codeckit.dictionaries import field
from dictionarykit import (configuration, failure, files, selfcheck, sources, state,
                           unprivileged)

KEEP = 2  # previous dictionaries, which browsers may ask for once more


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


class Place:
    """A site's files."""

    def __init__(self, server, top, site):
        origin = sources.origin(site)
        self.server, self.top, self.host = server, top, origin[1]
        self.name = state.name_of(origin)
        self.folder = os.path.join(top, self.name)
        self.conf_name = f"elastic-dictionary-{self.name}"
        self.conf = server and server.conf_of(self.conf_name)

    def prepare(self):
        """The folder, which is there afterwards; the folders that were made."""
        made = [path for path in (self.top, self.folder) if not os.path.isdir(path)]
        for path in {os.path.dirname(self.conf), self.top, self.folder}.difference(made):
            if not os.access(path, os.W_OK):
                raise failure.Failed(f"{path} cannot be written: become root, or use --print")
        for path in made:
            try:
                os.makedirs(path, mode=0o755)
                os.chmod(path, 0o755)
            except OSError as problem:
                raise failure.Failed(f"{path} cannot be made: {problem.strerror}") from None
        return made

    def store_elsewhere(self):
        """The folder of an ElasticDictionaryStore that another file sets; "": none does."""
        found = self.server.value_of("ElasticDictionaryStore", self.conf)
        return os.path.join(self.server.fact('ServerRoot: "(.*)"'), found[1]) if found else ""

    def make_store(self, store):
        """The folder of httpd's own copies; whether it was made."""
        if os.path.isdir(store):
            return False
        try:
            os.makedirs(store, mode=0o700)
            if os.geteuid() == 0:
                os.chown(store, self.server.user(), -1)
        except OSError as problem:
            raise failure.Failed(f"{store} cannot be made: {problem}") from None
        return True

    def configure(self, text):
        """In force when it returns; whatever it raises, the caller takes it back."""
        is_new = not os.path.exists(self.conf)
        files.replace(self.conf, text.encode())
        if is_new:
            self.server.switch(self.conf_name, True)
        self.server.configtest()
        self.server.reload()

    def restore(self, before):
        """The configuration's file as it was: bytes, or None."""
        if before is not None:
            files.replace(self.conf, before)
            return
        with contextlib.suppress(failure.Failed):
            self.server.switch(self.conf_name, False)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.conf)

    def reload(self):
        if self.server.is_running():
            self.server.configtest()
            self.server.reload()

    def take_back(self, before):
        """As restore(), and in force, if httpd reloads at all."""
        self.restore(before)
        with contextlib.suppress(failure.Failed):
            self.reload()

    def remove(self):
        """All that is the site's."""
        self.restore(None)
        self.reload()
        shutil.rmtree(self.folder, ignore_errors=True)


def put(place, site, content, made, order):
    """Has the dictionary in force, checked by visits; what these have seen. Whatever goes wrong,
    everything is as before."""
    before, present = read(place.conf), set(os.listdir(place.folder))
    try:
        name = files.write(place.folder, content)
        names = [name] + [one for one in files.present(place.folder) if one != name][:KEEP]
        rules = [rule for rule, _ in made["rules"]]
        place.configure(configuration.text_of(site, names, field(content), rules))
        seen = unprivileged.call(selfcheck.check, site.site, order.reach, content, site.url + name,
                                 made["held"], [url for _, url in made["rules"]])
    except BaseException:
        place.take_back(before)
        for path in set(os.listdir(place.folder)) - present:
            os.unlink(os.path.join(place.folder, path))
        raise
    files.prune(place.folder, KEEP)
    return name, seen


def sites(args):
    """{name: state} of the sites that a command is for; Failed where there is none."""
    found = state.read_all(args.out)
    if args.site:
        found = {name: one for name, one in found.items()
                 if one["site"].rstrip("/") == args.site.rstrip("/")}
    if not found:
        who = f"{args.site} has no" if args.site else "No site has a"
        raise failure.Failed(f"{who} dictionary in {args.out}")
    return found
