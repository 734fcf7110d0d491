"""scripts/dictionary makes a dictionary that serves: what it prints is what the server sends."""

import hashlib
import pathlib
import re
import subprocess

import pytest

from kit import CGID_RELOADED, check, env
from kit.dictionary import ask, decoded, make_store, store_of

pytestmark = pytest.mark.skipif(not env.HAS_ZSTD, reason="needs libzstd")

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "dictionary"
CONFIG = "Elastic On\nElasticControl off\nElasticLevel br 5\n"
COUNT = 16


def words(seed, count):
    return " ".join(hashlib.sha256(f"{seed} {n}".encode()).hexdigest()[:9] for n in range(count))


def pages(template):
    """{path: body} of pages that have most in common."""
    return {f"/{n}.html": (f"<title>{n}</title><nav>{words(template, 400)}</nav>"
                           f"<p>{words(n, 150)}</p>").encode() for n in range(COUNT)}


def sitemap(server, paths):
    return "".join(f"<url><loc>http://127.0.0.1:{server.port}{path}</loc></url>" for path in paths)


def run(server, *arguments):
    """What the tool says."""
    done = subprocess.run(
        [env.PYTHON, SCRIPT, "--sitemap", f"http://127.0.0.1:{server.port}/sitemap.xml",
         "--rate", "1000", "--out", server.root / "made", "--store", store_of(server), *arguments],
        capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def paste(server, said):
    server.configure(CONFIG + said[said.index("# Once"):])
    server.restart()


def rows(said):
    """{path: (bytes, with brotli 5, with the dictionary)} of the pages held back."""
    found = re.findall(r"(?m)^(/\d+\.html) +([\d,]+) +([\d,]+) +([\d,]+) ", said)
    assert len(found) == COUNT // 4, said
    return {path: [int(number.replace(",", "")) for number in numbers]
            for path, *numbers in found}


def linked(server):
    """(URL, body) of the dictionary that a page names, as a browser gets it."""
    answer = server.get("/0.html", ae="br")
    [url] = re.findall(r'^<(/dictionaries/[^>]*)>; rel="compression-dictionary"$',
                       answer.headers["Link"])
    return url, fetched(server, url).body


def fetched(server, url):
    answer = server.get(url, ae="gzip, br, zstd")
    assert (answer.status, answer.coding) == (200, "br")
    assert answer.headers["Use-As-Dictionary"] == 'match="/*", match-dest=("document")'
    assert answer.headers["Cache-Control"] == "public, max-age=2592000"
    # It is the file beside it, which was made by brotli 11.
    assert answer.raw == (server.root / "made" / f"{url.rpartition('/')[2]}.br").read_bytes()
    return answer


def visit(server, path, dictionary):
    return ask(server, path, "gzip, br, zstd, dcz", dictionary, Sec_Fetch_Dest="document",
               Sec_Fetch_Mode="navigate", Sec_Fetch_Site="none")


def check_rows(server, folder, said, pages, dictionary):
    """What the tool says of pages is what is sent, but for some bytes: what an encoder did before
    makes them."""
    for path, (size, plain, difference) in rows(said).items():
        assert len(pages[path]) == size and difference < plain / 2
        answer, plainly = visit(server, path, dictionary), server.get(path, ae="br")
        assert decoded(answer, dictionary, folder) == pages[path]
        check.encoded(plainly, "br", pages[path])
        for sent, shown in ((answer, difference), (plainly, plain)):
            assert abs(len(sent.raw) - shown) <= shown / 50


@pytest.fixture
def server(httpd):
    made = httpd(CONFIG, start=False, files=pages("first"), allow_log=(CGID_RELOADED,))
    make_store(made)
    (made.root / "made").mkdir(mode=0o755)
    made.write("sitemap.xml", sitemap(made, pages("first")))
    return made.start()


@pytest.mark.smoke
def test_what_is_made_pasted_and_visited(server, tmp_path):
    said = run(server)
    paste(server, said)
    first_url, first = linked(server)
    assert f"Written: {server.root}/made/{first_url.rpartition('/')[2]}" in said
    check_rows(server, tmp_path, said, pages("first"), first)

    for path, body in pages("second").items():
        server.write(path, body)
    said = run(server, "--renew", "--keep", "1")
    assert "the previous one" in said
    paste(server, said)
    second_url, second = linked(server)
    assert second_url != first_url and second != first
    check_rows(server, tmp_path, said, pages("second"), second)
    # Who has the previous one still gets differences from it, and may ask for it again.
    answer = visit(server, "/1.html", first)
    assert decoded(answer, first, tmp_path) == pages("second")["/1.html"]
    assert fetched(server, first_url).body == first
