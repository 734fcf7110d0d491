"""The paper's surveys of sites, asked here."""

from benchkit import survey
from benchkit.tools import BenchError


def asked(name, ratio, dynamic):
    return {"site": name, "pages": 2, "bytes": 3000, "gzip_bytes": 3000 * ratio, "ratio": ratio,
            "dynamic": dynamic, "gzip": True, "deflate": False}


def test_table_1_has_what_was_downloaded():
    here = [row["here"] for row in survey.table_1(
        [asked("a", 0.2, True), asked("b", 0.4, False), asked("c", 0.3, False)])]
    assert here == ["3", "100 %", "0 %", "450", "1,500", "20 %, 30 %, 40 %", "33 %"]


def test_table_2_counts_packages_that_name_a_server(monkeypatch, tmp_path):
    """A server's own parts do not count, nor does one twice; without lists there is no table."""
    lists = {"apache2": ["a", "|a", "b", "libapache2-mod-x"], "nginx": ["a"]}
    monkeypatch.setattr(survey.shutil, "which", lambda name: name)
    monkeypatch.setattr(survey, "LISTS", tmp_path)

    def output_of(*command):
        if command[-1] not in lists:
            raise BenchError("E: No packages found")
        return "\n".join([command[-1], "Reverse Depends:", *(f"  {n}" for n in lists[command[-1]])])

    monkeypatch.setattr(survey.tools, "output_of", output_of)
    assert survey.table_2() == []
    (tmp_path / "host_dists_main_binary-amd64_Packages.lz4").touch()
    assert [(row["developer"], row["here: packages"], row["here"]) for row in survey.table_2()
            if row["here: packages"]] == [("Apache", 2, "66.7 %"), ("nginx", 1, "33.3 %")]
    lists.clear()
    assert survey.table_2() == []
