#include "httpd/status/figures_saved.h"

#include "httpd/state/past.h"
#include "httpd/state/shared.h"

#include "apr_strings.h"

static void add_signed(el_list_t *list, const el_row_t *row, const char *format, double value)
{
    el_add_number(list, row, apr_psprintf(list->pool, format, value), value);
}

static void add_ever(el_list_t *list, const el_savings_t *ever)
{
    static const el_row_t cpu =
        ROW_IN(MICROS, "ElasticModDeflateCpuUsec", "CPU time mod_deflate at level 6 would take, µs",
               COUNTER("elastic_mod_deflate_cpu_seconds",
                       "CPU time that mod_deflate at level 6 would take for the same, estimated"));
    static const el_row_t out =
        ROW("ElasticModDeflateBytesOut", "Bytes mod_deflate at level 6 would send",
            COUNTER("elastic_mod_deflate_output_bytes",
                    "Bytes that mod_deflate at level 6 would send of the same, estimated"));
    static const el_row_t saved =
        ROW("ElasticCpuSavedUsec", "CPU time saved against it, µs", NONE);

    el_add_count(list, &cpu, (uint64_t)ever->stock_usec);
    el_add_count(list, &out, (uint64_t)ever->stock_out);
    add_signed(list, &saved, "%.0f", el_savings_cpu(ever));
}

static void add_today(el_list_t *list, const el_savings_t *today)
{
    static const el_row_t counts[] = {
        ROW("ElasticTodayCompressed", "Compressed responses, today", NONE),
        ROW("ElasticTodayPrecompressed", "Responses served from siblings, today", NONE),
        ROW("ElasticTodayBytesIn", "Bytes before, today", NONE),
        ROW("ElasticTodayBytesOut", "Bytes after, today", NONE),
        ROW("ElasticTodayCpuUsec", "CPU time in the encoders, today, µs", NONE),
        ROW("ElasticTodayModDeflateCpuUsec", "CPU time mod_deflate would take, today, µs", NONE),
        ROW("ElasticTodayModDeflateBytesOut", "Bytes mod_deflate would send, today", NONE),
    };
    static const el_row_t saved =
        ROW("ElasticTodayCpuSavedUsec", "CPU time saved against it, today, µs", NONE);
    const uint64_t values[] = {
        today->responses, today->precompressed, today->in, today->out,
        (uint64_t)today->encoding_usec, (uint64_t)today->stock_usec, (uint64_t)today->stock_out,
    };

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        el_add_count(list, &counts[i], values[i]);
    }
    add_signed(list, &saved, "%.0f", el_savings_cpu(today));
}

static void add_money(el_list_t *list, const el_savings_t *ever, const el_savings_t *today)
{
    static const el_row_t prices[] = {
        ROW("ElasticMoneyCoreHour", "Price of an hour of a core",
            GAUGE("elastic_core_hour_price", "Price of an hour of a core, by ElasticGoal")),
        ROW("ElasticMoneyGB", "Price of a GB sent",
            GAUGE("elastic_gigabyte_price", "Price of 10^9 bytes sent, by ElasticGoal")),
    };
    static const el_row_t rows[] = {
        ROW("ElasticMoneySaved", "Money saved against no compression", NONE),
        ROW("ElasticMoneySavedModDeflate", "Money saved against mod_deflate", NONE),
        ROW("ElasticTodayMoneySaved", "Money saved against no compression, today", NONE),
        ROW("ElasticTodayMoneySavedModDeflate", "Money saved against mod_deflate, today", NONE),
    };
    const el_goal_t *goal = &el_shared.config.control.goal;
    el_savings_money_t all = el_savings_money(ever, goal), since = el_savings_money(today, goal);

    add_signed(list, &prices[0], "%.6f", goal->per_core_hour);
    add_signed(list, &prices[1], "%.6f", goal->per_gbyte);
    add_signed(list, &rows[0], "%.6f", all.plain);
    add_signed(list, &rows[1], "%.6f", all.stock);
    add_signed(list, &rows[2], "%.6f", since.plain);
    add_signed(list, &rows[3], "%.6f", since.stock);
}

void el_figures_add_saved(el_list_t *list)
{
    el_savings_t ever = el_past_ever(), today = el_past_today();

    add_ever(list, &ever);
    add_today(list, &today);
    if (el_goal_has_prices(&el_shared.config.control.goal)) {
        add_money(list, &ever, &today);
    }
}
