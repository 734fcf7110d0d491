#include "elastic/cache_control.h"

#include "text.h"

/* The longest duration that is told from others (RFC 9111 §1.2.2). */
#define SECONDS_MOST ((UINT64_C(1) << 31) - 1)

typedef struct {
    const char *name;
    size_t name_len;
    const char *value; /* without its quotes; NULL: none */
    size_t value_len;
} member_t;

static bool is_between(char c)
{
    return el_text_is_space(c) || c == ',';
}

/* The value behind the `=`, a token or a quoted string. */
static const char *take_value(const char *at, member_t *member)
{
    bool quoted = *at == '"';

    at += quoted;
    member->value = at;
    if (!quoted) {
        member->value_len = el_text_token(at, strlen(at));
        return at + member->value_len;
    }
    while (*at && *at != '"') {
        at += *at == '\\' && at[1] ? 2 : 1;
    }
    member->value_len = (size_t)(at - member->value);
    return *at ? at + 1 : at;
}

/*
 * The next member of the list; false at its end. What is none is passed over up to the next comma.
 */
static bool next(const char **field, member_t *member)
{
    const char *at = *field;

    *member = (member_t){0};
    while (is_between(*at)) {
        at++;
    }
    member->name = at;
    member->name_len = el_text_token(at, strlen(at));
    at += member->name_len;
    if (*at == '=') {
        at = take_value(at + 1, member);
    }
    *field = at + strcspn(at, ",");
    return member->name_len > 0 || **field;
}

static bool is_named(const member_t *member, const char *name)
{
    return el_text_is(member->name, member->name_len, name);
}

static uint64_t seconds_of(const member_t *member)
{
    const char *at = member->value;
    const char *end = at ? at + member->value_len : NULL;
    uint64_t seconds;

    if (!at || !el_text_number(&at, end, &seconds) || at != end) {
        return 0;
    }
    return seconds < SECONDS_MOST ? seconds : SECONDS_MOST;
}

static void shorten(el_cache_control_t *control, uint64_t seconds)
{
    control->max_age = control->has_max_age && control->max_age < seconds ? control->max_age
                                                                          : seconds;
    control->has_max_age = true;
}

el_cache_control_t el_cache_control_parse(const char *field)
{
    el_cache_control_t control = {0};
    member_t member;

    while (next(&field, &member)) {
        control.no_store |= is_named(&member, "no-store");
        control.no_cache |= is_named(&member, "no-cache");
        control.only_mine |= is_named(&member, "private");
        if (is_named(&member, "max-age")) {
            shorten(&control, seconds_of(&member));
        }
    }
    return control;
}
