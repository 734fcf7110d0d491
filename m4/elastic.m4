# Macros of configure.ac. What is missing is collected, so that one run of configure names it all.

# EL_MISSING(WHAT, DEBIAN-PACKAGE, FEDORA-PACKAGE)
AC_DEFUN([EL_MISSING], [
    el_missing="$el_missing
    $1 (Debian: $2, Fedora: $3)"
])

# EL_MISSING_STOP: ends configure where something is missing.
AC_DEFUN([EL_MISSING_STOP], [
    AS_IF([test -n "$el_missing"], [AC_MSG_ERROR([missing, to be installed first:$el_missing])])
])

# EL_C11: stops where the compiler knows neither C11 nor its atomics.
AC_DEFUN([EL_C11], [
    AC_MSG_CHECKING([whether $CC takes C11 with atomics])
    el_cflags=$CFLAGS
    CFLAGS="$CFLAGS -std=c11"
    AC_LINK_IFELSE(
        [AC_LANG_PROGRAM([[#include <stdatomic.h>]],
                         [[static _Atomic unsigned long long word;
                           return (int)atomic_fetch_add(&word, 1);]])],
        [AC_MSG_RESULT([yes])],
        [AC_MSG_RESULT([no])
         AC_MSG_ERROR([a C11 compiler is needed (Debian: gcc, Fedora: gcc)])])
    CFLAGS=$el_cflags
])

# EL_LIBRARY(VARIABLE, PC-NAME, HEADER, LINK-FLAGS, FUNCTION, DEBIAN-PACKAGE, FEDORA-PACKAGE)
# A library that the module needs. Sets VARIABLE_CFLAGS and VARIABLE_LIBS.
AC_DEFUN([EL_LIBRARY], [
    EL_FIND([$1], [$2], [$3], [$4], [$5])
    AS_IF([test $el_with = no], [EL_MISSING([$2], [$6], [$7])])
])

# EL_FIND(VARIABLE, PC-NAME, HEADER, LINK-FLAGS, FUNCTION)
# Sets VARIABLE_CFLAGS, VARIABLE_LIBS, and el_with to yes or no. Where pkg-config does not find it,
# each of the alternatives in LINK-FLAGS is tried, which commas separate.
AC_DEFUN([EL_FIND], [
    el_with=no
    PKG_CHECK_MODULES([$1], [$2], [el_with=yes], [
        $1_CFLAGS=
        $1_LIBS=
        AC_CHECK_HEADER([$3], [m4_foreach([el_flags], [$4], [
            AS_IF([test -z "$$1_LIBS"], [EL_TRY_LINK([$1], [el_flags], [$5])])
        ])])
        AS_IF([test -n "$$1_LIBS"], [el_with=yes])
    ])
])

# EL_UNIT_TESTS: the conditional WITH_CHECK, and el_unit_tests for configure's summary. Without
# libcheck everything builds, and `make check` says what it lacks.
AC_DEFUN([EL_UNIT_TESTS], [
    EL_FIND([CHECK], [check], [check.h], [-lcheck -lsubunit -lrt -lm, -lcheck -lrt -lm],
            [suite_create])
    AS_IF([test $el_with = yes], [el_unit_tests='by libcheck'],
          [el_unit_tests='none: make check needs libcheck (Debian: check, Fedora: check-devel)'])
    AM_CONDITIONAL([WITH_CHECK], [test $el_with = yes])
])

# EL_ENGINE(VARIABLE, NAME, PC-NAME, HEADER, LINK-FLAGS, FUNCTION, WHAT)
# A compression library that the module does without: --with-NAME insists on it, --without-NAME
# leaves it out. Sets VARIABLE_CFLAGS, VARIABLE_LIBS and the conditional WITH_VARIABLE, and adds to
# ENGINE_DEFS.
AC_DEFUN([EL_ENGINE], [
    AC_ARG_WITH([$2],
        [AS_HELP_STRING([--without-$2], [leave out $7 (default: used where it is found)])],
        [], [with_$2=auto])
    el_with=no
    AS_IF([test "x$with_$2" != xno], [
        EL_FIND([$1], [$3], [$4], [$5], [$6])
        AS_IF([test "$el_with$with_$2" = noyes],
              [AC_MSG_ERROR([--with-$2: no $3 here by pkg-config, and no $4])])
    ])
    AS_IF([test $el_with = yes], [ENGINE_DEFS="$ENGINE_DEFS -DELASTIC_WITH_$1"
                                  el_engines="$el_engines $2"])
    AC_SUBST([ENGINE_DEFS])
    AM_CONDITIONAL([WITH_$1], [test $el_with = yes])
])

# EL_DCB: adds to ENGINE_DEFS where libbrotlienc and libbrotlidec know dictionaries, from 1.1 on;
# el_dcb says whether they do.
AC_DEFUN([EL_DCB], [
    el_dcb_LIBS=
    EL_TRY_LINK([el_dcb], [$BROTLI_LIBS $BROTLIDEC_LIBS], [BrotliEncoderPrepareDictionary])
    AS_IF([test -n "$el_dcb_LIBS"], [ENGINE_DEFS="$ENGINE_DEFS -DELASTIC_WITH_DCB"
                                    el_dcb=yes],
          [el_dcb="no: libbrotli is older than 1.1"])
])

# EL_TRY_LINK(VARIABLE, LINK-FLAGS, FUNCTION): VARIABLE_LIBS is LINK-FLAGS where that finds FUNCTION.
AC_DEFUN([EL_TRY_LINK], [
    AC_MSG_CHECKING([for $3 by $2])
    el_libs=$LIBS
    LIBS="$2 $LIBS"
    AC_LINK_IFELSE([AC_LANG_CALL([], [$3])], [$1_LIBS="$2"; AC_MSG_RESULT([yes])],
                   [AC_MSG_RESULT([no])])
    LIBS=$el_libs
])

# EL_HTTPD: APXS, HTTPD (the server's binary), HTTPD_CPPFLAGS, HTTPD_MODULES_DIR.
AC_DEFUN([EL_HTTPD], [
    AC_ARG_WITH([apxs],
        [AS_HELP_STRING([--with-apxs=PATH], [httpd's apxs (default: apxs or apxs2 on the PATH)])],
        [], [with_apxs=yes])
    AC_ARG_WITH([httpd],
        [AS_HELP_STRING([--with-httpd=PATH], [server for the tests (default: the one of apxs)])])
    AS_CASE([$with_apxs],
        [no], [AC_MSG_ERROR([the module cannot be built without apxs])],
        [yes], [AC_PATH_PROGS([APXS], [apxs apxs2], [], [$PATH:/usr/sbin:/usr/local/apache2/bin])],
        [AS_IF([test -x "$with_apxs"], [],
               [AC_MSG_ERROR([--with-apxs=$with_apxs: not an executable file])])
         APXS=$with_apxs])
    AC_SUBST([APXS])
    AS_IF([test -z "$APXS"],
          [EL_MISSING([apxs], [apache2-dev], [httpd-devel])],
          [EL_HTTPD_PATHS])
])

AC_DEFUN([EL_HTTPD_PATHS], [
    HTTPD_MODULES_DIR=`$APXS -q LIBEXECDIR`
    HTTPD=$with_httpd
    test -n "$HTTPD" || HTTPD=`$APXS -q SBINDIR`/`$APXS -q PROGNAME`
    el_apr=`$APXS -q APR_CONFIG 2>/dev/null`
    el_apu=`$APXS -q APU_CONFIG 2>/dev/null`
    el_apr_flags=
    AS_IF([test -x "$el_apr"],
          [el_apr_flags="`$el_apr --cppflags` `$el_apr --includes`"],
          [PKG_CHECK_EXISTS([apr-1], [el_apr_flags=`$PKG_CONFIG --cflags apr-1`])])
    AS_IF([test -x "$el_apu"],
          [el_apr_flags="$el_apr_flags `$el_apu --includes`"],
          [PKG_CHECK_EXISTS([apr-util-1],
               [el_apr_flags="$el_apr_flags `$PKG_CONFIG --cflags apr-util-1`"])])
    # As system headers: their warnings are not ours.
    HTTPD_CPPFLAGS=
    for el_flag in -I`$APXS -q INCLUDEDIR` `$APXS -q EXTRA_CPPFLAGS` $el_apr_flags; do
        AS_CASE([$el_flag], [-I*], [el_flag="-isystem `echo "$el_flag" | $SED 's/^-I//'`"])
        AS_CASE([" $HTTPD_CPPFLAGS "], [*" $el_flag "*], [],
                [HTTPD_CPPFLAGS="$HTTPD_CPPFLAGS $el_flag"])
    done
    AC_SUBST([HTTPD])
    AC_SUBST([HTTPD_MODULES_DIR])
    AC_SUBST([HTTPD_CPPFLAGS])

    el_cppflags=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $HTTPD_CPPFLAGS"
    AC_CHECK_HEADER([apr.h], [], [EL_MISSING([APR], [libapr1-dev], [apr-devel])])
    AC_CHECK_HEADER([apu.h], [], [EL_MISSING([APR-util], [libaprutil1-dev], [apr-util-devel])])
    AC_CHECK_HEADER([mod_watchdog.h], [],
        [EL_MISSING([headers of httpd], [apache2-dev], [httpd-devel])],
        [[#include <apr.h>
#include <apr_optional.h>
#include <httpd.h>]])
    CPPFLAGS=$el_cppflags
])

# EL_SANITIZERS: SANITIZE_FLAGS for compiler and linker, SANITIZE_PRELOAD for a server that was not
# built with them.
AC_DEFUN([EL_SANITIZERS], [
    AC_ARG_ENABLE([asan], [AS_HELP_STRING([--enable-asan], [build with AddressSanitizer])])
    AC_ARG_ENABLE([ubsan],
        [AS_HELP_STRING([--enable-ubsan],
            [build with UndefinedBehaviorSanitizer, reports are fatal])])
    AC_ARG_ENABLE([tsan],
        [AS_HELP_STRING([--enable-tsan], [build with ThreadSanitizer])])
    SANITIZE_FLAGS=
    SANITIZE_PRELOAD=
    el_runtime=
    AS_IF([test "x$enable_asan" = xyes], [
        SANITIZE_FLAGS="-fsanitize=address -fno-omit-frame-pointer"
        el_runtime=`$CC -print-file-name=libasan.so`
    ])
    AS_IF([test "x$enable_ubsan" = xyes],
        [SANITIZE_FLAGS="$SANITIZE_FLAGS -fsanitize=undefined -fno-sanitize-recover=undefined"])
    AS_IF([test "x$enable_tsan" = xyes], [
        SANITIZE_FLAGS="-fsanitize=thread -fno-omit-frame-pointer"
        el_runtime=`$CC -print-file-name=libtsan.so`
    ])
    # It has to come first in a process whose program was built without it.
    AS_CASE([$el_runtime], [/*], [SANITIZE_PRELOAD=`readlink -f "$el_runtime"`])
    AS_IF([test -n "$SANITIZE_FLAGS"], [
        AC_MSG_CHECKING([whether $CC links with $SANITIZE_FLAGS])
        el_cflags=$CFLAGS
        CFLAGS="$CFLAGS $SANITIZE_FLAGS"
        AC_LINK_IFELSE([AC_LANG_PROGRAM()], [AC_MSG_RESULT([yes])],
            [AC_MSG_RESULT([no])
             AC_MSG_ERROR([the sanitizers' runtime is missing
                (Debian: libgcc-N-dev, N as of gcc; Fedora: libasan libubsan)])])
        CFLAGS=$el_cflags
    ])
    AC_SUBST([SANITIZE_FLAGS])
    AC_SUBST([SANITIZE_PRELOAD])
])

# EL_HARDENING: HARDEN_CFLAGS and HARDEN_LDFLAGS, those of the usual flags that the compiler knows.
# _FORTIFY_SOURCE needs an optimizing compiler, and disturbs sanitizers; who sets it keeps theirs.
AC_DEFUN([EL_HARDENING], [
    AC_ARG_ENABLE([hardening],
        [AS_HELP_STRING([--disable-hardening],
            [leave out stack protection, _FORTIFY_SOURCE, read-only relocations])])
    HARDEN_CFLAGS=
    HARDEN_LDFLAGS=
    AS_IF([test "x$enable_hardening" != xno], [
        AS_CASE([" $CPPFLAGS $CFLAGS "], [*_FORTIFY_SOURCE*], [],
            [*" -O"@<:@123s@:>@*], [AS_IF([test -z "$SANITIZE_FLAGS"],
                [HARDEN_CFLAGS="-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2"])])
        for el_flag in -fstack-protector-strong -fstack-clash-protection -fcf-protection \
            "-Wformat -Werror=format-security"; do
            EL_TRY_FLAG([HARDEN_CFLAGS], [CFLAGS])
        done
        for el_flag in -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack; do
            EL_TRY_FLAG([HARDEN_LDFLAGS], [LDFLAGS])
        done
    ])
    AC_SUBST([HARDEN_CFLAGS])
    AC_SUBST([HARDEN_LDFLAGS])
])

# EL_PREFIX_MAP: PREFIX_MAP, so that no path of the build is in what it makes: the names of sources
# in log lines and debug information are those below the source tree.
AC_DEFUN([EL_PREFIX_MAP], [
    PREFIX_MAP=
    # Of two that fit a path, the longer must win: a build may be below the sources, or above them.
    # gcc takes the last, clang the longest or, since 17, the last; sorted, the longer comes later.
    # By a link a compiler knows its folder as the shell does.
    for el_path in `{ pwd; pwd -P; echo "$srcdir/"; cd "$srcdir" && pwd && pwd -P; } |
        LC_ALL=C sort -u`; do
        AS_CASE([$el_path], [*/], [el_flag="-ffile-prefix-map=$el_path="],
            [el_flag="-ffile-prefix-map=$el_path=."])
        EL_TRY_FLAG([PREFIX_MAP], [CFLAGS])
    done
    AC_SUBST([PREFIX_MAP])
])

# EL_TRY_FLAG(VARIABLE, FLAGS): adds $el_flag to VARIABLE where a program links with it in FLAGS.
AC_DEFUN([EL_TRY_FLAG], [
    AC_MSG_CHECKING([whether $CC knows $el_flag])
    el_flags=$$2
    $2="$$2 -Werror $el_flag"
    AC_LINK_IFELSE([AC_LANG_PROGRAM()],
        [$1="$$1 $el_flag"; AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no])])
    $2=$el_flags
])

AC_DEFUN([EL_WARNINGS], [
    AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [warnings are errors])])
    WARN_CFLAGS="-Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes"
    AS_IF([test "x$enable_werror" = xyes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
    AC_SUBST([WARN_CFLAGS])
])

# EL_TEST_PYTHON: PYTHON, a python3 that has what the tests against httpd import, or empty.
AC_DEFUN([EL_TEST_PYTHON], [
    AC_ARG_VAR([PYTHON], [python3 with pytest, brotli, zstandard and h2, for the tests against httpd])
    AC_MSG_CHECKING([for a python3 with pytest, brotli, zstandard and h2])
    el_pythons=${PYTHON:-/usr/bin/python3 python3 /usr/local/bin/python3}
    PYTHON=
    for el_python in $el_pythons; do
        AS_IF([$el_python -c 'import pytest, brotli, zstandard, h2' >/dev/null 2>&1],
              [PYTHON=$el_python; break])
    done
    AC_MSG_RESULT([${PYTHON:-none (Debian, Fedora: python3-pytest python3-brotli python3-zstandard python3-h2)}])
])

# EL_INSTALL_DIRS: moduledir; apacheconfdir, httpd's configuration where a2enmod's layout exists.
AC_DEFUN([EL_INSTALL_DIRS], [
    AC_ARG_WITH([moduledir],
        [AS_HELP_STRING([--with-moduledir=DIR],
            [where the module goes (default: apxs -q LIBEXECDIR)])])
    AC_ARG_WITH([confdir],
        [AS_HELP_STRING([--with-confdir=DIR],
            [where mods-available is (default: apxs -q SYSCONFDIR, where it has one)])])
    AS_CASE([$with_moduledir], [''|yes], [moduledir=$HTTPD_MODULES_DIR],
            [no], [AC_MSG_ERROR([--without-moduledir makes no sense])], [moduledir=$with_moduledir])
    AS_CASE([$with_confdir],
        [''|yes], [apacheconfdir=`$APXS -q SYSCONFDIR`
                   AS_IF([test -d "$apacheconfdir/mods-available"], [], [apacheconfdir=])],
        [no], [apacheconfdir=],
        [apacheconfdir=$with_confdir])
    AC_SUBST([moduledir])
    AC_SUBST([apacheconfdir])
])
