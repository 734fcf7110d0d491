/*
 * A CGI script that writes a body in odd pieces. Its query: size, the body's bytes; seed, what they
 * are; cut, how they are cut; pause, µs between some pieces; length=1, it says Content-Length;
 * local, a path that it redirects to within the server; status.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long number(const char *query, const char *name, long unset)
{
    size_t length = strlen(name);

    for (const char *at = query; at && *at; at = strchr(at, '&') ? strchr(at, '&') + 1 : NULL) {
        if (strncmp(at, name, length) == 0 && at[length] == '=') {
            return atol(at + length + 1);
        }
    }
    return unset;
}

/* Words out of a small vocabulary, so that a third of it is left by any coding. */
static void fill(char *body, long size, unsigned long seed)
{
    static const char letters[] = "etaoinshrdlu cmfwyp";

    for (long i = 0; i < size; i++) {
        seed = seed * 6364136223846793005ul + 1442695040888963407ul;
        body[i] = i % 61 == 60 ? '\n' : letters[(seed >> 33) % (i % 7 ? 7 : sizeof(letters) - 1)];
    }
}

static void put(const char *data, long size)
{
    while (size > 0) {
        long wrote = write(1, data, (size_t)size);

        if (wrote <= 0) {
            _exit(1);
        }
        data += wrote;
        size -= wrote;
    }
}

int main(void)
{
    const char *query = getenv("QUERY_STRING") ? getenv("QUERY_STRING") : "";
    long size = number(query, "size", 1000), pause = number(query, "pause", 0);
    unsigned long cut = (unsigned long)number(query, "cut", 1);
    const char *local = strstr(query, "local=");
    char head[400], *body = malloc((size_t)size + 1);
    int used;

    if (!body) {
        return 1;
    }
    if (local) {
        used = snprintf(head, sizeof(head), "Location: %s\n\n", local + 6);
        put(head, used);
        return 0;
    }
    fill(body, size, (unsigned long)number(query, "seed", 1));
    used = snprintf(head, sizeof(head), "Content-Type: text/html\nStatus: %ld\nETag: \"s%ld-%ld\"\n",
                    number(query, "status", 200), number(query, "seed", 1), size);
    if (number(query, "length", 0)) {
        used += snprintf(head + used, sizeof(head) - (size_t)used, "Content-Length: %ld\n", size);
    }
    used += snprintf(head + used, sizeof(head) - (size_t)used, "\n");
    put(head, used);
    for (long at = 0, piece; at < size; at += piece) {
        static const long sizes[] = {1, 7, 100, 1448, 4096, 8000, 8192, 30000};

        cut = cut * 6364136223846793005ul + 1442695040888963407ul;
        piece = sizes[(cut >> 33) % 8];
        piece = piece < size - at ? piece : size - at;
        put(body + at, piece);
        if (pause && (cut >> 40) % 8 == 0) {
            usleep((useconds_t)pause);
        }
    }
    return 0;
}
