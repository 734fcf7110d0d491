#include "httpd/config/limits.h"

#include "httpd/config/arguments.h"
#include "httpd/base/merge.h"
#include "httpd/base/records.h"

#include "apr_strings.h"
#include "http_core.h"

/* The stock module's: far above what ordinary bodies reach, far below deflate's best, 1032. */
#define DEFAULT_RATIO 200
#define DEFAULT_BURST 3

void *el_limits_create(apr_pool_t *pool, char *path)
{
    (void)path;
    return apr_pcalloc(pool, sizeof(el_limits_t));
}

void *el_limits_merge(apr_pool_t *pool, void *base, void *add)
{
    const el_limits_t *from = add;
    el_limits_t *to = apr_pmemdup(pool, base, sizeof(*to));

    EL_TAKE(to, from, size);
    EL_TAKE(to, from, ratio);
    EL_TAKE(to, from, burst);
    return to;
}

static const char *set(const cmd_parms *cmd, const char *args, uint64_t min, uint64_t *value,
                       bool *is_set)
{
    if (!el_number(el_only_word(cmd, args), min, APR_INT64_MAX, value)) {
        return el_refuse(cmd, args);
    }
    *is_set = true;
    return NULL;
}

const char *el_limits_set_size(cmd_parms *cmd, void *config, const char *args)
{
    el_limits_t *limits = config;

    return set(cmd, args, 0, &limits->size, &limits->size_set);
}

const char *el_limits_set_ratio(cmd_parms *cmd, void *config, const char *args)
{
    el_limits_t *limits = config;

    return set(cmd, args, 1, &limits->ratio, &limits->ratio_set);
}

const char *el_limits_set_burst(cmd_parms *cmd, void *config, const char *args)
{
    el_limits_t *limits = config;

    return set(cmd, args, 1, &limits->burst, &limits->burst_set);
}

el_limits_t el_limits_of(const request_rec *r)
{
    const el_limits_t *set = el_record_settings(EL_RECORD_DEFLATE, r->per_dir_config);
    el_limits_t limits = {.ratio = DEFAULT_RATIO, .burst = DEFAULT_BURST};
    apr_off_t encoded = ap_get_limit_req_body(r);

    if (set) {
        limits.size = set->size_set ? set->size : 0;
        limits.ratio = set->ratio_set ? set->ratio : limits.ratio;
        limits.burst = set->burst_set ? set->burst : limits.burst;
    }
    if (limits.size == 0 && encoded > 0) {
        limits.size = (uint64_t)encoded;
    }
    return limits;
}
