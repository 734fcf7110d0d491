"""Trouble around the server while it answers: what comes whole is right, and afterwards all is as
it was."""

import contextlib
import os
import random
import shutil
import signal
import struct
import tempfile
import threading
import time
from pathlib import Path

from kit import env, faults
from kit.process import until

from . import cases, outcome
from .site import Site, kinds, make_origin
from .target import Target, said

# Beyond this a trouble has shown what it does.
MOST = 20

# Seconds between two blows.
PAUSE = 0.4


class Striker(threading.Thread):
    """Calls strike() again and again."""

    def __init__(self, strike):
        super().__init__(daemon=True)
        self._strike = strike
        self._over = threading.Event()
        self.count = 0

    def run(self):
        while not self._over.wait(PAUSE):
            self._strike()
            self.count += 1

    def stop(self):
        self._over.set()
        self.join(30)


def _ask(plan, made, target, excused):
    """Asks for the plan's time; answers that `excused` takes for the trouble's are counted apart.
    """
    began, number, count = time.monotonic(), plan.first, 0
    while plan.goes_on(count, began) and len(made.failures) < MOST:
        protocol, batch = cases.batch(plan.seed, number, target.judge.seen)
        batch = [case for case in batch if case.request.method != "PROPFIND"]
        for complaint in target.ask(protocol, batch):
            if excused(complaint[1]):
                made.figures["broken off or refused"] += 1
            else:
                made.failures.append(said(number, target, protocol, complaint))
        count += len(batch)
        number += 1
    made.count += count


def _nobody(answer):
    return False


def _broken(answer):
    return not answer.whole or answer.status >= 500


def _lost_backend(target):
    """Whether mod_proxy says that a kept connection ended as it wrote to it, which is the backend's
    right where by its clock the time for another request is over. It excuses as many answers."""
    def excused(answer):
        if not answer.whole:
            return True
        line = next((line for line in target.logged if "AH01102" in line), None)
        if answer.status < 500 or line is None:
            return False
        target.logged.remove(line)
        return True

    return excused


def _elastic(origin, text="", **options):
    kind = next(kind for kind in kinds() if kind.elastic)
    return Site(kind, origin, "ElasticMaxMemory 1G\n" + text, **options)


def killed_children(plan, made, origin):
    """Children end by SIGKILL: their connections break, and others take over."""
    site = _elastic(origin)
    target = Target(site)
    pick = random.Random(plan.seed)

    def strike():
        with contextlib.suppress(ProcessLookupError, IndexError):
            os.kill(pick.choice(site.server.children()), signal.SIGKILL)

    striker = Striker(strike)
    try:
        striker.start()
        _ask(plan, made, target, _broken)
        striker.stop()
        made.figures["children killed"] += striker.count
        until(lambda: site.server.status()["ElasticMemory"] == "0", 60, "memory that nobody holds")
        _ask(outcome.Plan(200, 20, plan.seed), made, target, _nobody)
    finally:
        striker.stop()
        target.close()
        site.close()


def jumping_clock(plan, made, origin):
    """The calendar jumps by hours and by years, back and forth."""
    if env.PRELOAD:
        return
    folder = Path(tempfile.mkdtemp(prefix="elastic-fire-"))
    clock = folder / "clock"
    clock.write_bytes(bytes(4096))
    library = faults.library(folder, "clock")
    clock.chmod(0o644)
    site = _elastic(origin, wrapper=faults.wrapper(library), environ={"CLOCK_OFF": str(clock)})
    target = Target(site)
    pick = random.Random(plan.seed)

    def strike():
        off = pick.choice((0, 3600, -3600, 86400 * 365, -86400 * 365 * 3, 1, -1))
        with open(clock, "r+b") as file:
            file.write(struct.pack("l", off))

    striker = Striker(strike)
    striker.start()
    try:
        # What is kept in a cache is too old, or of the future, by turns: httpd asks for it anew.
        _ask(plan, made, target, _lost_backend(target))
        made.figures["jumps of the clock"] += striker.count
        made.failures += site.troubles()
    finally:
        striker.stop()
        target.close()
        site.close()
        shutil.rmtree(folder)


def full_disks(plan, made, origin):
    """/dev/shm and the disk of elasticd's position have no room, and the run folder may not be
    written. (Where the disk of a cache is full, mod_cache_disk of httpd 2.4.71 ends the child.)"""
    if not env.IS_ROOT:
        return
    text = "ElasticControl external\nElasticPosition {root}/full/elastic.position\n" \
           "DefaultRuntimeDir {root}/sealed\n"
    site = _elastic(origin, text, start=False)
    root = site.server.root
    for name in ("full", "sealed"):
        (root / name).mkdir()
    fill = "; ".join(f"mount -t tmpfs -o size=64k,mode=1777 none {folder}; "
                     f"head -c 60000 /dev/zero >{folder}/filled; chmod a-w {folder}/filled"
                     for folder in ("/dev/shm", root / "full"))
    fill += f"; mount -t tmpfs -o ro,size=4k none {root}/sealed"
    site.server.wrapper = ["unshare", "-m", "sh", "-c", f'{fill}; exec "$@"', "sh"]
    target = None
    try:
        site.server.start()
        target = Target(site)
        _ask(plan, made, target, _nobody)
        made.failures += site.troubles()
    finally:
        if target:
            target.close()
        site.close()


TROUBLES = (killed_children, jumping_clock, full_disks)


def run(plan):
    made = outcome.Outcome()
    began = time.monotonic()
    origin = make_origin()
    share = outcome.Plan(plan.count // len(TROUBLES), plan.seconds / len(TROUBLES), plan.seed,
                         plan.first)
    try:
        for trouble in TROUBLES:
            before = made.count
            try:
                trouble(share, made, origin)
            except (TimeoutError, AssertionError) as error:
                made.failures.append(f"{trouble.__name__}: {error}")
            made.figures[trouble.__name__.replace("_", " ")] = made.count - before
    finally:
        origin.stop()
    made.seconds = time.monotonic() - began
    return made
