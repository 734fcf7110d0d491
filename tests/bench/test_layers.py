"""The guard of the layers (scripts/lib/layers): it accepts the sources, and finds what is planted.
"""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def guard(tree):
    return subprocess.run([ROOT / "scripts/lib/layers", tree], capture_output=True, text=True)


@pytest.fixture
def tree(tmp_path):
    for folder in ("src", "include", "docs"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "tests").symlink_to(ROOT / "tests")  # comments name files there, too
    return tmp_path


def append(tree, name, text):
    with open(tree / name, "a") as file:
        file.write(text)


def test_the_sources_keep_their_layers():
    done = guard(ROOT)
    assert done.returncode == 0, done.stdout


PLANTED = {
    "an include of a layer above": (
        [("src/httpd/shared/stats.c", '#include "httpd/response/header.h"\n')],
        "src/httpd/shared may not use src/httpd/response"),
    "an include of the glue by the core": (
        [("src/core/etag.c", '#include "httpd/config/glue.h"\n')],
        "src/core may not use src/httpd/config"),
    "an include of the engines by the host layer": (
        [("src/host/process.c", '#include "engines/memory.h"\n')],
        "src/host may not use src/engines"),
    "a call of a layer above through a declaration of one's own": (
        [("src/httpd/config/settings.c",
          "void el_shared_reset(void);\nvoid el_policy_x(void);\n"
          "void el_policy_x(void)\n{\n    el_shared_reset();\n}\n")],
        "src/httpd/config may not use src/httpd/shared"),
    "two files that include each other": (
        [("src/host/process.h", '#include "host/machine.h"\n')],
        "these use each other: src/host/machine src/host/process"),
    "two files of which one includes and the other calls": (
        [("src/host/process.c", "static void plant(void)\n{\n    el_machine_close(NULL);\n}\n")],
        "these use each other: src/host/machine src/host/process"),
    "a circle of three": (
        [("include/elastic/http.h", '#include "elastic/decide.h"\n')],
        "these use each other: src/core/cost src/core/decide src/core/engine src/core/http"),
    "a header that declares another file's function": (
        [("src/httpd/shared/stats.h", "void el_shared_reset(void);\n")],
        "stats.h declares el_shared_reset, which src/httpd/shared/shared defines"),
    "a header that declares another file's variable": (
        [("src/httpd/response/header.h", "extern el_shared_t el_shared;\n")],
        "header.h declares el_shared, which src/httpd/shared/shared defines"),
    "a list of a folder's functions that has one of another folder's": (
        [("src/engines/library.h", "void el_shared_reset(void);\n")],
        "library.h declares el_shared_reset, which src/httpd/shared/shared defines"),
    "a declaration of what no file defines": (
        [("include/elastic/decide.h", "int el_packet_lost(void);\n")],
        "decide.h declares el_packet_lost, which no file defines"),
    "more than the budget allows": (
        [("src/core/etag.c", "\n" * 50000)],
        "lines: scripts/lib/budget allows"),
    "a comment that names a file which is gone": (
        [("src/core/etag.c", "/* As core/tags.c has it. */\n")],
        "a comment names core/tags.c, and there is no such file"),
    "a helper of a line that is called once": (
        [("src/core/etag.c", "static int joint(void)\n{\n    return 1;\n}\n"
          "static int caller(int i)\n{\n    return i ? joint() : caller(i - 1);\n}\n")],
        "short functions used once: scripts/lib/budget allows"),
    "more functions than the budget allows": (
        [("src/core/etag.c", "static int another(int i)\n{\n"
          "    return i ? another(1) : another(2);\n}\n")],
        "functions: scripts/lib/budget allows"),
    "functions that are shorter than the budget allows": (
        [("src/core/etag.c", "".join(f"int el_short_{i}(void)\n{{\n    return {i};\n}}\n"
                                     for i in range(1000)))],
        "lines of a function: scripts/lib/budget allows"),
    "a hook that is registered while httpd runs another one": (
        [("src/httpd/mod_elastic.c", "static int late(request_rec *r)\n{\n"
          "    ap_hook_handler(elastic_handle, NULL, NULL, APR_HOOK_MIDDLE);\n    return OK;\n}\n")],
        "late() calls ap_hook_handler() after modules were loaded"),
    "an optional hook that is": (
        [("src/httpd/mod_elastic.c", "static void late(void)\n{\n"
          "    APR_OPTIONAL_HOOK(ap, status_hook, el_status_section, NULL, NULL, 0);\n}\n")],
        "late() calls APR_OPTIONAL_HOOK() after modules were loaded"),
    "a filter that is": (
        [("src/httpd/response/edge.c", "static void late(void)\n{\n"
          "    ap_register_output_filter(NULL, filter, NULL, 0);\n}\n")],
        "late() calls ap_register_output_filter() after modules were loaded"),
    "a function that registers, called by one that does not": (
        [("src/httpd/mod_elastic.c", "static void late(apr_pool_t *pool)\n{\n"
          "    elastic_register_hooks(pool);\n}\n")],
        "late() calls elastic_register_hooks() after modules were loaded"),
    "a macro that hides a hook": (
        [("src/httpd/mod_elastic.c", "#define LATE() ap_hook_handler(elastic_handle, NULL, NULL, 0)\n")],
        "names ap_hook_handler() outside of a function"),
    "hooks that are sorted": (
        [("src/httpd/mod_elastic.c", "static void register_late(void)\n{\n"
          "    apr_hook_sort_all();\n}\n")],
        "names apr_hook_sort_all: hooks are httpd's to sort"),
    "a folder that is in no layer": (
        [("src/httpd/elsewhere/elsewhere.c", "int el_elsewhere;\n")],
        "src/httpd/elsewhere/elsewhere is in no layer"),
}


@pytest.mark.parametrize("planted", PLANTED, ids=list(PLANTED))
def test_what_is_planted_is_found(tree, planted):
    edits, message = PLANTED[planted]
    for name, text in edits:
        (tree / name).parent.mkdir(exist_ok=True)
        append(tree, name, text)
    done = guard(tree)
    assert done.returncode == 1
    assert message in done.stdout
    assert done.stdout.splitlines()[-1].startswith("FAIL: layers")


@pytest.mark.parametrize("text", [
    "/* el_shared_reset() and #include \"httpd/status/status.h\" */\n",
    "static const char plant[] = \"el_shared_reset\";\n",
], ids=["a comment", "a text"])
def test_what_is_no_code_is_no_use(tree, text):
    path = tree / "src/httpd/config/settings.c"
    # In place of an empty line: the tree has as many lines as it may have.
    path.write_text(path.read_text().replace("\n\n", f"\n{text}", 1))
    before, after = guard(ROOT), guard(tree)
    assert after.stdout.splitlines()[-1] == before.stdout.splitlines()[-1]
