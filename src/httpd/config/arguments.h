/*
 * Directives' arguments: words, numbers, times, and the sentence that refuses them. A refusal names
 * the directive, what was given and what is allowed, which is the table's own help text.
 */
#ifndef ELASTIC_CONFIG_ARGUMENTS_H
#define ELASTIC_CONFIG_ARGUMENTS_H

#include "httpd/base/glue.h"
#include "httpd/base/records.h"

#include <stdatomic.h>

/* The error that configtest shows; it lives in the command's pool. */
const char *el_refuse(const cmd_parms *cmd, const char *given);

/* The words of a directive's line (const char *), quotes removed. */
apr_array_header_t *el_words(const cmd_parms *cmd, const char *args);
const char *el_word(const apr_array_header_t *words, int i);

/* The only word of the line, or NULL where there are none or several. */
const char *el_only_word(const cmd_parms *cmd, const char *args);

/* A whole number min … max, digits and nothing else. False leaves `value`; NULL is no number. */
bool el_number(const char *text, int64_t min, int64_t max, int64_t *value);

/* A percentage 0 … 100, with or without a fraction, in millionths. */
bool el_percentage(const char *text, int64_t *ppm);

/*
 * el_warn() of a directive, once; none from .htaccess, which is read for each request.
 */
void el_advise(cmd_parms *cmd, const char *text);

/* What the number of a directive is counted in. */
typedef enum {
    EL_UNIT_NONE,   /* no number is allowed, only words */
    EL_UNIT_ONE,    /* digits */
    EL_UNIT_BYTES,  /* digits and K, M, G (of 1024) or nothing */
    EL_UNIT_TIME,   /* digits and ms, s or nothing for seconds; the value is in µs */
    EL_UNIT_PERCENT /* 0 … 100; the value is in millionths */
} el_unit_t;

/* A word that is allowed, and its value; the last of a list has no name. */
typedef struct {
    const char *name;
    int64_t value;
} el_word_t;

extern const el_word_t el_words_on_off[];

/* What a directive of one argument takes, and where its value goes: the command's `cmd_data`. */
typedef struct {
    el_record_t record;     /* whose settings */
    bool server;            /* those of the server; otherwise those of the directory */
    bool global;            /* refused within <VirtualHost> */
    unsigned value;         /* which of its el_values_t */
    el_unit_t unit;
    int64_t min, max;       /* of the number */
    const el_word_t *words; /* or NULL */
    atomic_bool *is_on;     /* set where the value is On; or NULL */
    void (*adjust)(cmd_parms *cmd, int64_t *value); /* may change the value or advise; or NULL */
} el_argument_t;

/*
 * Reads a word or a number, of which `argument` has the unit, the bounds and the words. False
 * leaves `value`; NULL is neither.
 */
bool el_argument_read(const cmd_parms *cmd, const el_argument_t *argument, const char *given,
                      int64_t *value);

/* The function of every directive with an el_argument_t: RAW_ARGS. */
const char *el_set_value(cmd_parms *cmd, void *config, const char *args);

#endif
