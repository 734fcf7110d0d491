"""docs/upstream/oss-fuzz: its build makes the targets that scripts/lib/fuzz runs."""

import os
import subprocess

from benchkit import tools

# A compiler and a linker that only write down their arguments.
COMPILER = """#!/bin/sh
said=$*
while [ $# -gt 1 ]; do
    [ "$1" = -o ] && echo "$said" >"$2"
    shift
done
"""


def test_oss_fuzz_builds_each_target(tmp_path):
    out, programs = tmp_path / "out", tmp_path / "programs"
    out.mkdir()
    programs.mkdir()
    (tmp_path / "mod_elastic").symlink_to(tools.ROOT)
    for name, text in {"cc": COMPILER, **dict.fromkeys(
            ("apxs", "pkg-config", "nm", "objcopy"), "#!/bin/sh\n")}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    subprocess.run([tools.ROOT / "docs/upstream/oss-fuzz/build.sh"], check=True, timeout=60, env={
        "PATH": f"{programs}:{os.environ['PATH']}", "SRC": str(tmp_path), "OUT": str(out),
        "CC": "cc", "CFLAGS": "", "LIB_FUZZING_ENGINE": ""})
    seeds = {path.name for path in (tools.ROOT / "tests/fuzz/corpus").iterdir()}
    names = subprocess.run([tools.ROOT / "scripts/lib/fuzz", "--list"], capture_output=True,
                           text=True, check=True).stdout.split()
    assert seeds == set(names)
    assert {path.name for path in out.iterdir()} == \
        {f"fuzz_{name}{end}" for name in names for end in ("", "_seed_corpus.zip")}
    for name in names:
        linked = (out / f"fuzz_{name}").read_text()
        own = (tools.ROOT / f"tests/fuzz/fuzz_{name}.c").exists()
        assert (f"/fuzz_{name}.o " if own else f"=fuzz_target=fuzz_{name} ") in linked
