# shellcheck shell=bash
# Packages: finds out by trying what a script needs, and installs it by apt if possible. Sourced by
# bash scripts.

# el_packages_table GROUP: probe | Debian package | Fedora package. A probe is a command that
# succeeds if the package's content is there, whoever installed it. Needs of an "optional:" package
# are left out on a release of Debian that lacks it.
el_packages_table() {
    case $1 in
    build) cat <<'TABLE'
command -v gcc                                  | gcc             | gcc
test -e /usr/include/stdio.h                    | libc6-dev       | glibc-devel
command -v make                                 | make            | make
command -v autoconf                             | autoconf        | autoconf
command -v automake                             | automake        | automake
command -v libtoolize                           | libtool         | libtool
command -v pkg-config                           | pkg-config      | pkgconf-pkg-config
el_httpd_binary                                 | apache2-bin     | httpd
el_apxs                                         | apache2-dev     | httpd-devel
pkg-config --exists zlib                        | zlib1g-dev      | zlib-devel
pkg-config --exists libbrotlienc libbrotlidec   | libbrotli-dev   | brotli-devel
pkg-config --exists libdeflate                  | libdeflate-dev  | libdeflate-devel
pkg-config --exists libisal                     | libisal-dev     | isa-l-devel
pkg-config --exists libzstd                     | libzstd-dev     | libzstd-devel
pkg-config --exists libcrypto                   | libssl-dev      | openssl-devel
pkg-config --exists check                       | check           | check-devel
TABLE
        ;;
    run) cat <<'TABLE'
el_python "import ctypes"                       | python3         | python3
command -v curl                                 | curl            | curl
command -v setsid                               | util-linux      | util-linux
TABLE
        ;;
    test) cat <<'TABLE'
el_python "import pytest"                       | python3-pytest  | python3-pytest
el_python "import xdist"                        | python3-pytest-xdist | python3-pytest-xdist
command -v lowdown                              | lowdown         | lowdown
el_python "import brotli"                       | python3-brotli  | python3-brotli
el_python "import zstandard"                    | python3-zstandard | python3-zstandard
command -v brotli                               | brotli          | brotli
command -v zstd                                 | zstd            | zstd
command -v curl                                 | curl            | curl
command -v openssl                              | openssl         | openssl
command -v redis-server                         | redis-server    | redis
command -v memcached                            | memcached       | memcached
command -v litmus                               | litmus          | litmus
test -e /etc/mime.types                         | media-types     | mailcap
command -v wrk                                  | wrk             | wrk
command -v h2load                               | nghttp2-client  | nghttp2
command -v nghttpd                              | nghttp2-server  | nghttp2
el_php_fpm                                      | php-fpm         | php-fpm
el_httpd_module mod_security2                       | libapache2-mod-security2 | mod_security
el_httpd_module mod_fcgid                           | libapache2-mod-fcgid | mod_fcgid
el_httpd_module mod_perl                            | libapache2-mod-perl2 | mod_perl
el_httpd_module mod_wsgi                            | libapache2-mod-wsgi-py3 | python3-mod_wsgi
command -v php-cgi                              | php-cgi         | php-cli
el_sbin tc                                      | iproute2        | iproute-tc
command -v setpriv                              | util-linux      | util-linux
command -v nm                                   | binutils        | binutils
command -v systemd-analyze                      | systemd         | systemd
el_chromium                                     | optional:chromium-headless-shell | chromium-headless
el_python "import gunicorn"                     | gunicorn        | python3-gunicorn
el_python "import uvicorn"                      | python3-uvicorn | python3-uvicorn
el_python "import h2"                           | python3-h2      | python3-h2
el_python "import prometheus_client"            | python3-prometheus-client | python3-prometheus_client
TABLE
        ;;
    bench) cat <<'TABLE'
el_python "import matplotlib"                   | python3-matplotlib | python3-matplotlib
el_python "import scipy"                        | python3-scipy   | python3-scipy
el_python "import jinja2"                       | python3-jinja2  | python3-jinja2
command -v h2load                               | nghttp2-client  | nghttp2
el_sbin nginx                                   | nginx-light     | nginx-core
el_nginx_module brotli                          | optional:libnginx-mod-http-brotli-filter | nginx-mod-brotli
el_nginx_module zstd                            | optional:libnginx-mod-http-zstd-filter | nginx-mod-zstd
el_sbin lighttpd                                | lighttpd        | lighttpd
el_lighttpd_deflate                             | lighttpd-mod-deflate | lighttpd
command -v h2o                                  | optional:h2o    | h2o
el_sbin haproxy                                 | haproxy         | haproxy
el_sbin varnishd                                | varnish         | varnish
command -v redis-server                         | redis-server    | redis
command -v caddy                                | caddy           | caddy
el_php_fpm                                      | php-fpm         | php-fpm
command -v setpriv                              | util-linux      | util-linux
el_sbin tc                                      | iproute2        | iproute-tc
el_sbin ethtool                                 | ethtool         | ethtool
el_python "import yaml"                         | python3-yaml    | python3-pyyaml
command -v valgrind                             | valgrind        | valgrind
TABLE
        ;;
    debug) cat <<'TABLE'
command -v gdb                                  | gdb             | gdb
TABLE
        ;;
    lint) cat <<'TABLE'
command -v git                                  | git             | git-core
command -v shellcheck                           | shellcheck      | ShellCheck
el_python "import pyflakes"                     | python3-pyflakes | python3-pyflakes
command -v clang-format                         | clang-format    | clang-tools-extra
TABLE
        ;;
    analyse) cat <<'TABLE'
command -v clang-tidy                           | clang-tidy      | clang-tools-extra
TABLE
        ;;
    musl) cat <<'TABLE'
command -v musl-gcc                             | musl-tools      | musl-gcc
TABLE
        ;;
    deb) cat <<'TABLE'
command -v git                                  | git             |
command -v dpkg-buildpackage                    | dpkg-dev        |
dpkg -s build-essential                         | build-essential |
command -v dh                                   | debhelper       |
command -v dh_apache2                           | dh-apache2      |
command -v dh_python3                           | dh-python       |
command -v lowdown                              | lowdown         |
command -v apt-ftparchive                       | apt-utils       |
command -v gpg                                  | gnupg           |
TABLE
        ;;
    rpm) cat <<'TABLE'
command -v git                                  | git             | git-core
command -v lowdown                              | lowdown         | lowdown
command -v rpmbuild                             | rpm             | rpm-build
TABLE
        ;;
    packages) cat <<'TABLE'
command -v lintian                              | lintian         |
command -v debootstrap                          | debootstrap     |
command -v systemd-nspawn                       | systemd-container |
TABLE
        ;;
    release) cat <<'TABLE'
el_python "import venv, ensurepip"              | python3-venv    | python3
command -v gpgv                                 | gpgv            | gnupg2
TABLE
        ;;
    mechanical) cat <<'TABLE'
el_python "import clang.cindex"                 | python3-clang   | python3-clang
TABLE
        ;;
    container) cat <<'TABLE'
command -v podman                               | podman          |
el_sbin runc                                    | runc            |
TABLE
        ;;
    bare) cat <<'TABLE'
command -v debootstrap                          | debootstrap     |
command -v git                                  | git             |
command -v setpriv                              | util-linux      |
TABLE
        ;;
    arm64) cat <<'TABLE'
command -v aarch64-linux-gnu-gcc                | gcc-aarch64-linux-gnu |
test -x /usr/bin/qemu-aarch64-static            | qemu-user-static |
TABLE
        ;;
    corpus) cat <<'TABLE'
test -d /usr/share/doc/apache2-doc/manual/en    | apache2-doc     | httpd-manual
test -d /usr/share/javascript/jquery            | libjs-jquery    | js-jquery
test -d /usr/share/javascript/jquery-ui         | libjs-jquery-ui | js-jquery-ui
test -d /usr/share/javascript/bootstrap4        | libjs-bootstrap4 | bootstrap4
test -d /usr/share/javascript/d3                | libjs-d3        | js-d3
TABLE
        ;;
    neighbours) cat <<'TABLE'
command -v node                                 | nodejs          | nodejs
el_sbin nginx                                   | nginx-light     | nginx-core
command -v php-cgi                              | php-cgi         | php-cli
command -v uwsgi-core                           | uwsgi-core      | uwsgi
compgen -G '/usr/lib*/uwsgi/plugins/python3*' | uwsgi-plugin-python3 | uwsgi-plugin-python3
command -v java                                 | default-jre-headless | java-headless
test -e /usr/share/tomcat10/bin/bootstrap.jar   | tomcat10-common | tomcat
command -v puma                                 | puma            | rubygem-puma
TABLE
        ;;
    neighbours-short) cat <<'TABLE'
el_httpd_module mod_wsgi                        | libapache2-mod-wsgi-py3 | python3-mod_wsgi
el_httpd_module mod_fcgid                       | libapache2-mod-fcgid | mod_fcgid
el_httpd_module mod_security2                   | libapache2-mod-security2 | mod_security
el_httpd_module 'libphp*'                       | libapache2-mod-php | php
TABLE
        ;;
    clients-short) cat <<'TABLE'
command -v git                                  | git             | git-core
command -v apt-ftparchive                       | apt-utils       | apt
TABLE
        ;;
    clients) cat <<'TABLE'
command -v git                                  | git             | git-core
command -v apt-ftparchive                       | apt-utils       | apt
command -v wget                                 | wget            | wget
command -v aria2c                               | aria2           | aria2
test -e /etc/mime.types                         | media-types     | mailcap
command -v cadaver                              | cadaver         | cadaver
el_sbin mount.davfs                             | davfs2          | davfs2
el_chromium                                     | chromium-headless-shell | chromium-headless
el_firefox                                      | firefox-esr     | firefox
el_sbin mariadbd                                | mariadb-server-core | mariadb-server
command -v my_print_defaults                    | mariadb-client-core | mariadb
el_php_module sqlite3                           | php-sqlite3     | php-pdo
el_php_module mysqli                            | php-mysql       | php-mysqlnd
TABLE
        ;;
    fuzz) cat <<'TABLE'
command -v clang                                | clang           | clang
el_clang_fuzzer                                 | libclang-rt-dev | compiler-rt
TABLE
        ;;
    esac
}

# The path of the server's binary, which distributions put in different places.
el_httpd_binary() {
    local path
    for path in /usr/sbin/apache2 /usr/sbin/httpd /usr/local/apache2/bin/httpd; do
        if [ -x "$path" ]; then
            echo "$path"
            return 0
        fi
    done
    command -v httpd
}

el_apxs() {
    command -v apxs || command -v apxs2
}

# el_httpd_module NAME: succeeds if httpd has it; NAME may be a pattern.
el_httpd_module() {
    compgen -G "$("$(el_apxs)" -q LIBEXECDIR)/$1.so"
}

# el_sbin NAME: the path of an administrator's program, whose folder may be missing in a user's
# PATH.
el_sbin() {
    PATH=$PATH:/usr/sbin:/sbin command -v "$1"
}

el_chromium() {
    command -v chromium-headless-shell || command -v chromium || command -v chromium-browser
}

# Not the snap of that name on Ubuntu.
el_firefox() {
    command -v firefox-esr || [ -x /usr/lib64/firefox/firefox ]
}

# el_nginx_module CODING: succeeds if nginx has the filter of that coding.
el_nginx_module() {
    compgen -G "/usr/lib*/nginx/modules/ngx_http_$1_filter_module.so"
}

el_lighttpd_deflate() {
    compgen -G '/usr/lib*/lighttpd/mod_deflate.so'
}

# Debian's name has the version.
el_php_fpm() {
    compgen -G '/usr/sbin/php-fpm*' || command -v php-fpm
}

el_php_module() {
    php -r "exit(extension_loaded('$1') ? 0 : 1);"
}

# el_python CODE: a python3 that runs CODE, preferably the distribution's. All modules must belong
# to the same python3; packages only install for the distribution's.
el_python() {
    local path=/usr/bin/python3
    [ -x "$path" ] || path=python3
    "$path" -c "$1" >/dev/null 2>&1 && echo "$path"
}

el_clang_fuzzer() {
    command -v clang >/dev/null &&
        [ -e "$(clang -print-file-name="libclang_rt.fuzzer-$(uname -m).a" 2>/dev/null)" ]
}

# el_packages_missing COLUMN GROUP...: names of missing packages, one a line; column 2 is Debian's,
# 3 is Fedora's.
el_packages_missing() {
    local column=$1 group probe debian fedora
    shift
    for group in "$@"; do
        while IFS='|' read -r probe debian fedora; do
            if ! eval "$probe" >/dev/null 2>&1; then
                [ "$column" = 2 ] && echo $debian || echo $fedora
            fi
        done < <(el_packages_table "$group")
    done | sort -u
}

# el_as_root COMMAND...
el_as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

# el_apt ARGUMENT...: apt-get as root, without questions.
el_apt() {
    el_as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@"
}

# This program, if it exists, decides if services may be started.
el_apt_policy=/usr/sbin/policy-rc.d

# el_apt_may PACKAGE...: whether they may be installed. ELASTIC_INSTALL and CI=true say yes. A
# terminal is asked. Without one root may install, as in a container, and nobody else.
el_apt_may() {
    local answer
    if [ -n "${ELASTIC_INSTALL-}" ] || [ "${CI-}" = true ]; then
        return 0
    fi
    if [ -t 0 ] && [ -t 2 ]; then
        echo "Missing: $*" >&2
        read -r -p "Install them by apt-get? [y/N] " answer || answer=
        if [[ $answer == [yYjJ]* ]]; then
            export ELASTIC_INSTALL=1
            return 0
        fi
    elif [ "$(id -u)" -eq 0 ]; then
        return 0
    fi
    echo "Missing; install it by scripts/check --install, or as root:" \
        "apt-get install --no-install-recommends $*" >&2
    return 1
}

# Only programs are needed: services of packages that are installed now do not start.
el_apt_install() {
    el_apt_may "$@" || return 1
    echo "Installing: $*"
    el_apt update -q || return 1
    (
        if [ ! -e "$el_apt_policy" ]; then
            trap 'el_as_root rm -f "$el_apt_policy"' EXIT
            trap 'exit 130' INT TERM
            printf '#!/bin/sh\nexit 101\n' |
                el_as_root install -m 755 /dev/stdin "$el_apt_policy" || exit 1
        fi
        el_apt install -q -y --no-install-recommends "$@"
    )
}

# el_apt_has PACKAGE: succeeds if apt can install it.
el_apt_has() {
    [ -n "$(apt-cache madison "$1" 2>/dev/null)" ]
}

# el_packages_look GROUP...: sets el_missing to Debian's missing packages, and ELASTIC_LACKING to
# the optional ones that this release lacks.
el_packages_look() {
    local name
    el_missing=
    ELASTIC_LACKING=
    for name in $(el_packages_missing 2 "$@"); do
        case $name in
        optional:*)
            name=${name#optional:}
            # Without package lists apt has no packages; gcc is in every release.
            el_apt_has gcc || el_apt update -q || return 1
            if ! el_apt_has "$name"; then
                ELASTIC_LACKING="$ELASTIC_LACKING $name"
                continue
            fi
            ;;
        esac
        el_missing="$el_missing $name"
    done
    export ELASTIC_LACKING
}

# el_packages_need GROUP...: installs missing packages if it may, or names them and fails. Sets
# ELASTIC_LACKING like el_packages_look.
el_packages_need() {
    local missing
    if ! command -v apt-get >/dev/null; then
        missing=$(el_packages_missing 3 "$@")
        if [ -n "$missing" ]; then
            echo "Missing; install these (names as in Fedora) and start again:" $missing >&2
            return 1
        fi
        return 0
    fi
    el_packages_look "$@" || return 1
    if [ -z "$el_missing" ]; then
        return 0
    fi
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
        echo "Missing; as root: apt-get install --no-install-recommends$el_missing" >&2
        return 1
    fi
    el_apt_install $el_missing || return 1
    el_packages_look "$@" || return 1
    if [ -n "$el_missing" ]; then
        echo "Still missing after the installation:$el_missing" >&2
        return 1
    fi
}

# el_neighbours_need: installs as many of Debian's packages of httpd modules as apt can combine.
# ELASTIC_NEIGHBOURS_LEFT: the names of the others.
el_neighbours_need() {
    local all name bad
    ELASTIC_NEIGHBOURS_LEFT=
    [ -e /etc/debian_version ] || return 0
    el_apt_has gcc || el_apt update -q || return 1
    all=$(apt-cache search --names-only '^libapache2-mod-' | cut -d ' ' -f 1 |
        grep -vE -e '-(dev|doc|dbg|dbgsym)$' | sort)
    # Drops the packages that apt names, one at a time, until it agrees.
    while true; do
        bad=$({ LC_ALL=C el_apt install -s --no-install-recommends $all 2>&1 || true; } |
            sed -nE 's/^ ?(libapache2-mod-[^ ]+) : .*/\1/p' | tail -n 1)
        [ -n "$bad" ] || break
        ELASTIC_NEIGHBOURS_LEFT="$ELASTIC_NEIGHBOURS_LEFT $bad"
        all=$(grep -vx -e "$bad" <<<"$all")
    done
    export ELASTIC_NEIGHBOURS_LEFT
    bad=
    for name in $all; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] ||
            bad="$bad $name"
    done
    [ -z "$bad" ] || el_apt_install $bad
}

# el_debian_unpack DIR: unpacks Debian's packages apache2, for a2enmod and the configuration,
# prometheus and promtool into DIR. They are not installed, because that would start servers; nor is
# mod_uwsgi, which conflicts with mod_ruwsgi. Does nothing except on Debian and its relatives;
# elsewhere their tests are deselected.
el_debian_unpack() {
    if [ ! -e /etc/debian_version ]; then
        return 0
    fi
    # Before Debian 13, promtool is in prometheus.
    el_debian_unpack_one "$1" apache2 usr/sbin/a2enmod &&
        el_debian_unpack_one "$1" prometheus usr/bin/prometheus &&
        el_debian_unpack_one "$1" promtool usr/bin/promtool || return 1
    if el_apt_has libapache2-mod-uwsgi; then
        el_debian_unpack_one "$1" libapache2-mod-uwsgi usr/lib/apache2/modules/mod_uwsgi.so
    else
        export ELASTIC_LACKING="${ELASTIC_LACKING:-} libapache2-mod-uwsgi"
    fi
}

# el_debian_unpack_one DIR PACKAGE FILE: does nothing if DIR has that FILE of it.
el_debian_unpack_one() {
    if [ -e "$1/$3" ]; then
        return 0
    fi
    echo "Unpacking Debian's package $2 to $1"
    mkdir -p "$1" || return 1
    (
        cd "$1" || exit 1
        # There may be no package lists yet.
        apt-get download -q "$2" || { el_apt update -q && apt-get download -q "$2"; } || exit 1
        dpkg-deb -x "$2"_*.deb . && rm "$2"_*.deb
    )
}

# el_applications_unpack DIR: the same for the applications of tests/clients, whose packages would
# ask questions and need a server. Their libraries are installed; each release has its own.
el_applications_unpack() {
    local name missing=
    if [ ! -e /etc/debian_version ]; then
        return 0
    fi
    el_debian_unpack_one "$1" apache2-doc usr/share/doc/apache2-doc/manual/en/index.html &&
        el_debian_unpack_one "$1" dokuwiki usr/share/dokuwiki/doku.php &&
        el_debian_unpack_one "$1" mediawiki-classes usr/share/doc/mediawiki-classes/copyright &&
        el_debian_unpack_one "$1" mediawiki usr/share/mediawiki/index.php &&
        el_debian_unpack_one "$1" wordpress usr/share/wordpress/index.php &&
        el_debian_unpack_one "$1" wordpress-theme-twentytwentythree \
            usr/share/wordpress/wp-content/themes/twentytwentythree/style.css || return 1
    for name in $(apt-cache depends dokuwiki mediawiki wordpress |
        sed -nE 's/^ +Depends: ((php|libphp|libjs)-[^ ]+)$/\1/p' | sort -u); do
        dpkg -s "$name" >/dev/null 2>&1 || missing="$missing $name"
    done
    [ -z "$missing" ] || el_apt_install $missing
}
