"""Releases of npm packages, each beside the previous one."""

import contextlib
import dataclasses
import os
import shutil
import subprocess
import tarfile
import tempfile

from benchkit import packages, tools

PATIENCE = 120  # seconds for a download of some megabytes


@dataclasses.dataclass(frozen=True)
class Release:
    package: str
    file: str  # in the package
    old: str
    new: str

    @property
    def title(self):
        return f"{self.package} {self.old} → {self.new}"

    @property
    def paths(self):
        return tuple(f"/assets/{self.package}.{self.new}.{which}.js" for which in ("old", "new"))


RELEASES = (Release("vue", "dist/vue.global.prod.js", "3.5.12", "3.5.13"),
            Release("vue", "dist/vue.global.prod.js", "3.4.38", "3.5.0"),
            Release("chart.js", "dist/chart.umd.js", "4.4.9", "4.5.0"),
            Release("axios", "dist/axios.min.js", "1.7.9", "1.8.0"))


def get(release, download):
    """(the old file, the new one); raises BenchError if the package is not available."""
    found = []
    for version in (release.old, release.new):
        archive = packages.cache() / "npm" / f"{release.package}-{version}.tgz"
        if not archive.exists():
            if not download:
                raise tools.BenchError("nothing is downloaded in this run")
            fetch(f"{release.package}@{version}", archive)
        with tarfile.open(archive) as opened:
            found.append(opened.extractfile(f"package/{release.file}").read())
    return found


def fetch(name, archive):
    npm = tools.find("npm")
    tools.say(f"downloading {name} of npm into {archive.parent}")
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run([npm, "pack", "--silent", name], cwd=folder, timeout=PATIENCE,
                           stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if not os.path.exists(os.path.join(folder, archive.name)):
            raise tools.BenchError(f"{name} could not be downloaded")
        shutil.move(os.path.join(folder, archive.name), archive)
