"""scripts/measure-memory at its smallest."""

import subprocess

from benchkit import tools

TABLES = ["KB of a child", "MB of 4 children", "KB of 4 streams", "ms to the first byte",
          "Pages of 4 KB", "Request bodies of 64 KB"]


def measure_memory(*arguments):
    return subprocess.run([tools.ROOT / "scripts" / "measure-memory", *arguments],
                          capture_output=True, text=True, timeout=300, check=False)


def test_every_table_is_made(module, tmp_path):
    page = tmp_path / "memory.md"
    seen = measure_memory("--smoke", "--markdown", str(page))
    assert seen.returncode == 0, seen.stderr
    assert [title for title in TABLES if title in seen.stdout] == TABLES
    text = page.read_text()
    assert f"scripts/measure-memory --smoke --markdown {page}" in text
    assert seen.stdout.strip() in text
    rows = [line.strip("| ").split(" | ") for line in text[text.index("Pages of"):].splitlines()
            if line.startswith("| ")]
    engines = {row[0]: row[1] for row in rows if len(row) > 4}
    assert engines["mod_deflate 9"] == "-" and engines["zstd 5"] == "zstd", engines
    assert [row[0] for row in rows if len(row) <= 4] == ["each", "not decoded", "zstd, of 8 MB"]


def test_one_table_is_made(module):
    seen = measure_memory("--smoke", "busy")
    assert seen.returncode == 0, seen.stderr
    assert [title for title in TABLES if title in seen.stdout] == TABLES[1:2]


def test_an_unknown_table():
    seen = measure_memory("all")
    assert seen.returncode == 2 and "usage:" in seen.stderr
