"""Faults injected into httpd: small preloaded libraries whose functions fail."""

import functools
import re
import struct
import subprocess

from . import env
from .process import build

_HEADERS = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <fcntl.h>
        #include <stdarg.h>
        #include <stddef.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/mman.h>
        #include <sys/stat.h>
        #include <sys/syscall.h>
        #include <sys/time.h>
        #include <time.h>
        #include <unistd.h>
"""

# The functions that do the work.
_DEFLATE = "int deflate(void *z, int flush)"
_BR_STREAM = "int BrotliEncoderCompressStream(void *s, int op, size_t *ai, const void **ni, " \
    "size_t *ao, void **no, size_t *total)"
_ZSTD_STREAM = "size_t ZSTD_compressStream2(void *c, void *out, void *in, int op)"
_BR_DECODE = "int BrotliDecoderDecompressStream(void *s, size_t *ai, const void **ni, " \
    "size_t *ao, void **no, size_t *total)"
_LIBDEFLATE = "size_t libdeflate_gzip_compress(void *c, const void *in, size_t in_size, " \
    "unsigned char *out, size_t room)"

# A counter for all libraries of a process, which Memory controls by the file FAULT_MEMORY.
_SHARED = """
        static struct { long at, failures, share; } *shared;
        static int is_armed(void) { return shared && (shared->at > 0 || shared->share > 0); }
        static int is_due(void) {
            static _Thread_local unsigned seed;
            int due;
            if (shared->share > 0) {
                seed = seed ? seed : (unsigned)(long)&seed ^ (unsigned)getpid();
                seed = seed * 1103515245 + 12345;
                due = (long)(seed >> 16) % 100 < shared->share;
            } else {
                due = __sync_sub_and_fetch(&shared->at, 1) == 0;
            }
            if (due) __sync_add_and_fetch(&shared->failures, 1);
            return due;
        }
        __attribute__((constructor)) static void begin(void) {
            const char *path = getenv("FAULT_MEMORY");
            int fd = path ? open(path, O_RDWR) : -1;
            void *block = fd < 0 ? MAP_FAILED : (void *)syscall(SYS_mmap, 0, 4096,
                PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            if (block != MAP_FAILED) shared = block;
        }"""


def _instead(function, body):
    """Defines the function with `body`, in which real() calls the library's and kind is its
    type."""
    kind, name, parameters = re.fullmatch(r"(.*?)(\w+)\((.*)\)", function).groups()
    arguments = ", ".join(re.findall(r"\w+(?=,|$)", parameters))
    body = body.replace("real()", f"library({arguments})").replace("kind", kind)
    return f"""
        {function} {{
            {kind} (*library)({parameters}) = ({kind} (*)({parameters}))dlsym(RTLD_NEXT, "{name}");
            {body}
        }}"""


def _later(function, calls, failure):
    """The function works this many times in each thread, then fails."""
    return _instead(function, f"""
            static _Thread_local int calls;
            return ++calls > {calls} ? (kind){failure} : real();""")


def _returns(**values):
    return "".join(f"long {name}() {{ return {value}; }}\n" for name, value in values.items())


def _slow(function):
    """The function takes three times the CPU time while the file named by ENGINE_SLOW exists."""
    now = """({ struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
               (double)t.tv_sec + (double)t.tv_nsec / 1e9; })"""
    return _instead(function, f"""
            double began = {now};
            kind result = real();
            double took = {now} - began;
            while (access(getenv("ENGINE_SLOW"), F_OK) == 0 && {now} < began + 3 * took)
                ;
            return result;""")


# Whether the module makes a call.
_OURS = """
        static int is_ours(void *caller) {
            Dl_info info;
            return dladdr(caller, &info) && info.dli_fname
                   && strstr(info.dli_fname, "/mod_elastic.so") != 0;
        }
"""

# The folder made by Folder; opened as root, because other users may not reach it.
_FOLDER = """
        static int folder = -1;
        __attribute__((constructor)) static void begin(void) {
            const char *path = getenv("FAULT_FOLDER");
            if (path) folder = open(path, O_PATH | O_DIRECTORY);
        }
"""

# Replacements of library functions; each keeps its name and type.
_SOURCES = {
    # no memory for an encoder
    "gzip-open": _returns(deflateInit2_=-4, libdeflate_alloc_compressor=0),
    "br-open": _returns(BrotliEncoderCreateInstance=0),
    # the encoder fails at the first call, before anything was sent
    "gzip-first": _returns(deflate=-2, libdeflate_gzip_compress=0),
    "isal-first": _returns(isal_deflate=-3, isal_deflate_stateless=-3),
    "br-first": _returns(BrotliEncoderCompressStream=0),
    "zstd-first": _returns(ZSTD_compressStream2=-64),  # libzstd's lack of memory
    # the encoder works three times, then fails
    "gzip-soon": _later(_DEFLATE, 3, -2), "br-soon": _later(_BR_STREAM, 3, 0),
    "zstd-soon": _later(_ZSTD_STREAM, 3, -64),
    # the encoder works for a while, then fails
    "gzip-later": _later(_DEFLATE, 20, -2), "br-later": _later(_BR_STREAM, 200, 0),
    "zstd-later": _later(_ZSTD_STREAM, 20, -64),
    # no memory for a decoder, at once or for its window
    "gunzip-open": _returns(inflateInit2_=-4), "gunzip-first": _returns(inflate=-4),
    "unbrotli-open": _returns(BrotliDecoderCreateInstance=0),
    "unbrotli-first": _returns(BrotliDecoderDecompressStream=0, BrotliDecoderGetErrorCode=-26),
    "unzstd-open": _returns(ZSTD_createDCtx_advanced=0),
    "unzstd-first": _returns(ZSTD_decompressStream=-64),
    "zstd-slow": _slow(_ZSTD_STREAM),
    "br-slow": _slow(_BR_STREAM),
    # One allocation of the module or of a compression library fails: the one chosen by
    # Memory.fail(), or the percentage set by Memory.share().
    "memory": _SHARED + """
        void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t);
        void *__libc_realloc(void *, size_t);
        static int is_ours(void *caller) {
            static const char *const names[] = {"/mod_elastic.so", "/libz.", "/libz-ng.",
                                                "/libisal.", "/libbrotli", "/libdeflate.",
                                                "/libzstd.", 0};
            Dl_info info;
            if (!dladdr(caller, &info) || !info.dli_fname) return 0;
            for (const char *const *name = names; *name; name++)
                if (strstr(info.dli_fname, *name)) return 1;
            return 0;
        }
        static int fails(void *caller) {
            if (!is_armed() || !is_ours(caller) || !is_due()) return 0;
            errno = ENOMEM;
            return 1;
        }
        void *malloc(size_t size)
        { return fails(__builtin_return_address(0)) ? 0 : __libc_malloc(size); }
        void *calloc(size_t count, size_t size)
        { return fails(__builtin_return_address(0)) ? 0 : __libc_calloc(count, size); }
        void *realloc(void *block, size_t size)
        { return fails(__builtin_return_address(0)) ? 0 : __libc_realloc(block, size); }
        void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
        { return fails(__builtin_return_address(0)) ? MAP_FAILED
              : (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset); }""",
    # One call of APR's buckets that the module makes or causes gets no memory. APR never checks its
    # own allocations, for example to read a file, so they are left alone.
    "buckets": "#include <execinfo.h>" + _SHARED + """
        static int fails(int callers) {
            void *frames[5];
            Dl_info info;
            if (!is_armed()) return 0;
            /* This function, the one that is to fail, and so many callers. */
            int count = backtrace(frames, 2 + callers);
            for (int i = 2; i < count; i++)
                if (dladdr(frames[i], &info) && info.dli_fname
                    && strstr(info.dli_fname, "/mod_elastic.so"))
                    return is_due();
            return 0;
        }
        #define REAL(name) ((typeof(&name))dlsym(RTLD_NEXT, #name))
        void *apr_bucket_alloc(size_t size, void *list)
        { return size > 1000 && fails(1) ? 0 : REAL(apr_bucket_alloc)(size, list); }
        void *apr_bucket_heap_make(void *bucket, const char *data, size_t size, void *release)
        { return !release && fails(3) ? 0
              : REAL(apr_bucket_heap_make)(bucket, data, size, release); }
        int apr_bucket_setaside_noop(void *bucket, void *pool)
        { return fails(2) ? ENOMEM : 0; }
        int apr_bucket_shared_split(void *bucket, size_t at)
        { return fails(2) ? ENOMEM : REAL(apr_bucket_shared_split)(bucket, at); }
        int apr_bucket_shared_copy(void *bucket, void **copy) {
            if (!fails(2)) return REAL(apr_bucket_shared_copy)(bucket, copy);
            *copy = 0;
            return ENOMEM;
        }""",
    # One call of a compression library's functions fails; they are counted with the allocations.
    "calls": _SHARED + "struct memory { void *acquire, *release, *opaque; };" + "".join(
        _instead(function, f"return is_armed() && is_due() ? (kind){failure} : real();")
        for failure, *functions in (
            (-2, _DEFLATE, "int deflateReset(void *z)", "int deflateParams(void *z, int l, int s)"),
            (-3, "int isal_deflate(void *z)", "int isal_deflate_stateless(void *z)"),
            (-4, "int inflate(void *z, int flush)",
             "int inflateInit2_(void *z, int w, const char *v, int n)",
             "int deflateInit2_(void *z, int l, int m, int w, int k, int s, const char *v, int n)"),
            (0, _LIBDEFLATE, _BR_STREAM, _BR_DECODE, "void *libdeflate_alloc_compressor(int level)",
             "void *BrotliEncoderCreateInstance(void *a, void *f, void *o)",
             "int BrotliEncoderSetParameter(void *s, int p, unsigned v)",
             "void *BrotliDecoderCreateInstance(void *a, void *f, void *o)",
             "void *ZSTD_createCCtx_advanced(struct memory m)",
             "void *ZSTD_createDCtx_advanced(struct memory m)"),
            (-64, _ZSTD_STREAM, "size_t ZSTD_DCtx_setParameter(void *d, int p, int v)",
             "size_t ZSTD_decompressStream(void *d, void *out, void *in)",
             "size_t ZSTD_CCtx_reset(void *c, int what)",
             "size_t ZSTD_CCtx_setParameter(void *c, int p, int v)",
             "size_t ZSTD_CCtx_setPledgedSrcSize(void *c, unsigned long long n)"))
        for function in functions),
    # One call of the system, of APR or of libcrypto fails that the module itself makes; they are
    # counted with the allocations.
    "system": _SHARED + _OURS + "".join(
        _instead(function, f"""
            return is_armed() && is_ours(__builtin_return_address(0)) && is_due()
                   ? (errno = EIO, (kind){failure}) : real();""")
        for failure, *functions in (
            (-1, "ssize_t read(int fd, void *to, size_t n)",
             "ssize_t pread(int fd, void *to, size_t n, off_t at)",
             "int fstat(int fd, struct stat *to)", "int pipe(int *ends)",
             "int getsockopt(int fd, int level, int name, void *to, unsigned *n)",
             "int renameat(int one, const char *from, int other, const char *to)",
             "void *mmap(void *at, size_t n, int how, int flags, int fd, off_t from)"),
            ("EAGAIN", "int pthread_mutexattr_setpshared(void *of, int how)",
             "int pthread_create(void *to, void *how, void *run, void *with)"),
            # APR_EGENERAL
            (20014, "int apr_file_open(void **to, const char *name, int flags, int m, void *p)",
             "int apr_file_seek(void *file, int where, off_t *at)",
             "int apr_file_read_full(void *file, void *to, size_t n, size_t *got)",
             "int apr_file_write_full(void *file, const void *from, size_t n, size_t *put)",
             "int apr_file_info_get(void *to, int wanted, void *file)",
             "int apr_stat(void *to, const char *name, int wanted, void *p)",
             "int apr_file_mktemp(void **to, char *name, int flags, void *p)",
             "int apr_temp_dir_get(const char **to, void *p)",
             "int apr_dso_load(void **to, const char *name, void *p)",
             "int apr_allocator_create(void **to)",
             "int apr_pool_create_unmanaged_ex(void **to, void *fail, void *from)",
             "int apr_generate_random_bytes(unsigned char *to, size_t n)"),
            (0, "void *EVP_CIPHER_CTX_new()",
             "int EVP_EncryptInit_ex(void *c, void *type, void *e, void *key, void *nonce)",
             "int EVP_EncryptUpdate(void *c, void *out, int *done, const void *in, int n)",
             "int EVP_EncryptFinal_ex(void *c, void *out, int *done)",
             "int EVP_CIPHER_CTX_ctrl(void *c, int what, int n, void *with)",
             "int EVP_CipherInit_ex(void *c, void *type, void *e, void *key, void *nonce, int way)",
             "int EVP_DecryptUpdate(void *c, void *out, int *done, const void *in, int n)",
             "int EVP_Digest(const void *in, size_t n, void *out, void *len, void *type, void *e)",
             "void *HMAC(void *of, void *key, int n, void *in, size_t len, void *to, void *got)",
             "int RAND_bytes(unsigned char *to, int n)"))
        for function in functions),
    # no memory for a store that processes share
    "store-memory": """
        void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
            if ((flags & MAP_SHARED) && (flags & MAP_ANONYMOUS) && size >= 32 << 20) {
                errno = ENOMEM;
                return MAP_FAILED;
            }
            return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
        }""",
    # the process that takes the store's lock, depending on which file exists: is killed with it,
    # once ("die"); holds it for 50 ms ("slow"); or holds it from its first time on (then "held"
    # exists) until the module's pipe tells its process to end, and 300 ms more ("keep")
    "store-lock": "#include <pthread.h>\n#include <signal.h>" + _FOLDER + _OURS + """
        static volatile int ends;
        static void held(void) {
            if (unlinkat(folder, "die", 0) == 0) kill(getpid(), SIGKILL);
            if (faccessat(folder, "slow", F_OK, 0) == 0) usleep(50000);
            if (unlinkat(folder, "keep", 0) == 0) {
                ends = 0;
                close(openat(folder, "held", O_WRONLY | O_CREAT, 0666));
                for (int i = 0; i < 6000 && !ends; i++) usleep(10000);
                usleep(300000);
            }
        }
        int pthread_mutex_trylock(pthread_mutex_t *mutex) {
            static int (*real)(pthread_mutex_t *);
            int error;
            if (!real) real = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_trylock");
            error = real(mutex);
            if (error == 0 && is_ours(__builtin_return_address(0))) held();
            return error;
        }
        ssize_t write(int fd, const void *bytes, size_t count) {
            if (count == 1 && is_ours(__builtin_return_address(0))) ends = 1;
            return syscall(SYS_write, fd, bytes, count);
        }""",
    # each call of an encoder makes a file, "1", "2" and so on, and waits until it is removed
    "gzip-turns": _FOLDER + """
        static void wait_for_turn(void) {
            char name[16];
            int fd = -1, i = 0;
            do {
                snprintf(name, sizeof(name), "%d", ++i);
                fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL, 0666);
            } while (fd < 0 && errno == EEXIST);
            struct stat made;
            for (i = 0; i < 6000 && fstat(fd, &made) == 0 && made.st_nlink > 0; i++) usleep(10000);
            close(fd);
        }""" + "".join(_instead(function, "wait_for_turn(); return real();")
                       for function in (_DEFLATE, _LIBDEFLATE)),
    # an encoder that outputs a wrong byte
    "gzip-damage": "".join(
        _instead(function, f"""
            unsigned char *to = {start};
            kind result = real();
            {when} to[{where}] ^= 1;
            return result;""")
        for function, start, when, where in (
            (_LIBDEFLATE, "out", "if (result > 40)", "result / 2"),
            (_DEFLATE, "*(unsigned char **)((char *)z + 24)",
             "if (*(unsigned char **)((char *)z + 24) - to > 40)", "20"))),
    # a file is overwritten with another of the same length whenever an encoder gets a body: the
    # files named by OVERWRITE_FROM and OVERWRITE_TO, while the first exists
    "gzip-overwrite": """
        static void overwrite(void) {
            char bytes[4096];
            ssize_t got;
            int from = open(getenv("OVERWRITE_FROM"), O_RDONLY);
            int to = from < 0 ? -1 : open(getenv("OVERWRITE_TO"), O_WRONLY);
            while (to >= 0 && (got = read(from, bytes, sizeof(bytes))) > 0)
                if (write(to, bytes, got) != got) abort();
            close(from);
            close(to);
        }""" + _instead(_LIBDEFLATE, "overwrite(); return real();")
    + _instead(_DEFLATE, "overwrite(); return real();"),
    # the calendar and the monotonic clock are off by the seconds in the first bytes of the file
    # CLOCK_OFF
    "clock": """
        static long *off;
        static long offset(int which) { return off ? ((volatile long *)off)[which] : 0; }
        int clock_gettime(clockid_t clock, struct timespec *t) {
            int result = (int)syscall(SYS_clock_gettime, clock, t);
            if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) t->tv_sec += offset(0);
            if (clock == CLOCK_MONOTONIC) t->tv_sec += offset(1);
            return result;
        }
        int gettimeofday(struct timeval *t, void *zone) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            t->tv_sec = now.tv_sec;
            t->tv_usec = now.tv_nsec / 1000;
            return 0;
        }
        time_t time(time_t *to) {
            struct timespec now;
            clock_gettime(CLOCK_REALTIME, &now);
            if (to) *to = now.tv_sec;
            return now.tv_sec;
        }
        __attribute__((constructor)) static void begin(void) {
            const char *path = getenv("CLOCK_OFF");
            int fd = path ? open(path, O_RDWR) : -1;
            void *block = fd < 0 ? MAP_FAILED : mmap(0, 4096, PROT_READ, MAP_SHARED, fd, 0);
            if (block != MAP_FAILED) off = block;
        }""",
    # all files appear to be on a disk, wherever the tests' folder is
    "disk": "#include <sys/vfs.h>" + """
        int fstatfs(int fd, struct statfs *s) {
            memset(s, 0, sizeof(*s));
            s->f_type = 0xef53;
            return 0;
        }
        int fstatfs64(int fd, struct statfs64 *s) {
            memset(s, 0, sizeof(*s));
            s->f_type = 0xef53;
            return 0;
        }""",
    # the kernel's files on load and limits are those below KERNEL_ROOT
    "kernel-root": """
        static const char *moved(const char *path, char *room, size_t size) {
            static const char *const folders[] = {"/proc/self/cgroup", "/proc/self/mountinfo",
                                                  "/proc/stat", "/sys/fs/cgroup/"};
            for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
                if (strncmp(path, folders[i], strlen(folders[i])) == 0) {
                    snprintf(room, size, "%s%s", getenv("KERNEL_ROOT"), path);
                    return room;
                }
            return path;
        }
        int open(const char *path, int flags, ...) {
            int (*real)(const char *, int, ...) =
                (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
            char room[4096];
            va_list args;
            va_start(args, flags);
            int mode = va_arg(args, int);
            va_end(args);
            return real(moved(path, room, sizeof(room)), flags, mode);
        }
        int access(const char *path, int mode) {
            int (*real)(const char *, int) =
                (int (*)(const char *, int))dlsym(RTLD_NEXT, "access");
            char room[4096];
            return real(moved(path, room, sizeof(room)), mode);
        }""",
    # clients are remote, and the kernel's answers about their connections come from the file
    # CONNECTION: see test_connection_rate.py
    "connection": """
        #define accept4 declared_in_another_way
        #include <arpa/inet.h>
        #include <linux/tcp.h>
        #include <sys/socket.h>
        #undef accept4
        static _Thread_local struct {
            char v4[64], v6[64];
            unsigned long long rate;
            int limited, size;
        } told;
        static int read_told(void) {
            FILE *file = fopen(getenv("CONNECTION"), "r");
            int got = file ? fscanf(file, "%63s %63s %llu %d %d", told.v4, told.v6,
                                    &told.rate, &told.limited, &told.size) : 0;
            if (file) fclose(file);
            return got == 5;
        }
        int accept4(int fd, void *to, socklen_t *len, int flags) {
            int (*real)(int, void *, socklen_t *, int) =
                (int (*)(int, void *, socklen_t *, int))dlsym(RTLD_NEXT, "accept4");
            int made = real(fd, to, len, flags);
            struct sockaddr *peer = to;
            if (made < 0 || !peer || !read_told()) return made;
            if (peer->sa_family == AF_INET)
                inet_pton(AF_INET, told.v4, &((struct sockaddr_in *)peer)->sin_addr);
            if (peer->sa_family == AF_INET6)
                inet_pton(AF_INET6, told.v6, &((struct sockaddr_in6 *)peer)->sin6_addr);
            return made;
        }
        int getsockopt(int fd, int level, int name, void *value, socklen_t *len) {
            int (*real)(int, int, int, void *, socklen_t *) =
                (int (*)(int, int, int, void *, socklen_t *))dlsym(RTLD_NEXT, "getsockopt");
            struct sockaddr_storage peer;
            socklen_t peer_len = sizeof(peer);
            struct tcp_info info;
            if (level != IPPROTO_TCP || name != TCP_INFO || !read_told() || told.size == 0
                || getpeername(fd, (struct sockaddr *)&peer, &peer_len) != 0)
                return real(fd, level, name, value, len);
            if (told.size < 0) { errno = EOPNOTSUPP; return -1; }
            memset(&info, 0, sizeof(info));
            info.tcpi_delivery_rate = told.rate;
            info.tcpi_delivery_rate_app_limited = told.limited;
            if (*len > (socklen_t)told.size) *len = told.size;
            memcpy(value, &info, *len < sizeof(info) ? *len : sizeof(info));
            return 0;
        }""",
    # all code is in one program, which cannot be loaded
    "one-program": _instead("int dladdr(const void *at, Dl_info *info)", """
            int found = real();
            if (found) *info = (Dl_info){.dli_fname = "/no/such/program"};
            return found;"""),
    # the kernel refuses SCHED_IDLE
    "no-idle": "int sched_setscheduler() { errno = EPERM; return -1; }",
    # each call loses memory, which the search for leaks must find
    "br-leak": _instead(_BR_STREAM,
                        "void *volatile lost = malloc(1000); (void)lost; return real();"),
    # libraries are never unmapped, so that reports of leaks can name their functions
    "keep-libraries": "int dlclose(void *handle) { (void)handle; return 0; }",
}


def library(directory, name):
    """Builds the library of that fault at a path that httpd's children can read; returns the
    path."""
    return build(directory, name, _HEADERS + _SOURCES[name] + "\n")


class Memory:
    """Controls the libraries "memory" and "calls" by a file, FAULT_MEMORY in a server's environ."""

    _LAYOUT = "lll"  # the number that fails, how many did, the share that fails

    def __init__(self, directory):
        self.path = directory / "memory"
        self.path.write_bytes(bytes(4096))

    def _write(self, at, share):
        with open(self.path, "r+b") as file:
            file.write(struct.pack(self._LAYOUT, at, 0, share))

    def _read(self):
        return struct.unpack(self._LAYOUT,
                             self.path.read_bytes()[:struct.calcsize(self._LAYOUT)])

    def fail(self, at):
        """Makes the call of that number fail, from 1; 0: none."""
        self._write(at, 0)

    def share(self, percent):
        self._write(0, percent)

    def left(self):
        return self._read()[0]

    def failures(self):
        return self._read()[1]


class Folder:
    """Files that control a library and by which it reports; `options` are arguments of a server."""

    def __init__(self, directory, name):
        self._path = directory / "folder"
        self._path.mkdir()
        self._path.chmod(0o777)
        self.options = {"wrapper": wrapper(library(directory, name)),
                        "environ": {"FAULT_FOLDER": str(self._path)}}

    def __setitem__(self, name, there):
        (self._path / name).touch() if there else (self._path / name).unlink()

    def __getitem__(self, name):
        return (self._path / name).exists()

    def clear(self, but=None):
        for path in self._path.iterdir():
            if path.name != but:
                path.unlink()


class Clock:
    """Clocks of a server for the library "clock" and others; `options` are arguments of a
    server."""

    def __init__(self, directory, *others):
        self._path = directory / "clock"
        self._path.write_bytes(bytes(4096))
        self._off = [0, 0]
        names = ("clock", *others)
        self.options = {"wrapper": wrapper(*(library(directory, name) for name in names)),
                        "environ": {"CLOCK_OFF": str(self._path)}}

    def skip(self, calendar=0, monotonic=0):
        """Advances the clocks by this many seconds at once."""
        self._off = [self._off[0] + calendar, self._off[1] + monotonic]
        with open(self._path, "r+b") as file:
            file.write(struct.pack("ll", *self._off))


@functools.cache
def reach_apr_util():
    """True if APR-util itself calls functions that replace its own. Ubuntu links libraries so that
    they call their own."""
    found = subprocess.run(["ldd", env.HTTPD], capture_output=True, text=True, check=True).stdout
    path = re.search(r"libaprutil-1\S* => (\S+)", found).group(1)
    return "apr_bucket_heap_make" in subprocess.run(
        ["readelf", "-rW", path], capture_output=True, text=True, check=True).stdout


def wrapper(*libraries):
    """For Server(wrapper=…): preloads the libraries after a sanitizer's runtime."""
    preload = [env.PRELOAD] if env.PRELOAD else []
    return ["env", "LD_PRELOAD=" + " ".join([*preload, *map(str, libraries)])]
