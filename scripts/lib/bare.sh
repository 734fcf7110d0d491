# shellcheck shell=bash
# Bare systems of Debian and Ubuntu in a folder, made by debootstrap, and commands that run in them.
# As root on Debian or Ubuntu. Sourced by bash scripts, after packages.sh.

# Debian's source of Ubuntu 24.04 and its signing keys, of which Debian has no package.
el_bare_ubuntu=http://archive.ubuntu.com/ubuntu
el_bare_keyring=pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb
el_bare_keyring_sum=36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8

el_bare_own() {
    . /etc/os-release && echo "$VERSION_CODENAME"
}

# el_bare_sources CODENAME: lines of a sources.list: this machine's own sources, with the release
# replaced by CODENAME.
el_bare_sources() {
    if [ "$1" = noble ] && [ "$(el_bare_own)" != noble ]; then
        printf "deb $el_bare_ubuntu %s main universe\n" noble noble-updates noble-security
    else
        apt-get indextargets --format 'deb $(SITE) $(CODENAME) $(COMPONENT) $(ORIGIN)' \
            'Created-By: Packages' | sed -nE 's/ (Debian|Ubuntu)$//p' | sort -u |
            sed "s/ $(el_bare_own)\\b/ $1/"
    fi
}

# el_bare_foreign DIR: writes the key of Ubuntu's archive to DIR.gpg.
el_bare_foreign() {
    wget -q -O "$1.deb" "$el_bare_ubuntu/$el_bare_keyring" &&
        echo "$el_bare_keyring_sum  $1.deb" | sha256sum --check --quiet &&
        dpkg-deb --fsys-tarfile "$1.deb" |
        tar -xO ./usr/share/keyrings/ubuntu-archive-keyring.gpg >"$1.gpg"
}

# el_bare_make DIR CODENAME LOG [DEBOOTSTRAP-OPTION...]: makes a new system of that release in DIR,
# replacing the old one. Its apt has this machine's settings, and its packages start no service.
el_bare_make() {
    local dir=$1 codename=$2 log=$3 sources site file script=
    shift 3
    sources=$(el_bare_sources "$codename")
    if [ -z "$sources" ]; then
        # There may be no package lists yet.
        el_apt update -q >"$log" 2>&1
        sources=$(el_bare_sources "$codename")
    fi
    site=$(awk -v codename="$codename" '$3 == codename { print $2; exit }' <<<"$sources")
    rm -rf --one-file-system "$dir"
    if [ "$site" = "$el_bare_ubuntu" ] && [ "$(el_bare_own)" != noble ]; then
        el_bare_foreign "$dir" || return 1
        set -- --keyring="$dir.gpg" "$@"
        script=/usr/share/debootstrap/scripts/gutsy
    fi
    if ! debootstrap --variant=minbase "$@" "$codename" "$dir" "$site" $script >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        echo "debootstrap failed (all of it: $log)" >&2
        return 1
    fi
    printf '#!/bin/sh\nexit 101\n' >"$dir/usr/sbin/policy-rc.d"
    chmod +x "$dir/usr/sbin/policy-rc.d"
    # Except those that packages bring, there as here.
    find /etc/apt/*.conf.d -type f | while read -r file; do
        dpkg -S "$file" >/dev/null 2>&1 || cp --parents "$file" "$dir"
    done
    if [ -e /etc/apt/apt.conf ]; then
        cp /etc/apt/apt.conf "$dir/etc/apt/"
    fi
    # The administrator's certificates become effective with the package ca-certificates.
    find /usr/local/share/ca-certificates -name '*.crt' -exec cp --parents {} "$dir" \;
    echo "$sources" >"$dir/etc/apt/sources.list"
    cp /etc/hosts /etc/resolv.conf "$dir/etc/"
}

# Run by el_bare_run in the new namespaces: DIR COMMAND. DIR becomes their root, so that bare
# systems can be made and run inside of it; in a chroot the kernel allows no user namespaces.
el_bare_mounts='
    mount --bind "$0" "$0"
    mount -t proc proc "$0/proc"
    mount --rbind /sys "$0/sys"
    mount --rbind /dev "$0/dev"
    mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm"
    cd "$0"
    pivot_root . mnt
    umount -l mnt
    exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
        TERM="${TERM:-dumb}" DEBIAN_FRONTEND=noninteractive ${ELASTIC_JOBS+ELASTIC_JOBS=$ELASTIC_JOBS} \
        sh -ec "$1"'

# el_bare_run DIR COMMAND: runs a shell command in the system in DIR. It has its own namespaces for
# mounts and processes: its mounts and processes end with it, and it ends with the caller, however
# that ends.
el_bare_run() {
    setpriv --pdeathsig KILL \
        unshare --mount --pid --fork --kill-child sh -ec "$el_bare_mounts" "$1" "$2"
}
