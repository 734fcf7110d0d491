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
    {NULL},
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
    {NULL},
};
