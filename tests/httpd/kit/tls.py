"""A certification authority for the tests, and certificates for names."""

import subprocess


def _openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


def make(folder, host, *others):
    """Makes (the authority's certificate, the site's with its key), files in the folder, for the
    names."""
    ca, key, site = (folder / name for name in ("ca.pem", "ca.key", "site.pem"))
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    _openssl("req", "-x509", *curve, "-subj", "/CN=tests", "-addext",
             "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign",
             "-keyout", key, "-out", ca)
    names = ",".join(f"DNS:{name}" for name in (host, *others))
    _openssl("req", "-x509", *curve, "-CA", ca, "-CAkey", key, "-subj", f"/CN={host}", "-addext",
             "basicConstraints=critical,CA:FALSE", "-addext", f"subjectAltName={names}",
             "-keyout", folder / "site.key", "-out", folder / "site.crt")
    site.write_text((folder / "site.key").read_text() + (folder / "site.crt").read_text())
    ca.chmod(0o644)
    return ca, site
