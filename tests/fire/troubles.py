"""Trouble around the server while it answers: what comes whole is right, and afterwards all is as
it was."""

import contextlib
import os
import random
import shutil
import signal
import struct
import tempfile
import time
from pathlib import Path

from kit import env, faults

from .reloads import Repeated
from .site import MOST, Site, make_origin

# Seconds between two blows.
PAUSE = 0.4


def _broken(case, answer, wrong):
    return "broken off or refused" if not answer.complete or answer.status >= 500 else None


def _ask(plan, made, site, excuse=None, seconds=None):
    """Asks for its share of the plan's time, or so long."""
    number, end = plan.first, time.monotonic() + (seconds or plan.seconds / len(TROUBLES))
    while time.monotonic() < end and len(made.failures) < MOST:
        site.ask(plan, made, number, excuse)
        number += 1


def killed_children(plan, made, origin, pick):
    """Children end by SIGKILL: their connections break, and others take over."""
    with Site("elastic", origin, "ElasticMaxMemory 1G\n") as site:
        server = site.server

        def strike():
            with contextlib.suppress(ProcessLookupError, IndexError):
                os.kill(pick.choice(server.children()), signal.SIGKILL)

        with Repeated(strike, PAUSE) as strikes:
            _ask(plan, made, site, _broken)
        made.figures["children killed"] += strikes.count
        made.failures += filter(None, [strikes.failure])
        server.wait_for(lambda: server.status()["ElasticMemory"] == "0", 60,
                        "memory that nobody holds")
        _ask(plan, made, site, seconds=2)


def jumping_clock(plan, made, origin, pick):
    """The calendar jumps by hours and by years, back and forth."""
    if env.PRELOAD:
        return
    folder = Path(tempfile.mkdtemp(prefix="elastic-fire-"))
    clock = folder / "clock"
    clock.write_bytes(bytes(4096))
    clock.chmod(0o644)
    excused = 0

    def strike():
        off = pick.choice((0, 3600, -3600, 86400 * 365, -86400 * 365 * 3, 1, -1))
        with open(clock, "r+b") as file:
            file.write(struct.pack("l", off))

    try:
        with Site("elastic", origin, wrapper=faults.wrapper(faults.library(folder, "clock")),
                    environ={"CLOCK_OFF": str(clock)}) as site:
            def excuse(case, answer, wrong):
                """mod_proxy says that a kept connection ended as it wrote to it, which is the
                backend's right where by its clock the time for another request is over: each such
                line excuses one answer."""
                nonlocal excused
                if answer.complete and answer.status >= 500 and \
                        len(site.server.log.lines("AH01102")) > excused:
                    excused += 1
                    return "broken off or refused"
                return None if answer.complete else "broken off or refused"

            with Repeated(strike, PAUSE) as strikes:
                _ask(plan, made, site, excuse)
            made.figures["jumps of the clock"] += strikes.count
            made.failures += [*site.troubles(), *filter(None, [strikes.failure])]
    finally:
        shutil.rmtree(folder)


def full_disks(plan, made, origin, pick):
    """/dev/shm and the disk of elasticd's position have no room, and the run folder may not be
    written. (Where the disk of a cache is full, mod_cache_disk of httpd 2.4.71 ends the child.)"""
    if not env.IS_ROOT:
        return
    with Site("elastic", origin, "ElasticControl external\nDefaultRuntimeDir {root}/sealed\n"
                "ElasticPosition {root}/full/elastic.position\n", start=False) as site:
        server = site.server
        for name in ("full", "sealed"):
            (server.root / name).mkdir()
        fill = "".join(f"mount -t tmpfs -o size=64k,mode=1777 none {folder}; "
                       f"head -c 60000 /dev/zero >{folder}/filled; chmod a-w {folder}/filled; "
                       for folder in ("/dev/shm", server.root / "full"))
        fill += f"mount -t tmpfs -o ro,size=4k none {server.root}/sealed"
        server.wrapper = ["unshare", "-m", "sh", "-c", f'{fill}; exec "$@"', "sh"]
        server.start()
        _ask(plan, made, site)
        made.failures += site.troubles()


TROUBLES = (killed_children, jumping_clock, full_disks)


def run(plan, made):
    with make_origin() as origin:
        for trouble in TROUBLES:
            before = made.count
            try:
                trouble(plan, made, origin, random.Random(plan.seed))
            except (TimeoutError, AssertionError) as error:
                made.failures.append(f"{trouble.__name__}: {error}")
            made.figures[trouble.__name__.replace("_", " ")] = made.count - before
