"""ElasticCache with a damaged store: never a wrong byte."""

import contextlib
import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from kit import bodies, check, faults
from kit.client import Incomplete
from kit.keep import CHILDREN, KEEP, PINNED, SHMCB, cache, kept, page, reload, twice

MAGIC = b"elentry\x01"


def damage(server, change):
    """Replaces all entries in the parent's memory by `change(head and encoding)`; returns their
    number."""
    found = 0
    with open(f"/proc/{server.parent()}/maps") as maps, \
            open(f"/proc/{server.parent()}/mem", "r+b", buffering=0) as memory:
        for start, end, mode in re.findall(r"(?m)^(\w+)-(\w+) (\S+)", maps.read()):
            start, size = int(start, 16), int(end, 16) - int(start, 16)
            if mode != "rw-s" or size < 64 << 20:
                continue
            memory.seek(start)
            held = memory.read(size)
            for match in re.finditer(re.escape(MAGIC), held):
                memory.seek(start + match.start())
                memory.write(change(bytearray(held[match.start():match.start() + 200])))
                found += 1
    return found


def flipped(at):
    def change(entry):
        entry[at] ^= 0x10
        return entry
    return change


@pytest.mark.parametrize("change", [flipped(150), flipped(40), lambda entry: bytes(200)],
                         ids=["encoding", "coding", "zeros"])
def test_a_damaged_entry_is_not_used(httpd, change):
    server = httpd(KEEP + PINNED, modules=SHMCB)
    path, body = page(server)
    twice(server, path)
    server.expect_log("elastic: ElasticCacheStore: a compressed copy is damaged")
    for count in (1, 2):
        reload(server)  # the new children have no local copies
        assert damage(server, change) >= 1
        assert [kept(server, path, body) for _ in range(2)] == [False, True]
        assert cache(server)["faults"] == count
    assert len(server.log.lines("a compressed copy is damaged")) == 1


def test_who_overwrites_a_page_while_it_is_encoded_changes_no_other(httpd, tmp_path):
    """INCLUDES passes on the file's own pages. The owner may write to them between the body's hash
    and its encoding, which others with the same body would get."""
    public = b"<p>public</p>" * 3000
    forged = b"<p>forged</p>" * 3000
    server = httpd(KEEP + PINNED + "Options +Includes\nAddType text/html .shtml\n"
                   "AddOutputFilter INCLUDES .shtml\n", modules=(*SHMCB, "include"),
                   files={"own.shtml": public, "public.shtml": public},
                   wrapper=faults.wrapper(faults.library(tmp_path, "gzip-overwrite")), start=False)
    own, other = server.docs / "own.shtml", server.docs / "other"
    own.chmod(0o666)
    server.environ.update(OVERWRITE_FROM=str(other), OVERWRITE_TO=str(own))
    server.start()
    check.encoded(server.get("/own.shtml", ae="gzip"), "gzip", public)
    server.write("other", forged)
    check.encoded(server.get("/own.shtml", ae="gzip"), "gzip", public)
    assert own.read_bytes() == forged  # overwritten meanwhile
    other.unlink()
    assert kept(server, "/public.shtml", public)


def test_no_memory_for_the_store(httpd, tmp_path):
    server = httpd(KEEP + PINNED, modules=SHMCB, allow_log=("ElasticCache is off", "AH00819"),
                   wrapper=faults.wrapper(faults.library(tmp_path, "store-memory")))
    path, body = page(server)
    assert not any(kept(server, path, body) for _ in range(3))
    assert not any(cache(server).values())
    assert server.log.lines("ElasticCache is off: ElasticCacheStore shmcb:.*: there is no memory")


def test_children_that_are_killed(httpd):
    """Children die while many clients request more pages than fit, so that entries come and go."""
    server = httpd(KEEP + PINNED + "ElasticCacheStore shmcb:(131072)", modules=SHMCB,
                   allow_log=("AH00052", "AH00051", "a child ended while it used the store"))
    pages = [page(server, bodies.text(8000 + number)) for number in range(40)]

    def run(offset):
        for number in range(30):
            path, body = pages[(offset * 7 + number * (offset + 1)) % len(pages)]
            coding = ("gzip", "br")[number % 2]
            # A connection may end with its child.
            with contextlib.suppress(OSError, Incomplete):
                answer = server.get(path, ae=coding)
                assert not answer.complete or (answer.coding, answer.body) == (coding, body), path

    with ThreadPoolExecutor(8) as pool:
        running = [pool.submit(run, offset) for offset in range(8)]
        while not all(one.done() for one in running):
            for pid in server.children()[:1]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            wait(running, 0.3)
    for one in running:
        one.result()
    reload(server)
    assert [kept(server, *pages[0]) for _ in range(3)][-1]


def is_used(server):
    """True if the store accepts an entry."""
    before = cache(server)["stored"]
    twice(server, page(server)[0])
    return cache(server)["stored"] > before


def test_the_store_goes_on_once_after_a_child_that_ended_in_the_middle_of_it(httpd, tmp_path):
    lock = faults.Folder(tmp_path, "store-lock")
    server = httpd(KEEP + PINNED, modules=SHMCB, mpm_config=CHILDREN, **lock.options,
                   allow_log=("AH00052", "AH00051", "a child ended while it used the store"))

    def die():
        def is_done():
            with contextlib.suppress(OSError, Incomplete):
                server.get(path, ae="gzip")
            return not lock["die"]

        path, _ = page(server)
        lock["die"] = True
        server.wait_for(is_done, 60, "the end of a child")

    for _ in range(2):
        path, body = page(server)
        twice(server, path)
        die()
        assert is_used(server) and [kept(server, path, body) for _ in range(3)][-1]
        assert cache(server)["broken"] == 0
        die()
        assert not any(is_used(server) for _ in range(3))
        assert cache(server)["broken"] == 1
        assert "The cache is off" in server.get("/elastic-status").body.decode()
        reload(server)
    assert is_used(server) and cache(server)["faults"] == 4
    for what in ("goes on without what it had", "is off until the next reload"):
        assert len(server.log.lines(f"a child ended while it used the store, which {what}")) == 2


def test_who_does_not_wait_for_the_store_has_found_no_fault(httpd, tmp_path):
    lock = faults.Folder(tmp_path, "store-lock")
    server = httpd(KEEP + PINNED, modules=SHMCB, **lock.options)
    lock["slow"] = True

    def meet():
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: twice(server, page(server)[0]), range(8)))
        return cache(server)["busy"] > 0

    server.wait_for(meet, 20, "one that did not wait")
    assert cache(server)["faults"] == 0
