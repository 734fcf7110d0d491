"""The levels of dictionary-compressed responses, and the cases in which another coding, a
precompressed file or a bypass is better."""

import gzip
import random

import pytest

from kit import aborts, at, check, dictionary, env
from kit.dictionary import DICT, PAGE, PINNED, STORE, WEEK, decoded, learn, make_store
from kit.position import FOLLOW, start_following

pytestmark = pytest.mark.skipif(not env.HAS_ZSTD, reason="needs libzstd")


def words(size):
    """Text with the usual compression ratio, of words that occur nowhere else."""
    chance = random.Random(5)
    known = [f"{chance.randrange(1 << 28):x}" for _ in range(200)]
    text = (chance.choice(known) if chance.random() < 0.8 else f"{chance.randrange(1 << 24):x}"
            for _ in range(size))
    return " ".join(text)[:size].encode()


# It shares nothing with the dictionary.
OTHER = words(60_000)
HALF = DICT[:30_000] + OTHER[:30_000]
# Precompressed files of OTHER and PAGE that are smaller than any coding of httpd's.
PRECOMPRESSED, SAME = (
    gzip.compress(OTHER[:40_000], 9, mtime=0)[:-4] + len(body).to_bytes(4, "little")
    for body in (OTHER, PAGE))

CONFIG = "Elastic On\n" + at("d", 'ElasticDictionary match="/*"', WEEK)
FILES = {"other.html": OTHER, "half.html": HALF}


def ask(server, path, ae="br, dcz"):
    return dictionary.ask(server, path, ae)


def outcome(server, path, ae="br, dcz"):
    """The coding, the level, and the log's note on the dictionary."""
    answer = ask(server, path, ae)
    notes = server.notes(answer)
    return answer.coding, notes.get("elastic-level"), notes.get("elastic-dictionary")


@pytest.fixture
def server(httpd):
    def start(config="ElasticControl off\n", **files):
        # One child, because each process learns by itself how similar a page and a dictionary are.
        made = dictionary.start(httpd, CONFIG + config, {**FILES, **files}, **aborts.ONE_CHILD)
        learn(made)
        return made
    return start


@pytest.fixture
def follower(httpd):
    """A server that follows a position file, and a function that writes the file and waits."""
    made = httpd(STORE + CONFIG + FOLLOW, files={"dict.html": DICT, "page.html": PAGE, **FILES},
                 start=False, allow_log=["ElasticInterval"])
    make_store(made)
    follow = start_following(made)
    learn(made)
    return made, follow


def test_the_position_chooses_the_level(follower, tmp_path):
    """Each process prepares a level after some requests for it. A bypass is for differences too."""
    server, follow = follower
    for position, wanted in ((8, {"9"}), (0, {"1"}), (4, {"3", "5"})):
        follow(position)
        server.wait_for(lambda wanted=wanted: outcome(server, "/half.html", "dcz")[1] in wanted, 60,
                        wanted)
        assert decoded(ask(server, "/half.html", "dcz"), DICT, tmp_path) == HALF
    follow(0, bypass=True)
    for path, body in (("/page.html", PAGE), ("/other.html", OTHER)):
        answer = ask(server, path)
        check.plain(answer, body)
        assert server.reason(answer) == "bypass"
    check.plain(server.get("/page.html", ae="br"), PAGE)
    assert ask(server, "/other.html", "dcz, identity;q=0").coding == "dcz"
    follow(8)
    check.encoded(ask(server, "/other.html"), "br", OTHER)


@pytest.mark.parametrize("config,level", [
    ("ElasticControl off\n", "9"), ("ElasticLevel zstd 4\n", "4"),
    ("ElasticLevel zstd 12\n", "9"), ("ElasticControl off\nElasticCodings br\n", "9")])
def test_a_level_that_does_not_move_is_that_of_zstd(server, tmp_path, config, level):
    made = server(config + "ElasticMaxTime 1ms\n", **{"large.html": PAGE * 8})
    assert outcome(made, "/page.html") == ("dcz", level, "used")
    # Another level would be prepared after some requests for it.
    assert {outcome(made, "/large.html")[1] for _ in range(20)} == {level}
    assert decoded(ask(made, "/page.html"), DICT, tmp_path) == PAGE


def test_a_page_that_shares_little_gets_another_coding(server):
    made = server()
    before = int(made.status()["ElasticDictionaryAsked-outdone"])
    assert outcome(made, "/other.html")[::2] == ("dcz", "used")
    for _ in range(3):
        answer = ask(made, "/other.html")
        check.encoded(answer, "br", OTHER)
        assert made.notes(answer)["elastic-dictionary"] == "outdone"
    assert int(made.status()["ElasticDictionaryAsked-outdone"]) == before + 3
    # One page says nothing about others; a client without an alternative has no choice.
    assert outcome(made, "/page.html")[::2] == ("dcz", "used")
    assert outcome(made, "/other.html", "br;q=0.9, dcz")[::2] == ("dcz", "used")
    assert outcome(made, "/other.html", "dcz")[::2] == ("dcz", "used")


def test_pages_that_share_little_are_known_by_some(server):
    made = server(**{f"{i}.html": OTHER for i in range(9)})
    codings = [outcome(made, f"/{i}.html")[0] for i in range(9)]
    assert codings == ["dcz"] * 8 + ["br"]


def test_what_is_known_of_a_numbered_page_is_not_taken_for_another_page(server):
    made = server(PINNED)
    for i in range(10, 60):
        check.encoded(made.get(f"/page.html?{i}", ae="br"), "br", PAGE)
        assert outcome(made, f"/page.html?{i}")[::2] == ("dcz", "used"), i


def test_a_precompressed_file_comes_first_where_it_is_smaller(server):
    made = server("ElasticControl off\nElasticPrecompressed On\n",
                  **{"other.html.gz": PRECOMPRESSED, "page.html.gz": SAME})
    assert outcome(made, "/other.html", "gzip, dcz")[0] == "dcz"
    for path, coding in (("/other.html", "gzip"), ("/page.html", "dcz")):
        answer = ask(made, path, "gzip, dcz")
        assert answer.coding == coding and (coding == "dcz" or answer.raw == PRECOMPRESSED)
        assert answer.has_token("Vary", "Available-Dictionary")
