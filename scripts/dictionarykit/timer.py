"""Weekly renewal: systemd's timer, which packages install but do not enable, or cron."""

import os
import shlex
import subprocess
import sys

from dictionarykit import httpd, state

UNIT = "elastic-dictionary.timer"
SYSTEMD = "/run/systemd/system"  # exists if systemd runs
CRON = "/etc/cron.d"
CRON_FILE = "elastic-dictionary"

CRON_LINE = """\
# Once a week, by elastic-dictionary enable; `elastic-dictionary disable` removes this file.
{minute} {hour} * * {day} root [ ! -x {program} ] || {program} renew >/dev/null
"""
NONE = "Renew it yourself once a week: elastic-dictionary renew"


def systemctl(*words):
    """True if it succeeded."""
    program = httpd.path_of("systemctl")
    if not program or not os.path.isdir(SYSTEMD):
        return False
    return subprocess.run([program, "--quiet", *words, UNIT], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def turn_on(folder):
    """Returns what was done. Only for the folder in which `renew` looks by itself."""
    if folder != state.FOLDER or os.geteuid() != 0:
        return f"{NONE} --out {shlex.quote(folder)}"
    if systemctl("enable", "--now"):
        return f"It is renewed once a week, by systemd's {UNIT}."
    path = os.path.join(CRON, CRON_FILE)
    if not os.path.isdir(CRON) or os.path.isdir(SYSTEMD):
        return NONE
    # The machine's name determines the hour.
    number = int.from_bytes(os.uname().nodename.encode()[-4:].rjust(4, b"\0"), "big")
    state.replace(path, CRON_LINE.format(
        minute=number % 60, hour=1 + number // 60 % 5, day=number // 300 % 7,
        program=shlex.quote(os.path.realpath(sys.argv[0]))).encode())
    return f"It is renewed once a week, by {path}."


def turn_off(folder):
    if folder == state.FOLDER and os.geteuid() == 0:
        systemctl("disable", "--now")
        systemctl("clean", "--what=state")  # the time of its last run
        state.remove(os.path.join(CRON, CRON_FILE))


def status():
    """The program that renews."""
    if systemctl("is-enabled"):
        return f"by {UNIT}"
    path = os.path.join(CRON, CRON_FILE)
    return f"by {path}" if os.path.exists(path) else "by nobody"
