/*
 * Directives' arguments: words, numbers, times, and the sentence that refuses them. A refusal names
 * the directive, what was given and what is allowed, which is the table's own help text.
 */
#ifndef ELASTIC_ARGUMENTS_H
#define ELASTIC_ARGUMENTS_H

#include "httpd/base/glue.h"

/* The error that configtest shows; it lives in the command's pool. */
const char *el_refuse(const cmd_parms *cmd, const char *given);

/* The words of a directive's line (const char *), quotes removed. */
apr_array_header_t *el_words(const cmd_parms *cmd, const char *args);
const char *el_word(const apr_array_header_t *words, int i);

/* The only word of the line, or NULL where there are none or several. */
const char *el_only_word(const cmd_parms *cmd, const char *args);

/* A whole number min … max, digits and nothing else. False leaves `value`; NULL is no number. */
bool el_number(const char *text, uint64_t min, uint64_t max, uint64_t *value);

/* The same, for the only word of a line and a field of settings. */
bool el_only_number(const cmd_parms *cmd, const char *args, int min, int max, int *value);

/* A percentage 0 … 100, with or without a fraction, as a share 0 … 1. */
bool el_percentage(const char *text, double *share);

/* A time: digits and ms, s or nothing for seconds. */
bool el_time(const cmd_parms *cmd, const char *text, apr_interval_time_t *time);

bool el_on_off(const char *text, bool *value);

/*
 * Says something once at startup, though httpd reads its configuration twice there; from .htaccess,
 * which is read per request, only at debug level.
 */
void el_advise(cmd_parms *cmd, const char *text);

#endif
