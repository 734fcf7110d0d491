"""Accept-Encoding: which strings get which coding, with one filter and with both."""

from ..row import page

SITE = "main"

_STRINGS = {
    "gzip": ("gzip", "GZIP", "x-gzip", "gzip, deflate", "deflate, gzip", "deflate",
             "gzip;q=1", "gzip;q=1.000", "gzip;q=0.5", "gzip; q=0.5", "gzip ; q=0.5", "gzip;Q=0.5",
             "gzip;q=0.001", "gzip;q=0", "gzip;q=0.0", "gzip;q=0.00", "gzip;q=0.000",
             "gzip;q=0.0000", "gzip;", "gzip;q=", "gzip;q", "gzip;q=x", "gzip;q=-1", "gzip;q=2",
             "gzip; q = 0", "gzip;q =0", "gzip;level=9", "gzip;level=9;q=0", "gzip;level=9;q=1",
             "*", "*;q=0", "*;q=0.5", "gzip;q=0, *", "*, gzip;q=0", "gzip, *;q=0", "identity",
             "identity;q=0", "identity;q=1, gzip;q=0.5", "identity, gzip;q=0.5", "gzip;q=0, gzip",
             "gzip, gzip;q=0", "gzipx", "xgzip", "x-gzip;q=0", "x-gzip;q=0, gzip", ",gzip",
             ",,gzip,", "gzip br", '"gzip"', "gz ip", "deflate;q=1,gzip;q=0.1", "gzip\t;q=1",
             "a=b, gzip", ""),
    "br": ("br", "BR", "brotli", "br;q=1", "br;q=0.5", "br;q=0", "br;q=0.0", "br;q=0.000",
           "br;q=0.0000", "br;", "br;q=", "br;q=x", "br; q=0.5", "br;Q=0", "gzip, br", "br, gzip",
           "gzip", "*", "*;q=0", "br;q=0, *", "identity;q=1, br;q=0.5", "brx", "x-br", ""),
    "br-gzip": ("gzip, br", "br, gzip", "gzip;q=1, br;q=0.5", "br;q=1, gzip;q=0.5",
                "gzip;q=0.5, br;q=0.5", "gzip", "br", "*", "br;q=0, gzip", "gzip;q=0, br",
                "br;q=0, gzip;q=0", "br;q=0, *", "gzip;q=0, *", "gzip, *;q=0.5", "identity", None,
                "zstd, br, gzip", "gzip, deflate, br, zstd", ""),
}
_STRINGS["gzip-br"] = _STRINGS["br-gzip"]

def rows():
    for place, strings in _STRINGS.items():
        for ae in strings:
            said = "no Accept-Encoding" if ae is None else repr(ae)[1:-1] or "an empty one"
            yield page(f"{place}: {said}", place, ae)
    for place in ("br-gzip", "gzip-br"):
        for name in ("no-gzip", "no-brotli", "force-gzip"):
            yield page(f"{place}: gzip, br with {name}", place, "gzip, br",
                       headers={f"X-{name}": "1"})
    yield page("two fields", "br-gzip", None,
               headers={"Accept-Encoding": "gzip;q=0.5", "accept-encoding": "br;q=0.1"})
