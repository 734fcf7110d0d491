"""What reports say of the machine."""

import platform
import subprocess
import textwrap
import time


def _said(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout


def _each(packages):
    """Of those that are installed, or unpacked."""
    for package in packages:
        said = _said("dpkg-query", "-W", "-f", "${Version}", package) or _said(
            "apt-cache", "show", "--no-all-versions", package).partition("Version: ")[2]
        if said:
            version = said.split()[0].partition(":")[2] or said.split()[0]
            yield f"{package} {version.rpartition('-')[0] or version}"


def machine(packages):
    said = f"{time.strftime('%F')}, {platform.freedesktop_os_release()['PRETTY_NAME']}; " \
        f"{', '.join(_each(packages))}."
    return "\n".join(textwrap.wrap(said, 98, break_on_hyphens=False))
