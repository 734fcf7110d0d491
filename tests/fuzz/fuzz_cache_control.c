#include "elastic/http.h"

#include "fuzz.h"

/* A refusal at the end of a list counts, unless a quote is open; it never takes another one away. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *field = fuzz_string(data, size), *longer;
    el_cache_control_t control = el_cache_control_parse(field), more;

    MUST(control.has_max_age || control.max_age == 0);
    longer = malloc(strlen(field) + 16);
    MUST(longer != NULL);
    strcpy(longer, field);
    strcat(longer, ",private");
    more = el_cache_control_parse(longer);
    MUST(more.only_mine || strchr(field, '"'));
    MUST(more.no_store >= control.no_store && more.no_cache >= control.no_cache);
    free(longer);
    free(field);
    return 0;
}
