#include "httpd/config/stock_directives.h"

#include "httpd/config/arguments.h"
#include "httpd/config/settings.h"
#include "httpd/config/stock.h"

#include "apr_strings.h"

/* zlib cannot make a gzip stream with a smaller window; mod_deflate accepts them and then fails. */
#define GZIP_WINDOW_MIN 9

static void raise_window(cmd_parms *cmd, int64_t *bits)
{
    if (*bits < GZIP_WINDOW_MIN) {
        el_advise(cmd, apr_psprintf(cmd->pool, "zlib has no window of %d bits for gzip; it gets %d",
                                    (int)*bits, GZIP_WINDOW_MIN));
        *bits = GZIP_WINDOW_MIN;
    }
}

static const el_word_t etags[] = {
    {"AddSuffix", EL_ETAG_SUFFIX}, {"NoChange", EL_ETAG_KEEP}, {"Remove", EL_ETAG_REMOVE},
    {NULL, 0},
};

/* A number of the server's settings of a record. */
#define NUMBER(which, of, least, most)                                                             \
    {                                                                                              \
        .record = which, .server = true, .value = of, .unit = EL_UNIT_ONE, .min = least,           \
        .max = most                                                                                \
    }
#define ETAG(which)                                                                                \
    {                                                                                              \
        .record = which, .server = true, .value = EL_STOCK_ETAG, .words = etags,                   \
        .used = &el_settings_untagged, .used_by = 1u << EL_ETAG_KEEP | 1u << EL_ETAG_REMOVE        \
    }
#define LIMIT(of, least)                                                                           \
    {                                                                                              \
        .value = of, .unit = EL_UNIT_ONE, .min = least, .max = INT64_MAX                           \
    }

static const el_argument_t deflate_window = {
    .record = EL_RECORD_DEFLATE, .server = true, .value = EL_STOCK_WINDOW_BITS,
    .unit = EL_UNIT_ONE, .min = 1, .max = 15, .adjust = raise_window,
};
static const el_argument_t deflate_mem = NUMBER(EL_RECORD_DEFLATE, EL_STOCK_MEM_LEVEL, 1, 9);
static const el_argument_t deflate_level = NUMBER(EL_RECORD_DEFLATE, EL_STOCK_LEVEL, 1, 9);
static const el_argument_t deflate_etag = ETAG(EL_RECORD_DEFLATE);
/* Output goes out in httpd's own buckets: the size that is asked for is read and has no effect. */
static const el_argument_t buffer = NUMBER(EL_RECORD_DEFLATE, EL_STOCK_BUFFER_SIZE, 1, INT_MAX);
static const el_argument_t limit_size = LIMIT(EL_LIMIT_SIZE, 0);
static const el_argument_t limit_ratio = LIMIT(EL_LIMIT_RATIO, 1);
static const el_argument_t limit_burst = LIMIT(EL_LIMIT_BURST, 1);

static const el_argument_t brotli_level = NUMBER(EL_RECORD_BROTLI, EL_STOCK_LEVEL, 0, 11);
static const el_argument_t brotli_window = NUMBER(EL_RECORD_BROTLI, EL_STOCK_WINDOW_BITS, 10, 24);
static const el_argument_t brotli_block = NUMBER(EL_RECORD_BROTLI, EL_STOCK_BLOCK_BITS, 16, 24);
static const el_argument_t brotli_etag = ETAG(EL_RECORD_BROTLI);

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

#define VALUE(name, argument, where, help)                                                         \
    AP_INIT_RAW_ARGS(name, el_set_value, (void *)&argument, where, help)
#define NOTE(name, record)                                                                         \
    AP_INIT_RAW_ARGS(name, set_note, (void *)record, RSRC_CONF,                                    \
                     "the note's name, before it Input, Output or Ratio, which is what one name "  \
                     "alone means")
#define ETAG_TEXT "AddSuffix, NoChange or Remove: the entity tag of an encoded response"

const command_rec el_deflate_commands[] = {
    NOTE("DeflateFilterNote", EL_RECORD_DEFLATE),
    VALUE("DeflateWindowSize", deflate_window, RSRC_CONF, "zlib's window, 1 to 15 bits"),
    VALUE("DeflateMemLevel", deflate_mem, RSRC_CONF, "zlib's memory level, 1 to 9"),
    VALUE("DeflateBufferSize", buffer, RSRC_CONF,
          "a number of bytes above 0; it is accepted and has no effect"),
    VALUE("DeflateCompressionLevel", deflate_level, RSRC_CONF, "the ceiling of gzip's level, 1 to 9"),
    VALUE("DeflateAlterETag", deflate_etag, RSRC_CONF, ETAG_TEXT),
    VALUE("DeflateInflateLimitRequestBody", limit_size, OR_ALL,
          "the bytes that a request body may have when it is decoded; 0 for those of "
          "LimitRequestBody"),
    VALUE("DeflateInflateRatioLimit", limit_ratio, OR_ALL,
          "a number above 0: how many bytes one encoded byte may give"),
    VALUE("DeflateInflateRatioBurst", limit_burst, OR_ALL,
          "a number above 0: how many times in a row the ratio may be above its limit"),
    {NULL},
};

const command_rec el_brotli_commands[] = {
    NOTE("BrotliFilterNote", EL_RECORD_BROTLI),
    VALUE("BrotliCompressionQuality", brotli_level, RSRC_CONF, "the ceiling of br's level, 0 to 11"),
    VALUE("BrotliCompressionWindow", brotli_window, RSRC_CONF, "br's window, 10 to 24 bits"),
    VALUE("BrotliCompressionMaxInputBlock", brotli_block, RSRC_CONF,
          "br's largest input block, 16 to 24 bits"),
    VALUE("BrotliAlterETag", brotli_etag, RSRC_CONF, ETAG_TEXT),
    {NULL},
};
