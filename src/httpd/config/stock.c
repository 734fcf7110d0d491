#include "httpd/config/stock.h"

#include "httpd/config/arguments.h"

#include "apr_strings.h"
#include "http_core.h"

/* The stock module's: far above what ordinary bodies reach, far below deflate's best, 1032. */
#define DEFAULT_RATIO 200
#define DEFAULT_BURST 3

void *el_stock_create(apr_pool_t *pool, server_rec *server)
{
    (void)server;
    return apr_pcalloc(pool, sizeof(el_stock_t));
}

/* Unlike in the stock modules, each field on its own: one directive in a vhost resets no other. */
void *el_stock_merge(apr_pool_t *pool, void *base, void *add)
{
    const el_stock_t *from = add;
    el_stock_t *to = apr_pmemdup(pool, base, sizeof(*to));

    el_values_merge(&to->values, &from->values);
    for (int i = 0; i < EL_NOTES; i++) {
        to->note[i] = from->note[i] ? from->note[i] : to->note[i];
    }
    return to;
}

const el_stock_t *el_stock_of(const server_rec *server, el_record_t record)
{
    static const el_stock_t unset;
    const el_stock_t *stock = record == EL_RECORD_ELASTIC
                                  ? NULL
                                  : el_record_settings(record, server->module_config);

    return stock ? stock : &unset;
}

el_etag_mode_t el_stock_etag(const el_stock_t *stock)
{
    return (el_etag_mode_t)el_value(&stock->values, EL_STOCK_ETAG, EL_ETAG_SUFFIX);
}

void *el_limits_create(apr_pool_t *pool, char *path)
{
    (void)path;
    return apr_pcalloc(pool, sizeof(el_values_t));
}

void *el_limits_merge(apr_pool_t *pool, void *base, void *add)
{
    el_values_t *to = apr_pmemdup(pool, base, sizeof(*to));

    el_values_merge(to, add);
    return to;
}

el_limits_t el_limits_of(const request_rec *r)
{
    static const el_values_t unset;
    const el_values_t *set = el_record_settings(EL_RECORD_DEFLATE, r->per_dir_config);
    el_limits_t limits;

    set = set ? set : &unset;
    limits = (el_limits_t){
        .size = (uint64_t)el_value(set, EL_LIMIT_SIZE, 0),
        .ratio = (uint64_t)el_value(set, EL_LIMIT_RATIO, DEFAULT_RATIO),
        .burst = (uint64_t)el_value(set, EL_LIMIT_BURST, DEFAULT_BURST),
        .is_request = true,
    };
    if (limits.size == 0) {
        el_limits_spool(&limits, r);
    }
    return limits;
}

void el_limits_spool(el_limits_t *limits, const request_rec *r)
{
    apr_off_t most = ap_get_limit_req_body(r);

    if (most > 0 && (limits->size == 0 || (uint64_t)most < limits->size)) {
        limits->size = (uint64_t)most;
    }
}

/* --- directives */

/* zlib cannot make a gzip stream with a smaller window; mod_deflate accepts them and then fails. */
#define GZIP_WINDOW_MIN 9

static void raise_window(cmd_parms *cmd, int64_t *bits)
{
    if (*bits < GZIP_WINDOW_MIN) {
        el_advise(cmd, apr_psprintf(cmd->pool, "zlib has no window of %d bits for gzip; %d is used",
                                    (int)*bits, GZIP_WINDOW_MIN));
        *bits = GZIP_WINDOW_MIN;
    }
}

static const el_word_t etags[] = {
    {"AddSuffix", EL_ETAG_SUFFIX}, {"NoChange", EL_ETAG_KEEP}, {"Remove", EL_ETAG_REMOVE},
    {NULL, 0},
};

/* `cmd->info` is the record. */
static const char *set_note(cmd_parms *cmd, void *config, const char *args)
{
    static const char *const kinds[EL_NOTES] = {
        [EL_NOTE_INPUT] = "Input",
        [EL_NOTE_OUTPUT] = "Output",
        [EL_NOTE_RATIO] = "Ratio",
    };
    el_record_t record = (el_record_t)(uintptr_t)cmd->info;
    el_stock_t *stock = el_record_settings(record, cmd->server->module_config);
    apr_array_header_t *words = el_words(cmd, args);

    (void)config;
    if (words->nelts == 1 && *el_word(words, 0)) {
        stock->note[EL_NOTE_RATIO] = el_word(words, 0);
        return NULL;
    }
    for (int i = 0; words->nelts == 2 && i < EL_NOTES; i++) {
        if (strcasecmp(el_word(words, 0), kinds[i]) == 0) {
            stock->note[i] = el_word(words, 1);
            return NULL;
        }
    }
    return el_refuse(cmd, args);
}

/* A directive of one value: what it takes is an el_argument_t. */
#define VALUE(name, where, help, ...)                                                              \
    AP_INIT_RAW_ARGS(name, el_set_value, ((void *)&(const el_argument_t){__VA_ARGS__}), where, help)
#define NUMBER(of, which, least, most)                                                             \
    .record = of, .server = true, .value = which, .unit = EL_UNIT_ONE, .min = least, .max = most
#define LIMIT(which, least) .value = which, .unit = EL_UNIT_ONE, .min = least, .max = INT64_MAX
#define ETAG(name, of)                                                                             \
    VALUE(name, RSRC_CONF,                                                                         \
          "AddSuffix, NoChange or Remove: the entity tag of an encoded response", .record = of,    \
          .server = true, .value = EL_STOCK_ETAG, .words = etags)
#define NOTE(name, of)                                                                             \
    AP_INIT_RAW_ARGS(name, set_note, (void *)of, RSRC_CONF,                                        \
                     "the note's name, before it Input, Output or Ratio, which is what one name "  \
                     "alone means")

const command_rec el_deflate_commands[] = {
    NOTE("DeflateFilterNote", EL_RECORD_DEFLATE),
    VALUE("DeflateWindowSize", RSRC_CONF, "zlib's window, 1 to 15 bits",
          NUMBER(EL_RECORD_DEFLATE, EL_STOCK_WINDOW_BITS, 1, 15), .adjust = raise_window),
    VALUE("DeflateMemLevel", RSRC_CONF, "zlib's memory level, 1 to 9",
          NUMBER(EL_RECORD_DEFLATE, EL_STOCK_MEM_LEVEL, 1, 9)),
    /* Output goes out in httpd's own buckets: the size that is asked for has no effect. */
    VALUE("DeflateBufferSize", RSRC_CONF,
          "a number of bytes above 0; it is accepted and has no effect",
          NUMBER(EL_RECORD_DEFLATE, EL_STOCK_BUFFER_SIZE, 1, INT_MAX)),
    VALUE("DeflateCompressionLevel", RSRC_CONF, "the ceiling of gzip's level, 1 to 9",
          NUMBER(EL_RECORD_DEFLATE, EL_STOCK_LEVEL, 1, 9)),
    ETAG("DeflateAlterETag", EL_RECORD_DEFLATE),
    VALUE("DeflateInflateLimitRequestBody", OR_ALL,
          "the bytes that a request body may have when it is decoded; 0 for those of "
          "LimitRequestBody",
          LIMIT(EL_LIMIT_SIZE, 0)),
    VALUE("DeflateInflateRatioLimit", OR_ALL,
          "a number above 0: how many bytes one encoded byte may give", LIMIT(EL_LIMIT_RATIO, 1)),
    VALUE("DeflateInflateRatioBurst", OR_ALL,
          "a number above 0: how many times in a row the ratio may be above its limit",
          LIMIT(EL_LIMIT_BURST, 1)),
    {0},
};

const command_rec el_brotli_commands[] = {
    NOTE("BrotliFilterNote", EL_RECORD_BROTLI),
    VALUE("BrotliCompressionQuality", RSRC_CONF, "the ceiling of br's level, 0 to 11",
          NUMBER(EL_RECORD_BROTLI, EL_STOCK_LEVEL, 0, 11)),
    VALUE("BrotliCompressionWindow", RSRC_CONF, "br's window, 10 to 24 bits",
          NUMBER(EL_RECORD_BROTLI, EL_STOCK_WINDOW_BITS, 10, 24)),
    VALUE("BrotliCompressionMaxInputBlock", RSRC_CONF, "br's largest input block, 16 to 24 bits",
          NUMBER(EL_RECORD_BROTLI, EL_STOCK_BLOCK_BITS, 16, 24)),
    ETAG("BrotliAlterETag", EL_RECORD_BROTLI),
    {0},
};
