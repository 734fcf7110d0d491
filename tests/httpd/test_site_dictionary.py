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


def made(server, *arguments):
    """Runs the tool, and pastes what it says; also {path: (bytes, with brotli 5, with the
    dictionary)} of the pages held back, and the dictionary's URL and body."""
    done = subprocess.run(
        [env.PYTHON, SCRIPT, "make", "--sitemap", f"http://127.0.0.1:{server.port}/sitemap.xml",
         "--rate", "1000", "--out", server.root / "made", "--store", store_of(server), *arguments],
        capture_output=True, text=True, timeout=300, check=False)
    said = done.stdout
    assert done.returncode == 0, said + done.stderr
    server.configure(CONFIG + said[said.index("# Once"):])
    server.restart()
    rows = {path: [int(number.replace(",", "")) for number in numbers] for path, *numbers in
            re.findall(r"(?m)^(/\d+\.html) +([\d,]+) +([\d,]+) +([\d,]+) ", said)}
    assert len(rows) == COUNT // 4, said
    [url] = re.findall(r'^<(/dictionaries/[^>]*)>; rel="compression-dictionary"$',
                       server.get("/0.html", ae="br").headers["Link"])
    return said, rows, url, fetched(server, url)


def fetched(server, url):
    """The dictionary, as a browser gets it: the file beside it, which was made by brotli 11."""
    answer = server.get(url, ae="gzip, br, zstd")
    assert (answer.status, answer.coding) == (200, "br")
    assert answer.headers["Use-As-Dictionary"] == 'match="/*", match-dest=("document")'
    assert answer.headers["Cache-Control"] == "public, max-age=2592000"
    assert answer.raw == (server.root / "made" / f"{url.rpartition('/')[2]}.br").read_bytes()
    return answer.body


def visit(server, path, dictionary):
    return ask(server, path, "gzip, br, zstd, dcz", dictionary, Sec_Fetch_Dest="document",
               Sec_Fetch_Mode="navigate", Sec_Fetch_Site="none")


def check_rows(server, folder, rows, pages, dictionary):
    """What the tool says of pages is what is sent, but for some bytes: what an encoder did before
    makes them."""
    for path, (size, plain, difference) in rows.items():
        assert len(pages[path]) == size and difference < plain / 2
        answer, plainly = visit(server, path, dictionary), server.get(path, ae="br")
        assert decoded(answer, dictionary, folder) == pages[path]
        check.encoded(plainly, "br", pages[path])
        for sent, shown in ((answer, difference), (plainly, plain)):
            assert abs(len(sent.raw) - shown) <= shown / 50


@pytest.mark.smoke
def test_what_is_made_pasted_and_visited(httpd, tmp_path):
    server = httpd(CONFIG, start=False, files=pages("first"), allow_log=(CGID_RELOADED,))
    make_store(server)
    (server.root / "made").mkdir(mode=0o755)
    server.write("sitemap.xml", "".join(
        f"<url><loc>http://127.0.0.1:{server.port}{path}</loc></url>" for path in pages("first")))
    server.start()
    said, rows, first_url, first = made(server)
    assert f"Written: {server.root}/made/{first_url.rpartition('/')[2]}" in said
    check_rows(server, tmp_path, rows, pages("first"), first)

    for path, body in pages("second").items():
        server.write(path, body)
    said, rows, second_url, second = made(server, "--renew", "--keep", "1")
    assert "the previous one" in said and second_url != first_url and second != first
    check_rows(server, tmp_path, rows, pages("second"), second)
    # Who has the previous one still gets differences from it, and may ask for it again.
    answer = visit(server, "/1.html", first)
    assert decoded(answer, first, tmp_path) == pages("second")["/1.html"]
    assert fetched(server, first_url) == first
