# shellcheck shell=bash
# Builds for arm64, and runs them here in qemu's emulation of a process, with arm64 packages of this
# release of Debian. Sourced by bash scripts, after build.sh and bare.sh.

# shellcheck disable=SC2154 # of build.sh
el_arm64=$el_build_root/arm64-system
el_arm64_host=aarch64-linux-gnu
el_arm64_qemu=/usr/bin/qemu-aarch64-static

# The packages that a build and its httpd link with.
el_arm64_packages=apache2-bin,check,libapr1-dev,libaprutil1-dev,libbrotli-dev,libc6-dev
el_arm64_packages+=,libdeflate-dev,libisal-dev,libssl-dev,libzstd-dev,zlib1g-dev

# el_arm64_system: unpacks the packages into el_arm64; their scripts do not run.
el_arm64_system() {
    local package link
    # Outside of a chroot httpd's children open libraries by their paths, as another user.
    if ! setpriv --reuid nobody --clear-groups test -x "$el_build_root"; then
        echo "Others may not enter $el_build_root; ELASTIC_BUILD_DIR names another folder" >&2
        return 1
    fi
    if [ -e "$el_arm64/complete" ]; then
        return 0
    fi
    echo "Unpacking packages for arm64 to $el_arm64"
    el_bare_make "$el_arm64" "$(el_bare_own)" "$el_arm64.log" --arch=arm64 --foreign \
        --include="$el_arm64_packages" || return 1
    for package in "$el_arm64"/var/cache/apt/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$package" |
            tar -x -C "$el_arm64" --keep-directory-symlink || return 1
        rm "$package"
    done
    # The linker would look for their targets in this machine's own folders.
    find "$el_arm64/usr/lib/$el_arm64_host" -type l -lname '/*' | while read -r link; do
        ln -sfn "$el_arm64$(readlink "$link")" "$link"
    done
    touch "$el_arm64/complete"
}

# el_arm64_program FILE PROGRAM: makes a program that runs that arm64 program. It is static, because
# preloaded libraries are for arm64 as well.
el_arm64_program() {
    gcc -static -O1 -o "$1" -x c - <<SOURCE
#include <string.h>
#include <unistd.h>
int main(int count, char **given)
{
    char *run[count + 4];

    memcpy(run, (char *[]){"qemu", "-L", "$el_arm64", "$2"}, 4 * sizeof(*run));
    memcpy(run + 4, given + 1, (size_t)count * sizeof(*run));
    return execv("$el_arm64_qemu", run);
}
SOURCE
}

# el_arm64_script FILE: writes a script from standard input.
el_arm64_script() {
    install -m 755 /dev/stdin "$1"
}

# el_arm64_build: the build in build/arm64; its folder `by` has replacements of apxs, cc and
# programs. The headers of httpd are this machine's, which are the same; those of APR are not.
el_arm64_build() {
    local dir=$el_build_root/arm64 cc="$el_arm64_host-gcc --sysroot=$el_arm64"
    mkdir -p "$dir/by" || return 1
    el_arm64_script "$dir/by/apxs" <<SCRIPT
#!/bin/sh
case \$2 in
APR_CONFIG | APU_CONFIG) ;;
LIBEXECDIR) echo '$el_arm64/usr/lib/apache2/modules' ;;
*) exec $(el_apxs) "\$@" ;;
esac
SCRIPT
    el_arm64_script "$dir/by/cc" <<<"#!/bin/sh
exec $cc \"\$@\"" &&
        el_arm64_program "$dir/by/httpd" "$el_arm64/usr/sbin/apache2" &&
        el_arm64_program "$dir/by/elasticd" "$dir/elasticd" || return 1
    PKG_CONFIG_SYSROOT_DIR=$el_arm64 \
        PKG_CONFIG_LIBDIR=$el_arm64/usr/lib/$el_arm64_host/pkgconfig:$el_arm64/usr/share/pkgconfig \
        el_build arm64 --host="$el_arm64_host" --enable-werror --with-apxs="$dir/by/apxs" \
        --with-httpd="$dir/by/httpd" CC="$cc"
}
