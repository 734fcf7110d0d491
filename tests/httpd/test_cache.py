"""mod_cache in the same httpd: it stores only complete responses, and slices no encoded body."""

import pytest

from kit import aborts, at, bodies, cache, check, decode
from kit.origin import breaks_off
from kit.precompressed import BODY, BR, OLD, PRECOMPRESSED, add_set

CODINGS = pytest.mark.parametrize("coding", ["gzip", "br"])

# Larger than one encoding call and than a socket's buffers.
LARGE = bodies.noise(1 << 20) * 16

MODES = ("keep", "remove", "weak", "suffix")


@pytest.fixture(scope="module", params=["On", "Off"], ids=["quick", "not quick"])
def cached(httpd_shared, origin, request):
    server = httpd_shared(
        f"Elastic On\n{cache.DISK}CacheQuickHandler {request.param}\nCacheHeader On\n"
        f"CacheMaxFileSize 100000000\nProxyPass /p/ {origin.url}/\n"
        + "".join(at(mode, f"ElasticETag {mode}") for mode in MODES)
        + "".join(at(f"precompressed-{mode}", "ElasticPrecompressed On", f"ElasticETag {mode}")
                  for mode in ("keep", "weak"))
        + at("cut", "EnableSendfile Off", "ElasticLevel gzip 1", "ElasticLevel br 0"),
        modules=[*cache.MODULES, "proxy", "proxy_http"], allow_log=[cache.MISSED])
    cache.make_directory(server)
    # mod_cache stores no URL with a query, so the tests need files.
    for name in ("all.txt", "identity.txt", "br.txt", "gzip.txt"):
        add_set(server, name, "br", "gz")
    return server


@CODINGS
def test_a_file_that_was_cut_is_not_cached_as_whole(cached, coding):
    cached.expect_log(r"the body cannot be read|\[(cache|core):")
    name = f"large-{coding}.txt"
    file = cached.write(name, LARGE, mtime=OLD)
    whole, raw = aborts.read_while_cut(cached, f"/cut/{name}", file, coding)
    assert not whole
    with pytest.raises(decode.DecodeError):
        decode.decode(coding, raw)
    cached.write(name, LARGE, mtime=OLD)
    for _ in range(2):
        check.encoded(cached.get(f"/cut/{name}", ae=coding), coding, LARGE)


@CODINGS
def test_a_body_whose_origin_died_is_not_cached_as_whole(cached, origin, coding):
    origin.route("/dies", breaks_off(BODY, {"Cache-Control": "max-age=600"}))
    cached.expect_log(r"proxy|\[cache")
    for _ in range(3):
        answer = cached.get("/p/dies", ae=coding)
        assert not answer.complete, answer


@pytest.mark.smoke
def test_precompressed_files_beside_mod_cache(cached):
    before = int(cached.status()["ElasticPrecompressed"])
    for _ in range(2):
        for ae, raw in (*PRECOMPRESSED.items(), (None, BODY)):
            answer = cached.get("/precompressed-weak/all.txt", ae=ae)
            assert (answer.status, answer.coding, answer.raw) == (200, ae, raw), answer
            assert answer.varies
    assert int(cached.status()["ElasticPrecompressed"]) >= before + 2


@pytest.mark.parametrize("modules,lines", [
    (cache.MODULES, ""),  # caches nothing
    (["session", "session_cookie"], "Session On\nSessionCookieName s path=/")],
    ids=["mod_cache", "mod_session"])
def test_precompressed_files_beside_modules_with_filters_of_their_own(httpd, modules, lines):
    server = httpd(f"ElasticPrecompressed On\n{lines}", modules=modules)
    answer = server.get(add_set(server, "a.txt", "br"), ae="br")
    assert (answer.coding, answer.raw) == ("br", BR), answer


@CODINGS
@pytest.mark.parametrize("place", [*MODES, "precompressed-weak", "precompressed-keep"])
def test_a_cached_encoded_body_is_never_sliced(cached, place, coding):
    """Whatever comes encoded to a request for a part is a part of the precompressed file. Parts are
    of the identity, the whole may be in any coding."""
    path, data, parts = f"/{place}/{coding}.txt", PRECOMPRESSED[coding], []
    with cached.connect() as client:
        hit = cache.filled(client, path, coding)
        check.whole(hit, coding, BODY)
        tag = hit.headers.get("ETag")
        for condition in ({}, {"If-Range": tag}) if tag else ({}, {}):
            answer = client.request(path, ae=coding,
                                    headers={"Range": "bytes=100-199", **condition})
            if answer.status == 206 and answer.coding is None:
                assert answer.raw == BODY[100:200]
            elif answer.status == 200:
                assert answer.body == BODY, answer
            else:
                parts.append(answer)
            assert client.request(path, ae=coding).body == BODY
    if place in MODES:
        check.encoded(hit, coding, BODY)
        assert not parts
    else:
        assert tag.startswith('"') and hit.headers["Accept-Ranges"] == "bytes" and hit.raw == data
    for part in parts:
        assert (part.status, part.coding, part.headers["ETag"]) == (206, coding, tag), part
        assert part.headers["Content-Range"] == f"bytes 100-199/{len(data)}"
        assert part.raw == data[100:200]


def test_a_cached_identity_is_sliced(cached):
    """Only encoded bodies are protected from slicing."""
    with cached.connect() as client:
        check.plain(cache.filled(client, "/keep/identity.txt", None), BODY)
        answer = client.request("/keep/identity.txt", headers={"Range": "bytes=100-199"})
    check.whole(answer, None, BODY[100:200], 206)
