/* The tables of Deflate… and Brotli… directives, and what each of them accepts. */
#include "httpd/config/arguments.h"
#include "httpd/config/limits.h"
#include "httpd/config/settings.h"
#include "httpd/config/stock.h"

#include "elastic/engine.h"

#include "apr_strings.h"

/* zlib cannot make a gzip stream with a smaller window; mod_deflate accepts them and then fails. */
#define GZIP_WINDOW_MIN 9

static el_stock_t *settings_of(const cmd_parms *cmd, el_record_t record)
{
    return el_record_settings(record, cmd->server->module_config);
}

static const char *set_level(const cmd_parms *cmd, const char *args, el_record_t record, int min,
                             int max)
{
    el_stock_t *stock = settings_of(cmd, record);

    if (!el_only_number(cmd, args, min, max, &stock->level)) {
        return el_refuse(cmd, args);
    }
    stock->level_set = true;
    return NULL;
}

static const char *set_deflate_level(cmd_parms *cmd, void *config, const char *args)
{
    (void)config;
    return set_level(cmd, args, EL_RECORD_DEFLATE, 1, 9);
}

static const char *set_brotli_level(cmd_parms *cmd, void *config, const char *args)
{
    (void)config;
    return set_level(cmd, args, EL_RECORD_BROTLI, 0, 11);
}

static const char *set_deflate_window(cmd_parms *cmd, void *config, const char *args)
{
    el_stock_t *stock = settings_of(cmd, EL_RECORD_DEFLATE);

    (void)config;
    if (!el_only_number(cmd, args, 1, 15, &stock->window_bits)) {
        return el_refuse(cmd, args);
    }
    if (stock->window_bits < GZIP_WINDOW_MIN) {
        el_advise(cmd, apr_psprintf(cmd->pool, "zlib has no window of %d bits for gzip; it gets %d",
                                    stock->window_bits, GZIP_WINDOW_MIN));
        stock->window_bits = GZIP_WINDOW_MIN;
    }
    return NULL;
}

static const char *set_brotli_window(cmd_parms *cmd, void *config, const char *args)
{
    (void)config;
    return el_only_number(cmd, args, 10, 24, &settings_of(cmd, EL_RECORD_BROTLI)->window_bits)
               ? NULL
               : el_refuse(cmd, args);
}

static const char *set_mem_level(cmd_parms *cmd, void *config, const char *args)
{
    (void)config;
    return el_only_number(cmd, args, 1, 9, &settings_of(cmd, EL_RECORD_DEFLATE)->mem_level)
               ? NULL
               : el_refuse(cmd, args);
}

static const char *set_block(cmd_parms *cmd, void *config, const char *args)
{
    (void)config;
    return el_only_number(cmd, args, 16, 24, &settings_of(cmd, EL_RECORD_BROTLI)->block_bits)
               ? NULL
               : el_refuse(cmd, args);
}

/* Output goes out in httpd's own buckets: the size that is asked for is read and has no effect. */
static const char *set_buffer_size(cmd_parms *cmd, void *config, const char *args)
{
    int size;

    (void)config;
    return el_only_number(cmd, args, 1, INT_MAX, &size) ? NULL : el_refuse(cmd, args);
}

static const char *set_etag(const cmd_parms *cmd, const char *args, el_record_t record)
{
    static const struct {
        const char *name;
        el_etag_mode_t mode;
    } rules[] = {
        {"AddSuffix", EL_ETAG_SUFFIX},
        {"NoChange", EL_ETAG_KEEP},
        {"Remove", EL_ETAG_REMOVE},
    };
    el_stock_t *stock = settings_of(cmd, record);
    const char *given = el_only_word(cmd, args);

    for (size_t i = 0; given && i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (strcasecmp(given, rules[i].name) == 0) {
            stock->etag = rules[i].mode;
            stock->etag_set = true;
            el_settings_untagged = el_settings_untagged || stock->etag != EL_ETAG_SUFFIX;
            return NULL;
        }
    }
    return el_refuse(cmd, args);
}

static const char *set_deflate_etag(cmd_parms *cmd, void *config, const char *args)
{
    (void)config;
    return set_etag(cmd, args, EL_RECORD_DEFLATE);
}

static const char *set_brotli_etag(cmd_parms *cmd, void *config, const char *args)
{
    (void)config;
    return set_etag(cmd, args, EL_RECORD_BROTLI);
}

static const char *set_note(const cmd_parms *cmd, const char *args, el_record_t record)
{
    static const char *const kinds[EL_NOTES] = {
        [EL_NOTE_INPUT] = "Input",
        [EL_NOTE_OUTPUT] = "Output",
        [EL_NOTE_RATIO] = "Ratio",
    };
    el_stock_t *stock = settings_of(cmd, record);
    apr_array_header_t *words = el_words(cmd, args);

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

static const char *set_deflate_note(cmd_parms *cmd, void *config, const char *args)
{
    (void)config;
    return set_note(cmd, args, EL_RECORD_DEFLATE);
}

static const char *set_brotli_note(cmd_parms *cmd, void *config, const char *args)
{
    (void)config;
    return set_note(cmd, args, EL_RECORD_BROTLI);
}

#define NOTE_TEXT                                                                                  \
    "the note's name, before it Input, Output or Ratio, which is what one name alone means"
#define ETAG_TEXT "AddSuffix, NoChange or Remove: the entity tag of an encoded response"

const command_rec el_deflate_commands[] = {
    AP_INIT_RAW_ARGS("DeflateFilterNote", set_deflate_note, NULL, RSRC_CONF, NOTE_TEXT),
    AP_INIT_RAW_ARGS("DeflateWindowSize", set_deflate_window, NULL, RSRC_CONF,
                     "zlib's window, 1 to 15 bits"),
    AP_INIT_RAW_ARGS("DeflateMemLevel", set_mem_level, NULL, RSRC_CONF,
                     "zlib's memory level, 1 to 9"),
    AP_INIT_RAW_ARGS("DeflateBufferSize", set_buffer_size, NULL, RSRC_CONF,
                     "a number of bytes above 0; it is accepted and has no effect"),
    AP_INIT_RAW_ARGS("DeflateCompressionLevel", set_deflate_level, NULL, RSRC_CONF,
                     "the ceiling of gzip's level, 1 to 9"),
    AP_INIT_RAW_ARGS("DeflateAlterETag", set_deflate_etag, NULL, RSRC_CONF, ETAG_TEXT),
    AP_INIT_RAW_ARGS("DeflateInflateLimitRequestBody", el_limits_set_size, NULL, OR_ALL,
                     "the bytes that a request body may have when it is decoded; 0 for those of "
                     "LimitRequestBody"),
    AP_INIT_RAW_ARGS("DeflateInflateRatioLimit", el_limits_set_ratio, NULL, OR_ALL,
                     "a number above 0: how many bytes one encoded byte may give"),
    AP_INIT_RAW_ARGS("DeflateInflateRatioBurst", el_limits_set_burst, NULL, OR_ALL,
                     "a number above 0: how many times in a row the ratio may be above its limit"),
    {NULL},
};

const command_rec el_brotli_commands[] = {
    AP_INIT_RAW_ARGS("BrotliFilterNote", set_brotli_note, NULL, RSRC_CONF, NOTE_TEXT),
    AP_INIT_RAW_ARGS("BrotliCompressionQuality", set_brotli_level, NULL, RSRC_CONF,
                     "the ceiling of br's level, 0 to 11"),
    AP_INIT_RAW_ARGS("BrotliCompressionWindow", set_brotli_window, NULL, RSRC_CONF,
                     "br's window, 10 to 24 bits"),
    AP_INIT_RAW_ARGS("BrotliCompressionMaxInputBlock", set_block, NULL, RSRC_CONF,
                     "br's largest input block, 16 to 24 bits"),
    AP_INIT_RAW_ARGS("BrotliAlterETag", set_brotli_etag, NULL, RSRC_CONF, ETAG_TEXT),
    {NULL},
};
