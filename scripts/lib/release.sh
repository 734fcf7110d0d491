# shellcheck shell=bash
# Packs and signs with equal bytes each time, those of SOURCE_DATE_EPOCH. Sourced by bash scripts.

# el_pack DIR TARBALL [tar option...]: the same bytes for the same files.
el_pack() {
    local from=$1 to=$2
    shift 2
    tar -C "$(dirname "$from")" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
        --numeric-owner --mode=go+rX,go-w "$@" -c "$(basename "$from")" | gzip -9n >"$to"
}

# el_podman DIR ARGUMENT...: podman with its storage in DIR. Other runtimes refuse a machine with both
# versions of control groups.
el_podman() {
    local dir=$1
    shift
    podman --root "$dir/storage" --runroot "$dir/run" --storage-driver vfs --runtime runc \
        --cgroup-manager cgroupfs --events-backend none "$@"
}

# el_image PODMAN DIR NAME OUT: packs an image whose one layer is DIR/image into OUT; PODMAN is for
# el_podman.
el_image() {
    printf 'FROM scratch\nCOPY image /\n' >"$2/Containerfile"
    el_podman "$1" build -q --timestamp "$SOURCE_DATE_EPOCH" --format oci -t "$3" \
        -f "$2/Containerfile" "$2" &&
        el_podman "$1" save -q --format oci-dir -o "$2/mod_elastic-image" "$3" &&
        el_pack "$2/mod_elastic-image" "$4"
}

# el_key_open KEY DIR: makes KEY the one that signs: a file with a secret key that has no passphrase,
# which is imported into a keyring in DIR, or a key of gpg's own. Sets el_key, its fingerprint.
el_key_open() {
    if [ -f "$1" ]; then
        export GNUPGHOME=$2/gnupg
        mkdir -m 700 "$GNUPGHOME"
        gpg --batch --quiet --import "$1"
        set -- ""
    fi
    el_key=$(gpg --batch --with-colons --list-secret-keys ${1:+"$1"} |
        awk -F: '$1 == "fpr" { print $10; exit }')
    [ -n "$el_key" ] || { echo "there is no such secret key" >&2; return 1; }
}

# el_key_close: ends the agent of a keyring that el_key_open made.
el_key_close() {
    [ -z "${GNUPGHOME-}" ] || gpgconf --kill gpg-agent 2>/dev/null || :
}

# el_sign ARGUMENT...: gpg with the key, at the time SOURCE_DATE_EPOCH, or when the key was made if
# that was later: a signature has a time, too.
el_sign() {
    local made
    made=$(gpg --batch --with-colons --list-secret-keys "$el_key" |
        awk -F: '$1 == "sec" { print $6; exit }')
    gpg --batch --yes --faked-system-time \
        "$((SOURCE_DATE_EPOCH > made ? SOURCE_DATE_EPOCH : made))!" --local-user "$el_key" "$@"
}
