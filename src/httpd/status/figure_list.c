#include "httpd/status/figure_list.h"

#include "apr_strings.h"

static el_figure_t *add(el_list_t *list, const el_row_t *row, bool is_number, const char *value)
{
    el_figure_t *figure = apr_array_push(list->figures);

    *figure = (el_figure_t){
        .key = row->key,
        .value = value,
        .text = row->text,
        .number = is_number,
        .family = row->own.name ? &row->own : row->family,
        .label = row->label,
        .label_value = row->label_value,
        .sample = value,
    };
    return figure;
}

void el_add_text(el_list_t *list, const el_row_t *row, const char *value)
{
    add(list, row, false, value);
}

void el_add_number(el_list_t *list, const el_row_t *row, const char *text, double value)
{
    el_figure_t *figure = add(list, row, true, text);

    if (row->per_unit > 0) {
        figure->sample = apr_psprintf(list->pool, "%.12g", value / row->per_unit);
    }
}

void el_add_count(el_list_t *list, const el_row_t *row, uint64_t value)
{
    el_add_number(list, row, apr_psprintf(list->pool, "%" APR_UINT64_T_FMT, value), (double)value);
}

void el_add_share(el_list_t *list, const el_row_t *row, double value)
{
    el_add_number(list, row, apr_psprintf(list->pool, "%.3f", value), value);
}
