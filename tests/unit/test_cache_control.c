#include "elastic/http.h"
#include "suites.h"

static const struct {
    const char *field;
    el_cache_control_t control;
} fields[] = {
    {"", {0}}, {"max-age=60", {.has_max_age = true, .max_age = 60}},
    {"PRIVATE, Max-Age=1", {.only_mine = true, .has_max_age = true, .max_age = 1}},
    {"xprivate, private2, no-stores", {0}},
    {"no-store,no-cache , \tprivate", {.no_store = true, .no_cache = true, .only_mine = true}},
    {"private=\"set-cookie, no-store\", no-cache=\"a\"", {.only_mine = true, .no_cache = true}},
    {"ext=\"\\\", no-store\", private", {.only_mine = true}},
    {"ext=\"abc, no-store", {0}},
    {"max-age=0, stale-while-revalidate=86400", {.has_max_age = true}},
    {"max-age=\"60\"", {.has_max_age = true, .max_age = 60}}, {"max-age=x", {.has_max_age = true}},
    {"max-age=60x", {.has_max_age = true}}, {"max-age", {.has_max_age = true}},
    {"max-age=-1", {.has_max_age = true}},
    {"max-age=60, max-age=10, max-age=20", {.has_max_age = true, .max_age = 10}},
    {"max-age=99999999999", {.has_max_age = true, .max_age = 2147483647}},
    {"max-age=99999999999999999999999", {.has_max_age = true}}, {"s-maxage=60", {0}},
    {"=, ;;, @, private", {.only_mine = true}}, {",, ,no-store,", {.no_store = true}},
};

CASE(cache_control);

EACH(cache_control, a_field_says_how_long, fields)
{
    el_cache_control_t found = el_cache_control_parse(row->field);

    named_eq(row->field, found.no_store, row->control.no_store);
    named_eq(row->field, found.no_cache, row->control.no_cache);
    named_eq(row->field, found.only_mine, row->control.only_mine);
    named_eq(row->field, found.has_max_age, row->control.has_max_age);
    named_eq(row->field, found.max_age, row->control.max_age);
}
