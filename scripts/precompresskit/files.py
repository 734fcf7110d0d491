"""The files to compress, and one precompressed file of one of them.

A precompressed file is written to a temporary file at its place (beside its source, or below
--root), gets the source's mode and its time to the nanosecond, and is renamed, so that a server
never sees half a file. It is up to date if its time equals its source's; if the source's inode has
changed since, it must also decode to the source, because builds give many files one time. A file
that would not be smaller is not kept.

Root may compress a tree that others may write to. They could exchange a folder for a link, and a
file for a pipe, while it works.
"""

import contextlib
import os
import pathlib
import stat
import tempfile
import zlib

from codeckit import decoders
from precompresskit import encoders

# Extensions of compressible files, like ElasticTypes' default media types. tar is left out, because
# a .tar.gz beside a .tar is usually a download of its own.
EXTENSIONS = frozenset(
    "atom bmp css csv dae dtd eot eps geojson glb gltf htm html ico ics js json jsonl jsonld m3u "
    "m3u8 map md mjs mtl ndjson nq nt obj otf pac pls ps rdf rss rtf sh sql stl svg text toml "
    "trig tsv ttc ttf ttl txt vcf vtt wasm webmanifest x3d xhtml xml xsl yaml yml".split())

CODINGS = {".gz": "gzip", ".br": "br", ".zst": "zstd"}
PRECOMPRESSED = tuple(CODINGS)
WINDOW_MOST = 8 << 20  # the most that browsers accept (RFC 9659)
VCS_DIRS = frozenset((".git", ".hg", ".svn"))
TEMP_PREFIX, TEMP_SUFFIX = ".precompress-", ".tmp"


def is_precompressed_name(name):
    return name.endswith(PRECOMPRESSED)


def is_own_name(name):
    """True if precompress writes files of this name."""
    return is_precompressed_name(name) or name.startswith(TEMP_PREFIX)


def has_type(name, extensions):
    return os.path.splitext(name)[1][1:].lower() in extensions


def folders(root, onerror=None):
    """(directory, names of files) of `root` and all below it; links are never followed."""
    for directory, below, names in os.walk(root, onerror=onerror, followlinks=False):
        below[:] = sorted(name for name in below if name not in VCS_DIRS)
        yield directory, sorted(names)


def open_folder(top, folder):
    """A descriptor of `folder`, which is `top` or below it, by no link below `top`."""
    flags = os.O_PATH | os.O_DIRECTORY
    descriptor = os.open(top, flags)
    for part in pathlib.PurePath(os.path.relpath(folder, top)).parts:
        try:
            below = os.open(part, flags | os.O_NOFOLLOW, dir_fd=descriptor)
        finally:
            os.close(descriptor)
        descriptor = below
    return descriptor


@contextlib.contextmanager
def held(top, path):
    """A path of the file that stays in its folder, whatever becomes of the folder's name; `path`
    itself where there is no /proc."""
    folder, name = os.path.split(path)
    if not os.path.isdir("/proc/self/fd"):
        yield path
        return
    descriptor = open_folder(top, folder)
    try:
        yield f"/proc/self/fd/{descriptor}/{name}"
    finally:
        os.close(descriptor)


def open_unless_replaced(path):
    """A regular file, open for reading; a link or a pipe has come since it was found."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError("it is not a regular file any more")
    return open(descriptor, "rb")


def regular_files(root, tally):
    """(directory, name, bytes) of every regular file under `root`."""

    def report(problem):
        tally.error(problem.filename, problem)

    for directory, names in folders(root, report):
        for name in names:
            try:
                info = os.lstat(os.path.join(directory, name))
            except FileNotFoundError:
                continue  # gone since the directory was read
            if stat.S_ISREG(info.st_mode) and not name.startswith(TEMP_PREFIX):
                yield directory, name, info.st_size


def moved(path, origin, target):
    """The path below `target` that corresponds to `path` below `origin`."""
    return os.path.join(target, os.path.relpath(path, origin))


def find_sources(options, tally):
    """The files to compress: {path: (the name to which extensions are added, bytes, the given
    directory)}."""
    # By path, because the given directories may contain each other.
    sources = {}
    for top in options.dirs:
        for directory, name, size in regular_files(top, tally):
            if not is_precompressed_name(name) and (options.all or has_type(name, options.types)):
                path = os.path.join(directory, name)
                stem = moved(path, top, options.root) if options.root else path
                sources[path] = stem, size, top
    return sources


def find_orphans(options, tally):
    """The precompressed files without a source: {path: the given directory}."""
    orphans = {}
    for top in [options.root] if options.root else options.dirs:
        for directory, name, _ in regular_files(top, tally):
            path = os.path.join(directory, name)
            base = os.path.splitext(path)[0]
            source = moved(base, top, options.dirs[0]) if options.root else base
            # By type even with --all: a backup.gz in a served directory has no source.
            if is_precompressed_name(name) and has_type(base, options.types) \
                    and not os.path.lexists(source):
                orphans[path] = top
    return orphans


def prune(orphans, tally):
    for path, top in orphans.items():
        try:
            with held(top, path) as orphan:
                os.unlink(orphan)
            tally.add(pruned=1)
        except OSError as problem:
            tally.error(path, problem)


def copy_access(target, source_info):
    """Gives a file or folder the source's owner and mode."""
    try:
        os.chown(target, source_info.st_uid, source_info.st_gid)
    except PermissionError:
        pass  # only root may change the owner; the file stays the user's
    os.chmod(target, stat.S_IMODE(source_info.st_mode) & 0o777)


def make_folder(folder, source):
    """Makes `folder` and missing ones above it, each with the access of its counterpart."""
    if os.path.isdir(folder):
        return
    make_folder(os.path.dirname(folder), os.path.dirname(source))
    try:
        os.mkdir(folder)
    except FileExistsError:
        return  # by another thread
    copy_access(folder, os.stat(source))


def is_refused(compressed, source_size):
    """True if the server would not send the file because of its content, made by another tool."""
    with open_unless_replaced(compressed) as file:
        head = file.read(18)
        file.seek(max(0, os.fstat(file.fileno()).st_size - 4))
        tail = int.from_bytes(file.read(4), "little")
    if compressed.endswith(".gz"):
        return head[:3] != b"\x1f\x8b\x08" or tail != source_size % 2**32
    if compressed.endswith(".br"):
        return head[:1] == b"\x11"  # a window that RFC 7932 does not have
    return head[:4] != b"\x28\xb5\x2f\xfd" or zstd_window(head) > WINDOW_MOST


def zstd_window(head):
    """The window in bytes of a frame with this beginning (RFC 8878 §3.1.1.1)."""
    flags, window = head[4:6].ljust(2, b"\xff")
    if not flags & 0x20:
        return (1 << 10 + (window >> 3)) // 8 * (8 + (window & 7))
    start, length = 5 + (0, 1, 2, 4)[flags & 3], (1, 2, 4, 8)[flags >> 6]
    return int.from_bytes(head[start:start + length], "little")


def decodes_to(compressed, source):
    """True if that file holds the bytes of the open file, which is at its beginning afterwards."""
    coding = CODINGS[os.path.splitext(compressed)[1]]
    try:
        with open_unless_replaced(compressed) as file:
            pieces = iter(lambda: file.read(encoders.CHUNK), b"")
            same = all(source.read(len(plain)) == plain
                       for plain in decoders.in_pieces(coding, pieces))
        return same and not source.read(1)
    except (ValueError, zlib.error):
        return False
    finally:
        source.seek(0)


def up_to_date_bytes(compressed, source, source_info):
    """The size of the precompressed file if it is up to date; otherwise 0."""
    try:
        info = os.lstat(compressed)
    except FileNotFoundError:
        return 0
    fresh = stat.S_ISREG(info.st_mode) and info.st_mtime_ns == source_info.st_mtime_ns
    # The server sends no file of another owner, so somebody else's is replaced.
    trusted = info.st_uid in (source_info.st_uid, 0, os.geteuid())
    if not fresh or not trusted or is_refused(compressed, source_info.st_size):
        return 0
    if info.st_ctime_ns < source_info.st_ctime_ns:
        if not decodes_to(compressed, source):
            return 0
        # The next run need not compare them again.
        with contextlib.suppress(PermissionError):
            os.utime(compressed, ns=(info.st_atime_ns, info.st_mtime_ns), follow_symlinks=False)
    return info.st_size


def remove_stale(compressed):
    """A file made from an earlier, larger source must not stay behind."""
    try:
        os.unlink(compressed)
    except FileNotFoundError:
        pass


class Maker:
    """Makes precompressed files in several threads. The event `stop` ends them."""

    def __init__(self, codecs, stop):
        self.codecs = codecs
        self.stop = stop
        # Files that did not become smaller, so that the next pass of --watch skips them:
        # {precompressed file: (the source's bytes, its time)}.
        self.not_smaller = {}

    def make_all(self, path, of_source, tally):
        """`of_source`: the file's entry of find_sources()."""
        stem, _, top = of_source
        for codec in self.codecs:
            if self.stop.is_set():
                raise encoders.Interrupted
            try:
                with held(top, path) as source:
                    # Who may write below --root is trusted, by the server too.
                    target = source if stem == path else stem
                    self.make(source, target + codec.extension, (path, stem), codec, tally)
            except OSError as problem:
                tally.error(path, problem)

    def make(self, path, compressed, names, codec, tally):
        """Updates one precompressed file of one file; `names` are what is called path and stem
        elsewhere."""
        with open_unless_replaced(path) as source:
            # Before the first byte is read: if the source changes meanwhile, the result has the
            # older time, is not served, and the next run makes it again.
            info = os.fstat(source.fileno())
            size = up_to_date_bytes(compressed, source, info)
            key, now = names[1] + codec.extension, (info.st_size, info.st_mtime_ns)
            if size:
                tally.add(fresh=1)
            elif self.not_smaller.get(key) != now:
                size = self.write(source, info, compressed, codec, os.path.dirname(names[0]))
                tally.add(written=1 if size else 0)
            if size:
                tally.add_file(codec.extension, info.st_size, size)
            else:
                tally.add(larger=1)
                self.not_smaller[key] = now
                remove_stale(compressed)

    def write(self, source, info, compressed, codec, source_folder):
        """The new file's size; 0 if it would not be smaller."""
        folder = os.path.dirname(compressed)
        make_folder(folder, source_folder)
        handle, temporary = tempfile.mkstemp(TEMP_SUFFIX, TEMP_PREFIX, folder)
        try:
            with open(handle, "wb") as target:
                for piece in encoders.encode(codec, source, info.st_size, self.stop):
                    target.write(piece)
                target.flush()
                size = os.fstat(handle).st_size
                copy_access(handle, info)
                os.utime(handle, ns=(info.st_atime_ns, info.st_mtime_ns))
            if size >= info.st_size:
                return 0
            os.replace(temporary, compressed)
            temporary = None
            return size
        finally:
            if temporary is not None:
                os.unlink(temporary)
