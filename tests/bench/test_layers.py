"""The guard of the layers (scripts/lib/layers) finds what is planted. scripts/lib/guards shows that
it accepts the sources."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def guard(tree):
    """(exit status, what it says) of scripts/lib/layers."""
    done = subprocess.run([ROOT / "scripts/lib/layers", tree], capture_output=True, text=True)
    return done.returncode, done.stdout


@pytest.fixture
def tree(tmp_path):
    for folder in ("src", "include", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "tests").symlink_to(ROOT / "tests")  # comments name files there, too
    return tmp_path


def late(body):
    return f"static void late(void)\n{{\n    {body}\n}}\n"


# (the file to which the text is added, the text, what the guard says)
PLANTED = [
    ("src/httpd/shared/stats.c", '#include "httpd/response/header.h"\n',
     "src/httpd/shared may not use src/httpd/response"),
    ("src/core/etag.c", '#include "httpd/config/glue.h"\n',
     "src/core may not use src/httpd/config"),
    ("src/host/process.c", '#include "engines/memory.h"\n', "src/host may not use src/engines"),
    # A call of a layer above through a declaration of one's own.
    ("src/httpd/config/settings.c", "void el_shared_reset(void);\nvoid el_policy_x(void);\n"
     "void el_policy_x(void)\n{\n    el_shared_reset();\n}\n",
     "src/httpd/config may not use src/httpd/shared"),
    # Circles of includes, of an include and a call, and of three files.
    ("src/host/process.h", '#include "host/machine.h"\n',
     "these use each other: src/host/machine src/host/process"),
    ("src/host/process.c", late("el_machine_close(NULL);"),
     "these use each other: src/host/machine src/host/process"),
    ("include/elastic/http.h", '#include "elastic/decide.h"\n',
     "these use each other: src/core/cost src/core/decide src/core/engine src/core/http"),
    # Declarations of what another file has, or none.
    ("src/httpd/shared/stats.h", "void el_shared_reset(void);\n",
     "stats.h declares el_shared_reset, which src/httpd/shared/shared defines"),
    ("src/httpd/response/header.h", "extern el_shared_t el_shared;\n",
     "header.h declares el_shared, which src/httpd/shared/shared defines"),
    ("src/engines/library.h", "void el_shared_reset(void);\n",  # a list of its folder's functions
     "library.h declares el_shared_reset, which src/httpd/shared/shared defines"),
    ("include/elastic/decide.h", "int el_packet_lost(void);\n",
     "decide.h declares el_packet_lost, which no file defines"),
    ("src/core/etag.c", "/* As core/tags.c has it. */\n",
     "a comment names core/tags.c, and there is no such file"),
    # What is registered while httpd runs.
    ("src/httpd/mod_elastic.c", late("ap_hook_handler(elastic_handle, NULL, NULL, 0);"),
     "late() calls ap_hook_handler() after modules were loaded"),
    ("src/httpd/mod_elastic.c",
     late("APR_OPTIONAL_HOOK(ap, status_hook, el_status_section, NULL, NULL, 0);"),
     "late() calls APR_OPTIONAL_HOOK() after modules were loaded"),
    ("src/httpd/response/edge.c", late("ap_register_output_filter(NULL, filter, NULL, 0);"),
     "late() calls ap_register_output_filter() after modules were loaded"),
    ("src/httpd/mod_elastic.c", late("elastic_register_hooks(NULL);"),
     "late() calls elastic_register_hooks() after modules were loaded"),
    ("src/httpd/mod_elastic.c", "#define LATE() ap_hook_handler(elastic_handle, NULL, NULL, 0)\n",
     "names ap_hook_handler() outside of a function"),
    ("src/httpd/mod_elastic.c", late("apr_hook_sort_all();").replace("late", "register_late"),
     "names apr_hook_sort_all: hooks are httpd's to sort"),
    ("src/httpd/elsewhere/elsewhere.c", "int el_elsewhere;\n",
     "src/httpd/elsewhere/elsewhere is in no layer")]
# Each exceeds one limit of scripts/lib/budget.
LARGER = [
    ("src/core/etag.c", "\n" * 50000, "lines: scripts/lib/budget allows"),
    ("src/core/etag.c", "static int joint(void)\n{\n    return 1;\n}\n"
     "static int caller(int i)\n{\n    return i ? joint() : caller(i - 1);\n}\n",
     "short functions used once: scripts/lib/budget allows"),
    ("src/core/etag.c", "static int another(int i)\n{\n"
     "    return i ? another(1) : another(2);\n}\n", "functions: scripts/lib/budget allows"),
    ("src/core/etag.c", "".join(f"int el_short_{i}(void)\n{{\n    return {i};\n}}\n"
                                for i in range(1000)),
     "lines of a function: scripts/lib/budget allows")]


# Several of which none hides another.
@pytest.mark.parametrize("planted", [*([one] for one in LARGER),
                                     *(PLANTED[at::4] for at in range(4))])
def test_what_is_planted_is_found(tree, planted):
    for name, text, _ in planted:
        (tree / name).parent.mkdir(exist_ok=True)
        with open(tree / name, "a") as file:
            file.write(text)
    status, said = guard(tree)
    assert status == 1 and said.splitlines()[-1].startswith("FAIL: layers")
    for _, _, message in planted:
        assert message in said


@pytest.mark.parametrize("text", [
    "/* el_shared_reset() and #include \"httpd/status/status.h\" */\n",
    "static const char plant[] = \"el_shared_reset\";\n"], ids=["a comment", "a text"])
def test_what_is_no_code_is_no_use(tree, text):
    path = tree / "src/httpd/config/settings.c"
    # In place of an empty line: the tree has as many lines as it may have.
    path.write_text(path.read_text().replace("\n\n", f"\n{text}", 1))
    assert guard(tree)[1].splitlines()[-1] == guard(ROOT)[1].splitlines()[-1]
