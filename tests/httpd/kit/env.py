"""The settings of a run, from the environment.

ELASTIC_MODULE       the mod_elastic.so under test; without it the tests are skipped
ELASTIC_ELASTICD     elasticd under test; that of the module's build (default)
ELASTIC_HTTPD        the server's binary
ELASTIC_MODULES_DIR  where its own modules are
ELASTIC_MPM          event (default), worker, prefork
ELASTIC_PRELOAD      a sanitizer's runtime, preloaded into httpd
ELASTIC_PROTOCOLS    comma list of http/1.1, http/1.0, h2c, tls, h2 for every test that takes a
                     protocol
ELASTIC_DEBIAN       where Debian's packages apache2 and prometheus are unpacked; / where they are
                     installed (default)
ELASTIC_LACKING      packages that this release of the distribution does not have
ELASTIC_NO_SKIP      1: a skipped test counts as a failed one
ELASTIC_KEEP         1: the servers' directories stay, to look at
"""

import os
import pwd
from pathlib import Path

MODULE = os.environ.get("ELASTIC_MODULE", "")
ELASTICD = os.environ.get("ELASTIC_ELASTICD") or os.path.join(os.path.dirname(MODULE), os.pardir,
                                                             "elasticd")
HTTPD = os.environ.get("ELASTIC_HTTPD", "/usr/sbin/apache2")
MODULES_DIR = os.environ.get("ELASTIC_MODULES_DIR", "/usr/lib/apache2/modules")
MPM = os.environ.get("ELASTIC_MPM") or "event"
PRELOAD = os.environ.get("ELASTIC_PRELOAD", "")
DEBIAN = Path(os.environ.get("ELASTIC_DEBIAN") or "/")
IS_DEBIAN = Path("/etc/debian_version").exists()
LACKING = os.environ.get("ELASTIC_LACKING", "").split()
NO_SKIP = os.environ.get("ELASTIC_NO_SKIP", "") == "1"
KEEP = os.environ.get("ELASTIC_KEEP", "") == "1"

ALL_PROTOCOLS = ("http/1.1", "http/1.0", "h2c", "tls", "h2")
HTTP2 = ("h2c", "h2")
_asked = [p for p in os.environ.get("ELASTIC_PROTOCOLS", "").split(",") if p]

# Libraries that a build may lack, as seen from the module's links.
_module = Path(MODULE).read_bytes() if MODULE and Path(MODULE).is_file() else b""
HAS_DCB = b"BrotliEncoderPrepareDictionary" in _module
HAS_ISAL = b"libisal.so" in _module
HAS_LIBDEFLATE = b"libdeflate.so" in _module
HAS_ZSTD = b"libzstd.so" in _module

PYTHON = "/usr/bin/python3"
IS_ROOT = os.geteuid() == 0


def possible(protocol):
    """True unless mod_http2 is needed under prefork."""
    return protocol not in HTTP2 or MPM != "prefork"


def protocols(marked):
    """The protocols of a test with the marker's arguments `marked`; None: it has no marker."""
    wanted = _asked or (["http/1.1"] if marked is None else list(marked or ALL_PROTOCOLS))
    if marked:
        wanted = [p for p in wanted if p in marked]
    return [p for p in wanted if possible(p)]


def child_user():
    for name in ("www-data", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise RuntimeError("neither www-data nor nobody is a user here")


def module_path(name):
    return os.path.join(MODULES_DIR, f"mod_{name}.so")
