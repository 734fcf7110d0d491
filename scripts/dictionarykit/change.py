"""Changes from one state to another, as a whole: files, configuration, httpd's reload, a check.
After an error, a signal or a full disk everything is as before; after kill -9 the next command
restores the state from the journal.

The files on disk follow from a state: the configuration is made from it, and dictionaries have
names of their content. So an undo puts the previous state in force.
"""

import contextlib
import os
import shutil
import signal

from dictionarykit import httpd, making, state, timer
from dictionarykit.exchange import Failed

JOURNAL = "before.json"
# The journal's extra bytes. Released first, they make room for an undo on a full disk.
ROOM = 64 << 10
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def uninterrupted():
    """Delays signals until afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Place:
    """The folder of states and dictionaries, and their httpd."""

    def __init__(self, folder, server):
        self.folder, self.server = folder, server
        self.is_broken = False  # the configuration was broken before, by others
        self.file, self.journal = self.path(state.FILE), self.path(JOURNAL)

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self):
        return state.read(self.file) or state.State(self.server.folder, self.server.given)

    def apply(self, wanted):
        """Puts a state in force; if httpd does not run, it reads the state when it starts."""
        text, conf = wanted.configuration(self.folder), self.server.conf_of()
        if text is None:
            self.server.switch(False)
            state.remove(conf)
        else:
            if wanted.made_store and not os.path.isdir(wanted.store):
                os.makedirs(wanted.store, mode=0o700)
                if os.geteuid() == 0:
                    os.chown(wanted.store, self.server.user(), -1)
            if state.read_file(conf) != text.encode():
                state.replace(conf, text.encode())
            self.server.switch(True)
        try:
            if not self.server.is_running():
                return
            self.server.configtest()
        except Failed as problem:
            if not self.is_broken:
                raise
            print(f"httpd's configuration was broken before, and httpd is not reloaded:\n{problem}")
            return
        self.server.reload()

    def take_back(self):
        """Restores the journal's state, as far as httpd reloads."""
        before, after = state.read(self.journal), self.read()
        os.truncate(self.journal, len(state.read_file(self.journal).rstrip()))
        state.write(self.file, before)
        try:
            self.apply(before)
        except Failed as problem:
            print(f"httpd was not reloaded: {problem}")
        if after.made_store and not before.sites:
            shutil.rmtree(after.store, ignore_errors=True)
        os.unlink(self.journal)
        self.sweep(before)

    def repair(self):
        """Undoes the changes of a killed command."""
        if os.path.exists(self.journal):
            print("An earlier command was ended in its midst: what it did is taken back.",
                  flush=True)
            with uninterrupted():
                self.take_back()

    def sweep(self, known):
        """Removes files that belong to no site; everything if there is none."""
        names = {site.dictionary for site in known.sites}
        for name in os.listdir(self.folder):
            is_dictionary = state.NAME.match(name.removesuffix(".br"))
            if is_dictionary and name.removesuffix(".br") not in names or name.endswith(".new"):
                state.remove(self.path(name))
        state.remove(state.temporary_of(self.server.conf_of()))
        if known.sites:
            return
        timer.turn_off(self.folder)
        if known.made_store:
            for _ in range(3):  # httpd's children may write to it meanwhile
                shutil.rmtree(known.store, ignore_errors=True)
        state.remove(self.file)
        with contextlib.suppress(OSError):
            state.remove(self.path(state.LOCK))
            os.rmdir(self.folder)

    def change(self, after, content=None, check=lambda: None):
        """Puts `after` in force, with the content of a new dictionary; returns the result of
        `check`, which raises Failed if it does not work."""
        before, has_begun = self.read(), False
        try:
            state.write(self.journal, before, ROOM)
            has_begun = True
            state.write(self.file, after)
            if content is not None:
                path = self.path(state.name_of(content))
                state.replace(path, content)
                state.replace(path + ".br", making.sent(content))
            self.apply(after)
            seen = check()
            os.unlink(self.journal)
        except BaseException:
            with uninterrupted():
                try:
                    if os.path.exists(self.journal):
                        self.take_back()
                    elif not has_begun:
                        self.sweep(before)
                except OSError as problem:
                    raise Failed(f"{problem}: what was begun is not taken back. Mend that, and run "
                                 "`elastic-dictionary status`, which does it") from None
            raise
        self.sweep(after)
        return seen

    def leave(self):
        """Leaves nothing behind if no site has a dictionary."""
        with uninterrupted():
            if os.path.isdir(self.folder) and not os.path.exists(self.journal):
                self.sweep(self.read())


def open_place(folder, server):
    """Opens the place under the folder's lock, and repairs it after a killed command."""
    state.check_secure(folder)
    state.lock(folder)
    place = Place(folder, server)
    place.repair()
    return place


def of_folder(folder):
    """With the httpd that its state names; raises Failed if no site has a dictionary."""
    state.check_secure(folder)
    for name in (JOURNAL, state.FILE):
        known = state.read(os.path.join(folder, name))
        if known and (known.sites or name == JOURNAL):
            return open_place(folder, httpd.Httpd(known.confdir, known.apachectl))
    raise Failed(f"No site has a dictionary in {folder}")
