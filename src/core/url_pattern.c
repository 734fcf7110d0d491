/*
 * A path or a query is compiled to a small machine that takes the target's a byte at a time, in all
 * its states at once: the time is bounded by the product of both lengths, whatever either says.
 */
#include "elastic/url_pattern.h"

#include <stdint.h>
#include <string.h>

/*
 * States of the largest machine. A character of a pattern makes three at most; a relative one has a
 * directory before it.
 */
#define STATES_MOST 2560
#define WORDS (STATES_MOST / 64)

#define NAMES_MOST 16

typedef enum {
    STATE_BYTE,    /* takes this byte */
    STATE_SEGMENT, /* takes any byte that is not the delimiter */
    STATE_ANY,     /* takes any byte */
    STATE_FORK,    /* takes nothing: goes on here and at `to` */
    STATE_JUMP,    /* takes nothing: goes on at `to` */
    STATE_END      /* the target matches, if it ends here */
} state_kind_t;

typedef struct {
    uint8_t kind;
    char byte;
    uint16_t to;
} state_t;

typedef struct {
    const char *at;
    const char *end;
    char delimiter; /* of a path's segments; 0: this is a query, which has none */
    const char *fault;
    state_t states[STATES_MOST];
    size_t count;
    struct {
        const char *text;
        size_t len;
    } names[NAMES_MOST];
    size_t name_count;
} machine_t;

/* One bit for each state. */
typedef struct {
    uint64_t words[WORDS];
} set_t;

static void refuse(machine_t *m, const char *fault)
{
    if (!m->fault) {
        m->fault = fault;
    }
    m->at = m->end;
}

static size_t add(machine_t *m, state_kind_t kind, char byte, size_t to)
{
    /* One is left for the end. */
    if (m->count + 1 >= STATES_MOST) {
        refuse(m, "it is too long");
        return m->count;
    }
    m->states[m->count] = (state_t){(uint8_t)kind, byte, (uint16_t)to};
    return m->count++;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name_start(char c)
{
    return is_letter(c) || c == '_' || c == '$';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* What stands for itself in a URL's path and query, as browsers write them. */
static bool is_literal(char c)
{
    return is_letter(c) || is_digit(c) || (c != '\0' && strchr("-._~!$&;,=@/%[]", c) != NULL);
}

/* What has a meaning in a pattern, and none where `\` is before it. */
static bool is_escapable(const machine_t *m, char c)
{
    return is_literal(c) || c == '*' || c == '+' || (c == '?' && m->delimiter == '\0');
}

/* The next character of fixed text, which is there: 0 and a fault where it may not be. */
static char take_literal(machine_t *m)
{
    char c = *m->at++;

    if (c == '(' || c == ')') {
        refuse(m, "groups of regular expressions are not allowed");
        return 0;
    }
    if (c == '\\') {
        if (m->at == m->end || !is_escapable(m, *m->at)) {
            refuse(m, "a backslash may stand before what has a meaning in paths only");
            return 0;
        }
        return *m->at++;
    }
    if (c == '#') {
        refuse(m, "a request has no fragment");
    } else if (c == ':') {
        refuse(m, "a colon begins a name, of letters and digits");
    } else if (c == '{' || c == '}') {
        refuse(m, "groups begin with { and end with }, and none is inside another");
    } else if (c == '?' || c == '+') {
        refuse(m, "? and + come behind a name, a group or a *");
    } else if (!is_literal(c)) {
        refuse(m, "in a URL this character is escaped");
    } else {
        return c;
    }
    return 0;
}

static bool begins_wildcard(const char *at, const char *end)
{
    return at < end && (*at == '*' || (*at == ':' && end - at >= 2 && is_name_start(at[1])));
}

static void take_name(machine_t *m)
{
    const char *start = ++m->at;
    size_t len;

    while (m->at < m->end && (is_name_start(*m->at) || is_digit(*m->at))) {
        m->at++;
    }
    len = (size_t)(m->at - start);
    for (size_t i = 0; i < m->name_count; i++) {
        if (m->names[i].len == len && memcmp(m->names[i].text, start, len) == 0) {
            refuse(m, "two groups have one name");
            return;
        }
    }
    if (m->name_count == NAMES_MOST) {
        refuse(m, "it has too many names");
        return;
    }
    m->names[m->name_count].text = start;
    m->names[m->name_count++].len = len;
}

/* `:name`, a byte at least that is no delimiter; or `*`, any text. */
static void take_wildcard(machine_t *m)
{
    size_t first;

    if (*m->at == '*') {
        m->at++;
        first = add(m, STATE_FORK, 0, 0);
        add(m, STATE_ANY, 0, 0);
        add(m, STATE_JUMP, 0, first);
        m->states[first].to = (uint16_t)m->count;
        return;
    }
    take_name(m);
    first = add(m, m->delimiter ? STATE_SEGMENT : STATE_ANY, m->delimiter, 0);
    add(m, STATE_FORK, 0, first);
}

/* `{text}`, `{text*text}` or `{text:name text}`; behind the brace that opens it. */
static void take_group(machine_t *m)
{
    bool wild = false;

    while (m->at < m->end && *m->at != '}') {
        if (begins_wildcard(m->at, m->end)) {
            if (wild) {
                refuse(m, "a group has one name or * at most");
                return;
            }
            wild = true;
            take_wildcard(m);
        } else {
            add(m, STATE_BYTE, take_literal(m), 0);
        }
    }
    if (m->at == m->end) {
        refuse(m, "groups begin with { and end with }, and none is inside another");
        return;
    }
    m->at++;
}

/* Moves the states from `first` on by one, to make room for one before them. */
static void shift(machine_t *m, size_t first)
{
    size_t last = m->count;

    add(m, STATE_JUMP, 0, 0);
    for (size_t i = last; i > first && m->count > last; i--) {
        m->states[i] = m->states[i - 1];
        m->states[i].to = (uint16_t)(m->states[i].to + 1);
    }
}

/* What may come behind a part, whose states begin with `first`: how often it is there. */
static void take_modifier(machine_t *m, size_t first)
{
    char c = m->at < m->end ? *m->at : '\0';

    if (c != '?' && c != '*' && c != '+') {
        return;
    }
    m->at++;
    if (c != '?') {
        add(m, STATE_FORK, 0, first);
    }
    if (c != '+') {
        shift(m, first);
        m->states[first] = (state_t){STATE_FORK, 0, (uint16_t)m->count};
    }
}

/* A slash right before a name or a `*` belongs to it, and is there as often. */
static bool begins_segment(const machine_t *m)
{
    return m->delimiter && *m->at == m->delimiter && begins_wildcard(m->at + 1, m->end);
}

/* The next part, and how often it is there. */
static void take_part(machine_t *m)
{
    size_t first = m->count;

    if (*m->at == '{') {
        m->at++;
        take_group(m);
    } else if (begins_segment(m)) {
        add(m, STATE_BYTE, *m->at++, 0);
        take_wildcard(m);
    } else if (begins_wildcard(m->at, m->end)) {
        take_wildcard(m);
    } else {
        add(m, STATE_BYTE, take_literal(m), 0);
        return;
    }
    take_modifier(m, first);
}

/* A path, which ends where its query begins, or a query. */
static void take_component(machine_t *m)
{
    m->name_count = 0;
    while (m->at < m->end && !(m->delimiter && *m->at == '?')) {
        take_part(m);
    }
    m->states[m->count++] = (state_t){.kind = STATE_END};
}

/* Browsers take `.` and `..` out of paths. */
static bool has_dot_segment(const char *pattern)
{
    for (const char *at = pattern; at; at = strchr(at, '/'), at = at ? at + 1 : NULL) {
        size_t dots = strspn(at, ".");

        if ((dots == 1 || dots == 2) && (at[dots] == '/' || at[dots] == '\0' || at[dots] == '?')) {
            return true;
        }
    }
    return false;
}

static void add_directory(machine_t *m, const char *base)
{
    const char *path_end = base + strcspn(base, "?");

    while (path_end > base && path_end[-1] != '/') {
        path_end--;
    }
    for (; base < path_end; base++) {
        add(m, STATE_BYTE, *base, 0);
    }
}

/* False where the pattern may not be used, as m->fault says. */
static bool compile_path(machine_t *m, const char *pattern, const char *base)
{
    size_t len = strlen(pattern);

    m->at = pattern;
    m->end = pattern + len;
    m->delimiter = '/';
    m->fault = NULL;
    m->count = 0;
    if (len == 0 || len > EL_URL_PATTERN_MOST) {
        refuse(m, len == 0 ? "it is empty" : "it is too long");
    } else if (*pattern == '?') {
        refuse(m, "it has no path");
    } else if (strstr(pattern, "://") || has_dot_segment(pattern)) {
        refuse(m, "it is a path, without a host and without the segments . and ..");
    } else if (el_url_pattern_relative(pattern)) {
        add_directory(m, base);
    }
    take_component(m);
    return m->fault == NULL;
}

/* Likewise the query behind the path. */
static bool compile_query(machine_t *m)
{
    m->at++;
    m->delimiter = '\0';
    m->count = 0;
    take_component(m);
    return m->fault == NULL;
}

static bool has(const set_t *set, size_t state)
{
    return set->words[state / 64] >> state % 64 & 1;
}

static bool put(set_t *set, size_t state)
{
    bool is_new = !has(set, state);

    set->words[state / 64] |= UINT64_C(1) << state % 64;
    return is_new;
}

/* Adds a state, and those that are reached from it without a byte. */
static void reach(const machine_t *m, set_t *set, size_t state)
{
    uint16_t stack[STATES_MOST];
    size_t depth = 0;

    stack[depth++] = (uint16_t)state;
    while (depth > 0) {
        state = stack[--depth];
        while (put(set, state)) {
            state_kind_t kind = (state_kind_t)m->states[state].kind;

            if (kind == STATE_FORK) {
                stack[depth++] = m->states[state].to;
                state++;
            } else if (kind == STATE_JUMP) {
                state = m->states[state].to;
            }
        }
    }
}

static bool takes(const state_t *state, char byte)
{
    switch ((state_kind_t)state->kind) {
    case STATE_BYTE:
        return byte == state->byte;
    case STATE_SEGMENT:
        return byte != state->byte;
    default:
        return state->kind == STATE_ANY;
    }
}

static bool run(const machine_t *m, const char *text, size_t len)
{
    set_t now = {{0}};

    reach(m, &now, 0);
    for (size_t i = 0; i < len; i++) {
        set_t next = {{0}};

        for (size_t state = 0; state < m->count; state++) {
            if (has(&now, state) && takes(&m->states[state], text[i])) {
                reach(m, &next, state + 1);
            }
        }
        now = next;
    }
    return has(&now, m->count - 1);
}

bool el_url_pattern_relative(const char *pattern)
{
    return pattern[0] != '/' && strncmp(pattern, "{/", 2) != 0;
}

const char *el_url_pattern_fault(const char *pattern)
{
    machine_t m;

    if (compile_path(&m, pattern, "/") && m.at < m.end) {
        compile_query(&m);
    }
    return m.fault;
}

bool el_url_pattern_match(const char *pattern, const char *base, const char *target)
{
    size_t len = strcspn(target, "?");
    const char *query = target[len] ? target + len + 1 : "";
    machine_t m;

    return compile_path(&m, pattern, base) && run(&m, target, len)
           && (m.at == m.end || (compile_query(&m) && run(&m, query, strlen(query))));
}
