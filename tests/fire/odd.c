/*
 * A CGI script that writes a body in odd pieces. Its query: the body's bytes, what they are, how they
 * are cut, µs between some pieces, 1 for a Content-Length, the status; each a number, with commas
 * between them. Or a path, to which it redirects within the server.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned long next(unsigned long *state)
{
    *state = *state * 6364136223846793005ul + 1442695040888963407ul;
    return *state >> 33;
}

int main(void)
{
    static const char letters[] = "etaoinshrdlu cmfwyp";
    static const long sizes[] = {1, 7, 100, 1448, 4096, 8000, 8192, 30000};
    const char *query = getenv("QUERY_STRING");
    long size = 1000, seed = 1, cut = 1, pause = 0, length = 0, status = 200;
    char *body;

    if (*query == '/') {
        printf("Location: %s\n\n", query);
        return 0;
    }
    sscanf(query, "%ld,%ld,%ld,%ld,%ld,%ld", &size, &seed, &cut, &pause, &length, &status);
    body = malloc((size_t)size + 1);
    if (!body) {
        return 1;
    }
    printf("Content-Type: text/html\nStatus: %ld\nETag: \"s%ld-%ld\"\n", status, seed, size);
    if (length) {
        printf("Content-Length: %ld\n", size);
    }
    printf("\n");
    fflush(stdout);
    /* Words out of a small vocabulary, so that a third of it is left by any coding. */
    for (unsigned long i = 0, state = (unsigned long)seed; i < (unsigned long)size; i++) {
        unsigned long many = i % 7 ? 7 : sizeof(letters) - 1;

        body[i] = letters[next(&state) % many];
    }
    for (unsigned long at = 0, state = (unsigned long)cut; at < (unsigned long)size;) {
        unsigned long piece = (unsigned long)sizes[next(&state) % 8];
        ssize_t wrote = write(1, body + at, piece < size - at ? piece : size - at);

        if (wrote <= 0) {
            return 1;
        }
        at += (unsigned long)wrote;
        if (pause && (state >> 40) % 8 == 0) {
            usleep((useconds_t)pause);
        }
    }
    return 0;
}
