"""Releases of packages of npm, each beside the one before it: a framework, a charting library, a
utility; a patch release and a minor one."""

import contextlib
import dataclasses
import os
import shutil
import subprocess
import tarfile
import tempfile

from benchkit import packages, tools

PATIENCE = 120  # seconds for a download of some megabytes

PATCH, MINOR = "patch", "minor"


@dataclasses.dataclass(frozen=True)
class Release:
    package: str
    file: str  # in the package
    kind: str
    old: str
    new: str

    @property
    def title(self):
        return f"{self.package} {self.old} → {self.new}"


RELEASES = (
    Release("vue", "dist/vue.global.prod.js", PATCH, "3.5.12", "3.5.13"),
    Release("vue", "dist/vue.global.prod.js", MINOR, "3.4.38", "3.5.0"),
    Release("chart.js", "dist/chart.umd.js", PATCH, "4.4.6", "4.4.7"),
    Release("chart.js", "dist/chart.umd.js", MINOR, "4.4.9", "4.5.0"),
    Release("axios", "dist/axios.min.js", PATCH, "1.7.8", "1.7.9"),
    Release("axios", "dist/axios.min.js", MINOR, "1.7.9", "1.8.0"))


def read(release, version, run):
    """The file of one version; BenchError where the package cannot be had."""
    archive = packages.cache() / "npm" / f"{release.package}-{version}.tgz"
    if not archive.exists():
        if not run.download:
            raise tools.BenchError("nothing is downloaded in this run")
        fetch(f"{release.package}@{version}", archive, run.say)
    with tarfile.open(archive) as opened:
        return opened.extractfile(f"package/{release.file}").read()


def fetch(name, archive, say):
    npm = tools.find("npm")
    say(f"downloading {name} of npm into {archive.parent}")
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run([npm, "pack", "--silent", name], cwd=folder, timeout=PATIENCE,
                           stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if not os.path.exists(os.path.join(folder, archive.name)):
            raise tools.BenchError(f"{name} could not be downloaded")
        shutil.move(os.path.join(folder, archive.name), archive)


def get(run):
    """([(Release, the last version's file, this one's)], why others are not there)."""
    found, notes = [], []
    for release in RELEASES:
        try:
            found.append((release, *(read(release, version, run)
                                     for version in (release.old, release.new))))
        except tools.BenchError as problem:
            notes.append(f"{release.title}: {problem}")
    return found, notes
