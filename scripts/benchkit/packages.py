"""Debian packages as a source of real web pages: downloaded by apt, kept in build/bench/packages
(or ELASTIC_BENCH_CACHE), never installed."""

import contextlib
import dataclasses
import os
import pathlib
import shutil
import subprocess
import tempfile

from benchkit import tools
from benchkit.tools import say

KINDS = (".html", ".css", ".js", ".svg", ".json", ".gz")
LARGEST = 2 << 20  # larger files are data, not pages
PATIENCE = 600  # seconds for a download of about 30 MB


@dataclasses.dataclass(frozen=True)
class Package:
    name: str
    version: str
    files: tuple  # (path in the package, local path), sorted

    def of_kind(self, *suffixes):
        return [(name, path) for name, path in self.files if name.endswith(suffixes)]


def is_page(path):
    return (path.suffix in KINDS and not path.is_symlink() and path.is_file()
            and path.stat().st_size <= LARGEST)


def names(found):
    return ", ".join(f"{package.name} {package.version}" for package in found)


def cache():
    return pathlib.Path(os.environ.get("ELASTIC_BENCH_CACHE")
                        or tools.ROOT / "build" / "bench" / "packages")


def get(names, download=True):
    """The packages of `names` that are available, in that order, and the names of the others."""
    absent = [name for name in names if not (cache() / name / "version").exists()]
    if download and absent:
        fetch(absent)
    found = [find(name) for name in names]
    missing = [name for name, package in zip(names, found) if package is None]
    return [package for package in found if package is not None], missing


def find(name):
    folder = cache() / name
    if not (folder / "version").exists():
        return None
    tree = folder / "tree"
    files = sorted((str(path.relative_to(tree)), path) for path in tree.rglob("*")
                   if path.is_file())
    return Package(name, (folder / "version").read_text(encoding="utf-8"), tuple(files))


def fetch(names):
    """Downloads and unpacks the packages; failures are left out."""
    apt, dpkg = shutil.which("apt-get"), shutil.which("dpkg-deb")
    if not apt or not dpkg:
        return
    try:
        cache().mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        say(f"no packages are downloaded: {cache()}: {problem.strerror}")
        return
    say(f"downloading {len(names)} Debian packages into {cache()}")
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=cache()) as folder:
        for some in (names, *([name] for name in names)):  # one unknown name makes apt fail for all
            with contextlib.suppress(subprocess.TimeoutExpired):
                if subprocess.run([apt, "download", "-q", *some], cwd=folder, timeout=PATIENCE,
                                  stdin=subprocess.DEVNULL, capture_output=True,
                                  check=False).returncode == 0 and some is names:
                    break
        for path in sorted(pathlib.Path(folder).glob("*.deb")):
            unpack(dpkg, path, pathlib.Path(folder) / "unpacked")


def unpack(dpkg, deb, temporary):
    """Unpacks the pages of a .deb into the cache, completely or not at all."""
    name = deb.name.partition("_")[0]
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    tools.output_of(dpkg, "-x", str(deb), str(temporary / "tree"), timeout=PATIENCE)
    for path in (temporary / "tree").rglob("*"):
        if not is_page(path) and (path.is_symlink() or not path.is_dir()):
            path.unlink()
    version = tools.output_of(dpkg, "--field", str(deb), "Version").strip()
    (temporary / "version").write_text(version, encoding="utf-8")
    shutil.rmtree(cache() / name, ignore_errors=True)
    os.rename(temporary, cache() / name)
