#include "httpd/dictionary/dictionaries.h"

#include "httpd/config/config.h"
#include "httpd/dictionary/folder.h"
#include "httpd/dictionary/site.h"
#include "httpd/shared/shared.h"

#include "host/process.h"

#include "apr_strings.h"
#include "http_core.h"
#include "http_log.h"
#include "http_main.h"
#include "unixd.h"

#include <stdatomic.h>
#include <stdlib.h>

EL_USE_LOG;

/* Seconds between two lines of one process. */
#define QUIET 60

static el_folder_t folder = {.fd = -1};
static const char *path;

/* When this process may complain again: seconds of el_clock_sec(). */
static atomic_uint_least64_t quiet_until;

static void complain(int error)
{
    uint64_t now = el_clock_sec(), until = atomic_load(&quiet_until);

    el_shared_count(EL_COUNT_DICTIONARY_FAULTS, 1);
    if (now >= until && atomic_compare_exchange_strong(&quiet_until, &until, now + QUIET)) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, error, ap_server_conf,
                     "elastic: ElasticDictionaryStore %s: a dictionary cannot be written; "
                     "responses are sent without it", path);
    }
}

static bool any_server_has_dictionaries(const server_rec *server)
{
    for (; server; server = server->next) {
        if (el_server_of(server)->dictionary_rules) {
            return true;
        }
    }
    return false;
}

/* A line in the log where the folder cannot be used; also of what is no reason not to open it. */
static void check_folder(server_rec *main_server, const el_dictionary_store_t *store)
{
    el_folder_t opened;

    if (!el_folder_open(&opened, store->folder, store->most)) {
        el_warn(main_server, errno,
                "ElasticDictionaryStore %s: the folder cannot be read; no dictionaries are used",
                store->folder);
        return;
    }
    if (!el_folder_may_write(&opened, ap_unixd_config.user_id, ap_unixd_config.group_id)
        && geteuid() == 0) {
        el_warn(main_server, 0,
                "ElasticDictionaryStore %s: the user %s may not write to the folder; chown it to "
                "that user", store->folder, ap_unixd_config.user_name);
    }
    el_folder_close(&opened);
}

void el_dictionaries_check(server_rec *main_server, apr_pool_t *pconf)
{
    const el_dictionary_store_t *store = el_server_of(main_server)->dictionary_store;

    if (el_warnings_are_early()) {
        return;
    }
    el_site_files_read(main_server, pconf);
    if (store) {
        check_folder(main_server, store);
    } else if (any_server_has_dictionaries(main_server)) {
        el_warn(main_server, 0, "ElasticDictionary has no effect without ElasticDictionaryStore");
    }
}

static apr_status_t close_folder(void *unused)
{
    (void)unused;
    el_folder_close(&folder);
    return APR_SUCCESS;
}

void el_dictionaries_open(server_rec *main_server, apr_pool_t *pconf)
{
    const el_dictionary_store_t *store = el_server_of(main_server)->dictionary_store;

    if (store && el_folder_open(&folder, store->folder, store->most)) {
        path = store->folder;
        apr_pool_cleanup_register(pconf, NULL, close_folder, apr_pool_cleanup_null);
    }
}

bool el_dictionaries_are_open(void)
{
    return folder.fd >= 0 || el_site_files_are_there();
}

size_t el_dictionaries_most(void)
{
    return folder.fd >= 0 ? el_folder_file_most(&folder) : 0;
}

bool el_dictionaries_keep(const el_dictionary_entry_t *entry, const void *bytes, size_t nbytes)
{
    uint8_t hash[EL_DICTIONARY_HASH];

    if (folder.fd < 0 || !el_folder_hash(bytes, nbytes, hash)) {
        return false;
    }
    if (!el_folder_put(&folder, hash, bytes, nbytes, entry)) {
        complain(errno);
        return false;
    }
    return true;
}

/* What the folder has; where that is damaged, the log says so. */
static uint8_t *read_folder(const uint8_t hash[EL_DICTIONARY_HASH], size_t *nbytes)
{
    bool damaged;
    uint8_t *bytes = el_folder_read(&folder, hash, nbytes, &damaged);

    if (damaged) {
        char name[EL_FOLDER_NAME_ROOM];

        el_folder_name(hash, name);
        el_shared_count(EL_COUNT_DICTIONARY_FAULTS, 1);
        ap_log_error(APLOG_MARK, APLOG_WARNING, 0, ap_server_conf,
                     "elastic: ElasticDictionaryStore %s: the dictionary %s is damaged, and was "
                     "removed", path, name);
    }
    return bytes;
}

/*
 * A file is for each origin of its hosts, and for as long as it is configured; browsers have it
 * from a cache, perhaps, that has asked this server once.
 */
static el_dictionary_reason_t find_file(const el_dictionary_file_t *file,
                                        const el_dictionary_request_t *request,
                                        el_dictionary_entry_t *entry)
{
    memset(entry, 0, sizeof(*entry));
    apr_cpystrn(entry->origin, request->origin, sizeof(entry->origin));
    apr_cpystrn(entry->path, file->url, sizeof(entry->path));
    apr_cpystrn(entry->match, file->rule.match, sizeof(entry->match));
    apr_cpystrn(entry->dest, file->rule.dest, sizeof(entry->dest));
    entry->expires = UINT64_MAX;
    return el_dictionary_entry_fits(entry, request);
}

el_dictionary_reason_t el_dictionaries_find(const server_rec *server,
                                            const uint8_t hash[EL_DICTIONARY_HASH],
                                            const el_dictionary_request_t *request,
                                            el_dictionary_entry_t *entry)
{
    const el_dictionary_file_t *file = el_site_file_of(server, request->origin, hash);
    el_dictionary_reason_t reason = EL_DICTIONARY_UNKNOWN, kept;

    if (file) {
        reason = find_file(file, request, entry);
    }
    if (reason != EL_DICTIONARY_USED && folder.fd >= 0) {
        /* The same content may have been given out by another rule. */
        kept = el_folder_find(&folder, hash, request, entry);
        reason = kept == EL_DICTIONARY_UNKNOWN ? reason : kept;
    }
    return reason;
}

el_dictionary_reason_t el_dictionaries_prepare(const uint8_t hash[EL_DICTIONARY_HASH],
                                               el_coding_t coding, int level,
                                               el_dictionary_t **dictionary)
{
    el_dictionary_bytes_t whole = {.hash = hash};
    const el_dictionary_file_t *file;
    uint8_t *bytes = NULL;

    *dictionary = el_dictionary_find(coding, level, hash);
    if (*dictionary) {
        return EL_DICTIONARY_USED;
    }
    file = el_site_file_of(ap_server_conf, NULL, hash);
    if (file) {
        whole.bytes = (const uint8_t *)file->bytes;
        whole.nbytes = file->nbytes;
    } else if (folder.fd >= 0) {
        whole.bytes = bytes = read_folder(hash, &whole.nbytes);
    }
    if (!whole.bytes) {
        return EL_DICTIONARY_UNKNOWN;
    }
    *dictionary = el_dictionary_prepare(coding, level, &whole);
    free(bytes);
    return *dictionary ? EL_DICTIONARY_USED : EL_DICTIONARY_UNPREPARED;
}
