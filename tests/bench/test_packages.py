"""scripts/lib/packages.sh: what is missing, and what a release of the distribution does not have."""

import subprocess

import pytest

from benchkit import tools

TABLE = "true|there|there\nfalse|plain|plain\nfalse|optional:rare|rare\n"


@pytest.mark.parametrize("known, missing, lacking", [
    ("gcc plain rare", "rare plain", ""), ("gcc plain", "plain", "rare"),
    ("gcc", "plain", "rare"),  # apt says of plain that it does not know it
    ("", "", "no lists")])
def test_only_an_optional_package_may_be_lacking(known, missing, lacking):
    script = f"""
        . {tools.ROOT}/scripts/lib/packages.sh
        el_packages_table() {{ printf '{TABLE}'; }}
        el_apt_has() {{ case " {known} " in *" $1 "*) ;; *) return 1 ;; esac; }}
        el_apt() {{ echo "no lists"; return 1; }}
        el_packages_look group && echo $el_missing && echo $ELASTIC_LACKING
    """
    seen = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    said = seen.stdout.splitlines()
    assert said == ([missing, lacking] if known else [lacking]), seen.stderr
    assert seen.returncode == (0 if known else 1)
