#include "elastic/cache_control.h"

#include "suites.h"

#include <inttypes.h>

static const struct {
    const char *label;
    const char *field;
    el_cache_control_t control;
} fields[] = {
    {"nothing", "", {.max_age = 0}},
    {"a lifetime", "max-age=60", {.has_max_age = true, .max_age = 60}},
    {"public changes nothing", "public, max-age=60", {.has_max_age = true, .max_age = 60}},
    {"any case", "PRIVATE, Max-Age=1",
     {.only_mine = true, .has_max_age = true, .max_age = 1}},
    {"a longer name", "xprivate, private2, no-stores", {.max_age = 0}},
    {"each refusal", "no-store,no-cache , \tprivate",
     {.no_store = true, .no_cache = true, .only_mine = true}},
    {"names of fields", "private=\"set-cookie, no-store\", no-cache=\"a\"",
     {.only_mine = true, .no_cache = true}},
    {"an escaped quote", "ext=\"\\\", no-store\", private", {.only_mine = true}},
    {"a quote without an end", "ext=\"abc, no-store", {.max_age = 0}},
    {"stale answers are no lifetime", "max-age=0, stale-while-revalidate=86400",
     {.has_max_age = true}},
    {"a quoted number", "max-age=\"60\"", {.has_max_age = true, .max_age = 60}},
    {"no number", "max-age=x", {.has_max_age = true}},
    {"a number and more", "max-age=60x", {.has_max_age = true}},
    {"no value", "max-age", {.has_max_age = true}},
    {"a negative number", "max-age=-1", {.has_max_age = true}},
    {"of two the shorter", "max-age=60, max-age=10, max-age=20",
     {.has_max_age = true, .max_age = 10}},
    {"too long a time", "max-age=99999999999", {.has_max_age = true, .max_age = 2147483647}},
    {"no time at all", "max-age=99999999999999999999999", {.has_max_age = true}},
    {"the proxies' lifetime is not the browser's", "s-maxage=60", {.max_age = 0}},
    {"what is no member", "=, ;;, @, private", {.only_mine = true}},
    {"empty members", ",, ,no-store,", {.no_store = true}},
};

CASE(cache_control);

EACH(cache_control, a_field_says_how_long, fields)
{
    el_cache_control_t found = el_cache_control_parse(row->field);
    const el_cache_control_t *wanted = &row->control;

    ck_assert_msg(found.no_store == wanted->no_store && found.no_cache == wanted->no_cache
                      && found.only_mine == wanted->only_mine
                      && found.has_max_age == wanted->has_max_age,
                  "%s", row->label);
    row_eq(found.max_age, wanted->max_age);
}
