"""ElasticCache, where something is wrong with its store: never a wrong byte."""

import contextlib
import os
import re
import signal
import threading

import pytest

from kit import bodies, check, faults
from kit.client import Incomplete
from kit.keep import CHILDREN, KEEP, PINNED, SHMCB, cache, is_kept, page, reload, twice

MAGIC = b"elentry\x01"


def segment(server):
    """Where the store lies in the parent's memory: a mapping of 64 MB that processes share."""
    for line in open(f"/proc/{server.parent()}/maps"):
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        if line.split()[1] == "rw-s" and end - start >= 64 << 20:
            return start, end - start
    raise AssertionError("no store")


def damage(server, change):
    """Changes all entries: `change(head and encoding)` returns what takes their place. How many."""
    start, size = segment(server)
    with open(f"/proc/{server.parent()}/mem", "r+b", buffering=0) as memory:
        memory.seek(start)
        held = memory.read(size)
        found = [match.start() for match in re.finditer(re.escape(MAGIC), held)]
        for at in found:
            memory.seek(start + at)
            memory.write(change(bytearray(held[at:at + 200])))
    return len(found)


def flipped(at):
    def change(entry):
        entry[at] ^= 0x10
        return entry
    return change


@pytest.mark.parametrize("change", [flipped(150), flipped(8), flipped(40), flipped(24),
                                    lambda entry: bytes(200)],
                         ids=["encoding", "sum", "coding", "length", "zeros"])
def test_a_damaged_entry_is_not_used(httpd, change):
    server = httpd(KEEP + PINNED, modules=SHMCB)
    path, body = page(server)
    twice(server, path)
    server.expect_log("elastic: the store of ElasticCache: an entry is damaged")
    reload(server)  # children that have no copy of it
    assert damage(server, change) >= 1
    answer = server.get(path, ae="gzip")
    check.encoded(answer, "gzip", body)
    assert not is_kept(server, answer)
    assert cache(server)["faults"] == 1
    answer = server.get(path, ae="gzip")
    check.encoded(answer, "gzip", body)
    assert is_kept(server, answer)
    reload(server)
    damage(server, change)
    check.encoded(server.get(path, ae="gzip"), "gzip", body)
    assert cache(server)["faults"] == 2
    assert len(server.log.lines("an entry is damaged")) == 1


def test_who_overwrites_a_page_while_it_is_encoded_changes_no_other(httpd, tmp_path):
    """INCLUDES hands over the file's own pages. The file's owner may write them between the hash of
    the body and its encoding, which others with the same body would get."""
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
    assert own.read_bytes() == forged  # it was overwritten meanwhile
    other.unlink()
    answer = server.get("/public.shtml", ae="gzip")
    check.encoded(answer, "gzip", public)
    assert is_kept(server, answer)


def test_no_memory_for_the_store(httpd, tmp_path):
    server = httpd(KEEP + PINNED, modules=SHMCB, allow_log=("ElasticCache is off", "AH00819"),
                   wrapper=faults.wrapper(faults.library(tmp_path, "store-memory")))
    path, body = page(server)
    for _ in range(3):
        check.encoded(server.get(path, ae="gzip"), "gzip", body)
    assert cache(server) == {"hits": 0, "misses": 0, "stored": 0, "faults": 0}
    assert server.log.lines("ElasticCache is off: ElasticCacheStore shmcb:.67108864.: no memory")


# A file system of its own in place of /dev/shm, with no room left, and then httpd.
# In a chroot only /dev/shm is a file system that can be kept from the system's.
FULL = """{ mount --make-rprivate / || mount --make-private /dev/shm; } 2>&- \\
    && mount -t tmpfs -o size=4k tmpfs /dev/shm && ! cat /dev/zero 2>&- >/dev/shm/full \\
    && [ -s /dev/shm/full ] && exec "$@\""""


@pytest.mark.root
def test_dev_shm_is_full(httpd):
    """Nothing of the module lies there."""
    server = httpd(KEEP + PINNED, modules=SHMCB,
                   wrapper=["unshare", "--mount", "--propagation", "unchanged", "sh", "-c",
                            FULL, "sh"])
    assert os.stat(f"/proc/{server.parent()}/root/dev/shm/full").st_size == 4096
    for ends in (reload, lambda server: server.restart()):
        path, body = page(server)
        twice(server, path)
        answer = server.get(path, ae="gzip")
        check.encoded(answer, "gzip", body)
        assert is_kept(server, answer)
        ends(server)
    assert cache(server)["faults"] == 0


def stopped(server):
    """The children that are."""
    found = []
    for pid in server.children():
        with contextlib.suppress(FileNotFoundError):
            state = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0]
            found += [pid] if state == "T" else []
    return found


def test_a_child_that_is_stopped_with_the_lock(httpd, tmp_path):
    """The others do not wait for it, and encode; afterwards all goes on."""
    memory = faults.Memory(tmp_path)
    server = httpd(KEEP + PINNED, modules=SHMCB, mpm_config=CHILDREN,
                   environ={"FAULT_MEMORY": str(memory.path)},
                   wrapper=faults.wrapper(faults.library(tmp_path, "store-stop")))
    path, body = page(server)
    twice(server, path)
    reload(server)  # children that have no copy of it
    server.wait_for(lambda: len(server.children()) > 1, 60, "two children")
    before = cache(server)["faults"]
    memory.fail(1)
    with server.connect(timeout=300) as connection:
        number = connection.send_request(path, ae="gzip")
        server.wait_for(lambda: stopped(server), 60, "a child that is stopped")
        pid, = stopped(server)
        try:
            answer = server.get(path, ae="gzip")
            check.encoded(answer, "gzip", body)
            assert not is_kept(server, answer)
            other, text = page(server)
            for _ in range(3):
                check.encoded(server.get(other, ae="gzip"), "gzip", text)
            assert cache(server)["faults"] > before
        finally:
            os.kill(pid, signal.SIGCONT)
        answer = connection.read_response(number)
    check.encoded(answer, "gzip", body)
    assert is_kept(server, answer)
    reload(server)
    assert is_kept(server, server.get(path, ae="gzip"))


def hammer(server, pages, requests, threads=8):
    """So many requests for all of the pages, of clients that run at the same time; what was wrong.
    A connection that ends with its child is nothing wrong."""
    wrong = []

    def run(offset):
        for number in range(requests):
            path, body = pages[(offset * 7 + number * (offset + 1)) % len(pages)]
            coding = ("gzip", "br")[number % 2]
            with contextlib.suppress(OSError, Incomplete):
                answer = server.get(path, ae=coding)
                if answer.complete and (answer.coding, answer.body) != (coding, body):
                    wrong.append((path, answer))

    running = [threading.Thread(target=run, args=(offset,)) for offset in range(threads)]
    for thread in running:
        thread.start()
    return running, wrong


def test_children_that_meet_in_a_small_store(httpd):
    """Of 128 KB: entries come and go all the time."""
    server = httpd(KEEP + PINNED + "ElasticCacheStore shmcb:(131072)", modules=SHMCB)
    pages = [page(server, bodies.text(8000 + number)) for number in range(40)]
    running, wrong = hammer(server, pages, 40)
    for thread in running:
        thread.join(300)
    assert wrong == []
    after = cache(server)
    # On a busy machine the store is locked for too long at times, which counts as a fault.
    assert after["hits"] > 0 and after["stored"] > 0


def test_children_that_are_killed(httpd):
    server = httpd(KEEP + PINNED + "ElasticCacheStore shmcb:(1048576)", modules=SHMCB,
                   allow_log=("AH00052", "AH00051", "a child ended while it used it"))
    pages = [page(server, bodies.text(8000 + number)) for number in range(40)]
    running, wrong = hammer(server, pages, 30)
    while any(thread.is_alive() for thread in running):
        for pid in server.children()[:1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        running[0].join(0.3)
    for thread in running:
        thread.join(300)
    assert wrong == []
    reload(server)
    path, body = pages[0]
    for _ in range(3):
        answer = server.get(path, ae="gzip")
        check.encoded(answer, "gzip", body)
    assert is_kept(server, answer)
