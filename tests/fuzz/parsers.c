/*
 * The targets that need nothing of httpd. TARGET(name) { ... } gets the input, and the same as a
 * string in memory of exactly its size; scripts/lib/fuzz makes a program of each.
 */
#include "fuzz.h"

#include "elastic/control.h"
#include "elastic/cost.h"
#include "elastic/dictionary.h"
#include "elastic/engine.h"
#include "elastic/entry.h"
#include "elastic/etag.h"
#include "elastic/http.h"
#include "elastic/load.h"
#include "elastic/price.h"
#include "engines/engines.h"

#include <math.h>

#define TARGET(name) void fuzz_##name(const uint8_t *data, size_t size, const char *text)

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* One of the targets, by the linker. */
void fuzz_target(const uint8_t *data, size_t size, const char *text);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_string(data, size);

    /* libFuzzer's empty input has no address. */
    fuzz_target(size > 0 ? data : (const uint8_t *)text, size, text);
    free(text);
    return 0;
}

/* The second of two texts around a zero byte; the first again if there is none. */
static const char *second_of(const char *text, size_t size)
{
    size_t first = strlen(text);

    return first < size ? text + first + 1 : text;
}

/* Memory of exactly `nbytes`. */
static void *room_of(size_t nbytes)
{
    void *room = malloc(nbytes);

    MUST(room != NULL);
    return room;
}

/* --- Accept-Encoding */

/* Writes weights the plain way, thousandths of each coding by name; returns the length. */
static size_t write_weights(const el_accept_t *a, char *line, size_t size)
{
    static const char *const names[EL_ALL_CODINGS] = {"identity", "gzip", "br", "zstd", "dcb",
                                                      "dcz"};
    size_t len = 0;

    for (int i = 0; i < EL_ALL_CODINGS; i++) {
        unsigned thousandths = a->q[i] / 2u;

        len += (size_t)snprintf(line + len, size - len, "%s%s;q=%u.%03u", i > 0 ? ", " : "",
                                names[i], thousandths / 1000, thousandths % 1000);
    }
    return len;
}

TARGET(accept)
{
    static const el_coding_t order[] = {EL_BR, EL_GZIP, EL_ZSTD};
    el_accept_t a, again;
    el_coding_t chosen;
    char line[160], *twice;

    el_accept_parse((const char *)data, size, &a);
    for (int i = 0; i < EL_ALL_CODINGS; i++) {
        MUST(a.q[i] <= EL_Q_ONE);
        MUST(a.q[i] % 2 == 0 || (i == EL_IDENTITY && a.q[i] == EL_Q_UNLISTED_IDENTITY));
        MUST(el_accept_takes(&a, (el_coding_t)i) == (a.q[i] > 0));
    }
    chosen = el_accept_choose(&a, order, 3);
    for (int i = 0; i < 3 && chosen != EL_IDENTITY; i++) {
        MUST(a.q[chosen] > 0 && a.q[chosen] >= a.q[EL_IDENTITY]);
        MUST(a.q[chosen] >= a.q[order[i]]);
    }
    /* What was read, written out again, is read the same. */
    if (a.q[EL_IDENTITY] != EL_Q_UNLISTED_IDENTITY) {
        el_accept_parse(line, write_weights(&a, line, sizeof(line)), &again);
        MUST(memcmp(&a, &again, sizeof(a)) == 0);
    }
    /* First mentions count, so the same list once more behind itself changes nothing. */
    if (memchr(data, '"', size) == NULL) {
        twice = room_of(2 * size + 1);
        memcpy(twice, data, size);
        twice[size] = ',';
        memcpy(twice + size + 1, data, size);
        el_accept_parse(twice, 2 * size + 1, &again);
        MUST(memcmp(&a, &again, sizeof(a)) == 0);
        free(twice);
    }
}

/* --- other fields of HTTP */

/* A refusal at the end of a list counts, unless a quote is open; it takes no other one away. */
TARGET(cache_control)
{
    el_cache_control_t control = el_cache_control_parse(text), more;
    char *longer = room_of(size + 16);

    MUST(control.has_max_age || control.max_age == 0);
    sprintf(longer, "%s,private", text);
    more = el_cache_control_parse(longer);
    MUST(more.only_mine || strchr(text, '"'));
    MUST(more.no_store >= control.no_store && more.no_cache >= control.no_cache);
    free(longer);
}

/* Codings come off the end of the list, each within what is left of it, until nothing is left. */
TARGET(encoding)
{
    size_t len = strlen(text), before = len + 1, name_len;
    const char *name;

    while (el_encoding_pop(text, &len, &name, &name_len)) {
        MUST(len < before);
        before = len;
        MUST(name >= text + len && name + name_len <= text + strlen(text));
        MUST(name_len > 0);
        el_coding_find(name, name_len);
    }
}

static bool mediatype_matches(const el_mediatype_t *pattern, const char *value)
{
    el_mediatype_t type;

    return el_mediatype_read(value, &type) && el_mediatype_match(pattern, &type);
}

/* A pattern and a type. A pattern without a star matches itself, with parameters too. */
TARGET(mediatype)
{
    const char *value = second_of(text, size);
    el_mediatype_t pattern, type;
    bool readable = el_mediatype_read(value, &type), listed = false;

    if (el_mediatype_pattern(text, &pattern)) {
        MUST(strchr(text, '/') != NULL && strpbrk(text, " \t;,\"") == NULL);
        MUST(readable || !mediatype_matches(&pattern, value));
        if (strchr(text, '*') == NULL) {
            char *with = room_of(size + 8);

            sprintf(with, "%s; q=\"x\"", text);
            MUST(mediatype_matches(&pattern, text) && mediatype_matches(&pattern, with));
            free(with);
        }
    }
    MUST(el_mediatype_pattern("*/*", &pattern));
    MUST(mediatype_matches(&pattern, value) == readable);
    for (size_t i = 0; readable && i < el_mediatype_defaults_count; i++) {
        listed = listed || el_mediatype_match(&el_mediatype_defaults[i], &type);
    }
    MUST(listed == el_mediatype_is_default(value));
    MUST(!el_mediatype_read(NULL, &type));
}

/* What was read as a string is written as the same string. */
TARGET(structured)
{
    char *string = room_of(size + 1), *written, *again;
    uint8_t bytes[32];

    MUST(!el_structured_bytes(text, bytes, sizeof(bytes))
         || strlen(text) >= sizeof(bytes) * 4 / 3);
    if (el_structured_string(text, string, size + 1)) {
        el_structured_writer_t writer;

        MUST(el_structured_can_hold(string));
        written = room_of(2 * size + 8);
        writer = el_structured_begin(written, 2 * size + 8);
        el_structured_add_string(&writer, "k", string);
        MUST(!writer.short_of_room && strncmp(written, "k=", 2) == 0);
        again = room_of(size + 1);
        MUST(el_structured_string(written + 2, again, size + 1));
        MUST(strcmp(string, again) == 0);
        free(again);
        free(written);
    } else {
        MUST(string[0] == '\0');
    }
    free(string);
}

/* --- entity tags */

/* The rule of an `accept`, and what else is set of it. */
#define RULE(...) (&(const el_etag_rule_t){.accept = __VA_ARGS__})

static void check_tag(const el_etag_t *tag, const char *list, size_t size)
{
    size_t prefix = tag->weak ? 2 : 0, base = 0;

    MUST(tag->text >= list && tag->text + tag->len <= list + size);
    MUST(tag->len >= prefix + 2);
    MUST(tag->text[prefix] == '"' && tag->text[tag->len - 1] == '"');
    MUST(memchr(tag->text + prefix + 1, '"', tag->len - prefix - 2) == NULL);
    if (el_etag_coding(tag, &base) != EL_IDENTITY) {
        MUST(base >= 1 && base < tag->len - prefix);
    }
}

/* Every tag of the list is there; the cursor always moves on. */
static void check_list(const char *list, size_t size)
{
    const char *cursor = list, *last = list;
    el_etag_t tag;

    while (el_etag_next(&cursor, &tag)) {
        MUST(cursor > last && cursor <= list + size);
        check_tag(&tag, list, size);
        last = cursor;
    }
    MUST(*cursor == '\0');
}

/*
 * The bases fit, with those of what INFLATE decoded behind them. They are a list of weak tags, or
 * for If-Match of strong ones, and each names the member that it was made from.
 */
static void check_bases(const char *list, size_t size, const el_accept_t *accept, bool strong)
{
    size_t room = (strong ? 2 : 3) * size + 1, plain, all;
    char *bases = room_of(room), small[40];
    const char *cursor = bases;
    el_etag_t tag, named;

    plain = el_etag_bases(list, RULE(accept, .strong = strong), bases, room);
    MUST(plain < 2 * size + 1 && strlen(bases) == plain);
    all = plain + el_etag_bases(list, RULE(accept, .decoded = true, .strong = strong),
                                bases + plain, room - plain);
    MUST(all < room);
    while (el_etag_next(&cursor, &tag)) {
        char *identity = fuzz_string((const uint8_t *)tag.text, tag.len);
        size_t prefix = strong ? 1 : 3;
        bool decoded = tag.text >= bases + plain;

        MUST(tag.weak == !strong && el_etag_is_made(tag.text + prefix, tag.len - prefix - 1));
        MUST(el_etag_named(list, identity, RULE(accept, .decoded = decoded), &named));
        free(identity);
    }
    for (size_t tight = 0; tight < sizeof(small) && tight < plain; tight++) {
        MUST(el_etag_bases(list, RULE(accept, .strong = strong), small, tight)
             < (tight > 0 ? tight : 1));
    }
    free(bases);
}

/* Whatever WebDAV's If speaks of lies in it, and it comes to an end. */
static void check_states(const char *field, size_t size)
{
    el_etag_state_t state = {.at = field};
    const char *last = field;

    while (el_etag_next_state(&state)) {
        MUST(state.at > last && state.at <= field + size);
        check_tag(&state.tag, last, (size_t)(state.at - last));
        MUST(state.uri == NULL
             || (state.uri > field && state.uri + state.uri_len < field + size));
        last = state.at;
    }
    MUST(state.at <= field + size);
}

/* A tag that is encoded is still one tag, and names its identity. */
static void check_encode(const char *tag, size_t size, const el_accept_t *accept)
{
    el_etag_t first, named;
    const char *cursor = tag;
    bool is_tag = el_etag_next(&cursor, &first) && first.text == tag && *cursor == '\0';

    for (int mode = EL_ETAG_WEAK; mode <= EL_ETAG_REMOVE; mode++) {
        for (int coding = EL_GZIP; coding < EL_ALL_CODINGS; coding++) {
            char *out = room_of(size + EL_ETAG_GROWTH);
            bool kept = el_etag_encode(tag, (el_etag_mode_t)mode, (el_coding_t)coding, out,
                                       size + EL_ETAG_GROWTH);

            MUST(kept == (mode != EL_ETAG_REMOVE));
            MUST(strlen(out) < size + EL_ETAG_GROWTH);
            MUST(!kept || !is_tag || el_etag_named(out, tag, RULE(accept), &named));
            free(out);
        }
    }
}

/* The first byte chooses what the request accepts. */
TARGET(etag)
{
    static const char *const accepts[] = {"*", "gzip", "br, zstd;q=0", ""};
    const char *line = accepts[size > 0 ? data[0] % 4 : 0], *list = size > 0 ? text + 1 : text;
    size_t len = strlen(list);
    el_accept_t accept, all;

    el_accept_parse(line, strlen(line), &accept);
    el_accept_parse("*, dcb, dcz", 11, &all);
    check_list(list, len);
    check_states(list, len);
    check_bases(list, len, &accept, false);
    check_bases(list, len, &accept, true);
    check_encode(list, len, &all);
}

/* --- dictionaries */

/* What was read is written as the same bytes, but for zeros before the time. */
TARGET(dictionary)
{
    static char written[EL_DICTIONARY_TEXT_MOST];
    el_dictionary_entry_t entry, again;
    size_t taken = el_dictionary_entry_parse(text, size, &entry);

    if (taken > 0) {
        size_t len = el_dictionary_entry_write(&entry, written);
        el_dictionary_request_t request = {entry.origin, entry.path, NULL, entry.id, 0};

        MUST(taken <= size && len < sizeof(written) && len <= taken);
        MUST(el_dictionary_entry_parse(written, len, &again) == len);
        MUST(el_dictionary_entry_same(&entry, &again));
        MUST(memcmp(&entry, &again, sizeof(entry)) == 0);
        el_dictionary_entry_fits(&entry, &request);
        el_dictionary_origin_secure(entry.origin);
    } else {
        MUST(entry.origin[0] == '\0' && entry.expires == 0);
    }
}

#define TARGET_MOST 1024

/* True if a target's path, or its query, matches the pattern's: by a table of all beginnings. */
static bool part_matches(const char *pattern, size_t pattern_len, const char *text, size_t len)
{
    static bool match[EL_MATCH_ROOM][TARGET_MOST + 1];

    for (size_t p = 0; p <= pattern_len; p++) {
        for (size_t t = 0; t <= len; t++) {
            if (p == 0) {
                match[p][t] = t == 0;
            } else if (pattern[p - 1] == '*') {
                match[p][t] = match[p - 1][t] || (t > 0 && match[p][t - 1]);
            } else {
                match[p][t] = t > 0 && pattern[p - 1] == text[t - 1] && match[p - 1][t - 1];
            }
        }
    }
    return match[pattern_len][len];
}

/* The same for a pattern that begins with a slash. */
static bool absolute_matches(const char *pattern, const char *target)
{
    size_t path = strcspn(pattern, "?"), target_path = strcspn(target, "?");
    const char *query = target + target_path + (target[target_path] == '?');

    return part_matches(pattern, path, target, target_path)
           && (pattern[path] == '\0' || part_matches(pattern + path + 1, strlen(pattern + path + 1),
                                                     query, strlen(query)));
}

/* A pattern, a NUL, the path of the dictionary, a NUL, and what was asked for. */
TARGET(dictionary_pattern)
{
    const char *end = text + size, *pattern = text, *path, *target = "/";

    path = pattern + strlen(pattern) < end ? pattern + strlen(pattern) + 1 : "/";
    if (path >= text && path <= end && path + strlen(path) < end) {
        target = path + strlen(path) + 1;
    }
    if (!el_dictionary_pattern_fault(pattern) && *path == '/') {
        bool matches = el_dictionary_pattern_match(pattern, path, target);

        MUST(!matches || el_dictionary_pattern_match(pattern, NULL, target));
        if (*pattern == '/' && strlen(target) <= TARGET_MOST) {
            MUST(matches == absolute_matches(pattern, target));
        }
    }
}

/* --- bodies */

/* More than any step may ask for at once, so that a body of a few bytes cannot run for long. */
#define OUT_MOST (1 << 20)

typedef struct {
    el_decode_t result; /* of the last step */
    uint32_t sum;       /* a hash of the body */
    size_t nbytes;      /* its length */
} decoded_t;

/*
 * Decodes with steps of at most `in_step` and `out_step` bytes. Each step keeps to its room, and
 * says what it has to say of it.
 */
static decoded_t decode(const el_decoder_t *decoder, const uint8_t *data, size_t size,
                        size_t in_step, size_t out_step)
{
    el_account_t account = {0};
    el_decoding_t *decoding = decoder->open(&account);
    decoded_t d = {EL_DECODE_NEED_INPUT, 2166136261u, 0};
    uint8_t *out = room_of(out_step);
    size_t taken = 0;
    bool goes_on = true; /* after an end, too: another member or frame may follow */

    MUST(decoding != NULL);
    while (d.nbytes < OUT_MOST && (d.result == EL_DECODE_FULL || (goes_on && taken < size))) {
        size_t most = size - taken < in_step ? size - taken : in_step, got;
        el_span_t span = {data + taken, most, out, out_step};

        d.result = decoder->step(decoding, &span);
        MUST(span.in_nbytes <= most && span.in == data + taken + most - span.in_nbytes);
        MUST(span.out_nbytes_avail <= out_step
             && span.out == out + out_step - span.out_nbytes_avail);
        MUST(d.result != EL_DECODE_NEED_INPUT || span.in_nbytes == 0);
        MUST(d.result != EL_DECODE_FULL || span.out_nbytes_avail == 0);
        goes_on = d.result == EL_DECODE_NEED_INPUT
                  || (d.result == EL_DECODE_ENDED && span.in_nbytes == 0);
        got = out_step - span.out_nbytes_avail;
        for (size_t i = 0; i < got; i++) {
            d.sum = (d.sum ^ out[i]) * 16777619u;
        }
        taken += most - span.in_nbytes;
        d.nbytes += got;
    }
    decoder->close(decoding);
    MUST(account.nbytes == 0);
    free(out);
    return d;
}

/* How the input is cut, and the output is, makes no difference. */
TARGET(decoder)
{
    for (int coding = EL_IDENTITY + 1; coding < EL_CODINGS; coding++) {
        const el_decoder_t *decoder = el_decoder_for((el_coding_t)coding);

        if (decoder != NULL) {
            decoded_t whole = decode(decoder, data, size, SIZE_MAX, 4096);
            decoded_t pieces = decode(decoder, data, size, 3, 64);

            if (whole.result == EL_DECODE_ENDED || pieces.result == EL_DECODE_ENDED) {
                MUST(whole.result == pieces.result && whole.sum == pieces.sum
                     && whole.nbytes == pieces.nbytes);
            }
        }
    }
}

static void check_entry(const el_name_t *name, const el_entry_t *got, const uint8_t *bytes,
                        size_t size)
{
    MUST(got->coding > EL_IDENTITY && got->coding < EL_CODINGS && got->coding == name->coding);
    MUST(got->level >= 0 && got->level < EL_COST_LEVELS);
    MUST(name->pinned == EL_NAME_ADAPTIVE || name->pinned == got->level);
    MUST(got->in > 0 && got->nbytes > 0);
    MUST(got->data == bytes + EL_ENTRY_HEAD && got->nbytes == size - EL_ENTRY_HEAD);
    MUST(memchr(got->engine, '\0', EL_ENTRY_ENGINE) != NULL && got->engine[0] != '\0');
}

/*
 * A checksum is what no fuzzer finds: what it made is read as it is; and its fields are written as
 * an entry, with a right one.
 */
TARGET(entry)
{
    el_name_t name;
    el_entry_t got, again;
    uint8_t *bytes, *copy;

    if (size < sizeof(name) + EL_ENTRY_HEAD + 1) {
        MUST(!el_entry_parse(&(el_name_t){.kind = EL_NAME_BODY}, data, size, &got));
        return;
    }
    memcpy(&name, data, sizeof(name));
    size -= sizeof(name);
    bytes = memcpy(room_of(size), data + sizeof(name), size);
    copy = room_of(size);
    if (el_entry_parse(&name, bytes, size, &got)) {
        check_entry(&name, &got, bytes, size);
        el_entry_write(&name, &got, copy);
        MUST(el_entry_parse(&name, copy, size, &again) && again.level == got.level);
    }
    again = (el_entry_t){.coding = (el_coding_t)(bytes[0] % EL_CODINGS), .level = bytes[1],
                         .in = bytes[2], .data = bytes + EL_ENTRY_HEAD,
                         .nbytes = size - EL_ENTRY_HEAD};
    name.coding = bytes[3];
    name.pinned = bytes[4];
    memcpy(again.engine, bytes + 5, sizeof(again.engine));
    el_entry_write(&name, &again, copy);
    if (el_entry_parse(&name, copy, size, &got)) {
        check_entry(&name, &got, copy, size);
        MUST(got.level == again.level && got.coding == again.coding && got.in == again.in);
        MUST(memcmp(got.data, again.data, got.nbytes) == 0);
    }
    free(copy);
    free(bytes);
}

/* --- the load and the controller */

static void check_folder(el_cgroup_text_t groups, el_cgroup_text_t mounts, const char *controller,
                         size_t room)
{
    static char folder[EL_CGROUP_PATH];
    size_t base = el_cgroup_folder(groups, mounts, controller, folder, room), len;

    if (base == 0) {
        return;
    }
    len = strlen(folder);
    MUST(len < room && base <= len);
    MUST(base == len || folder[base] == '/');
    MUST(strstr(folder + base, "/../") == NULL);
    while (el_cgroup_parent(folder, base)) {
        MUST(strlen(folder) < len && strlen(folder) >= base);
        len = strlen(folder);
    }
}

static void check_numbers(el_cgroup_text_t text)
{
    double cpus = -1;
    uint64_t usec;
    el_cpuset_t set;

    MUST(!el_cgroup_max(text.at, text.len, &cpus) || cpus >= 0);
    MUST(!el_cgroup_quota(text.at, text.len, text.at, text.len, &cpus) || cpus >= 0);
    MUST(!el_cgroup_cpus(text.at, text.len, &set) || el_cpuset_count(&set) <= EL_LOAD_CPUS);
    el_cgroup_usage(2, text.at, text.len, &usec);
    el_cgroup_usage(1, text.at, text.len, &usec);
}

/* The input is a file of groups and one of mounts. */
TARGET(cgroup)
{
    const char *second = second_of(text, size);
    el_cgroup_text_t groups = {text, strlen(text)};
    el_cgroup_text_t mounts = {second, (size_t)(text + size - second)};

    check_folder(groups, mounts, NULL, EL_CGROUP_PATH);
    check_folder(groups, mounts, "cpu", EL_CGROUP_PATH);
    check_folder(groups, mounts, "cpu", 16);
    check_numbers(groups);
    check_numbers(mounts);
}

static void check_sample(bool good, const el_load_sample_t *sample)
{
    MUST(good == (sample->count > 0));
    MUST(sample->count <= EL_LOAD_CPUS);
    MUST(!sample->summed || sample->count == 1);
    for (unsigned i = sample->count; i < EL_LOAD_CPUS; i++) {
        MUST(sample->cpu[i].busy == 0 && sample->cpu[i].idle == 0 && sample->cpu[i].iowait == 0);
    }
}

static void check_busy(const el_load_sample_t *one, const el_load_sample_t *two,
                       const el_cpuset_t *mask)
{
    static const double ticks[] = {0, 1, 50, 1e9};

    for (size_t i = 0; i < COUNT(ticks); i++) {
        double busy = -1;

        if (el_load_busy(one, two, mask, ticks[i], &busy)) {
            MUST(busy >= 0 && busy <= 1);
            MUST(one->summed == two->summed);
        } else {
            MUST(busy < 0);
        }
    }
}

/* The input is two texts, or one that is compared with itself. */
TARGET(load)
{
    static el_load_sample_t before, after, cut;
    const char *second = second_of(text, size);
    size_t second_size = (size_t)(text + size - second);
    el_cpuset_t even = {{UINT64_C(0x5555555555555555)}};

    check_sample(el_load_parse(text, strlen(text), &before), &before);
    check_sample(el_load_parse(second, second_size, &after), &after);
    check_busy(&before, &after, NULL);
    check_busy(&after, &before, NULL);
    check_busy(&before, &after, &even);
    check_busy(&before, &before, NULL);
    /* A text that goes on takes no row back. */
    check_sample(el_load_parse(second, second_size / 2, &cut), &cut);
    MUST(cut.summed || cut.count <= after.count);
}

TARGET(goal)
{
    el_goal_t goal = {.kind = EL_GOAL_CPU, .per_core_hour = -1, .per_gbyte = -1};

    if (!el_goal_parse(text, size, &goal)) {
        MUST(goal.per_core_hour == -1 && goal.per_gbyte == -1);
        return;
    }
    MUST(goal.kind == EL_GOAL_CPU
         || (el_goal_worth(&goal) >= 0 && isfinite(el_goal_worth(&goal))));
    if (goal.kind == EL_GOAL_TIME) {
        MUST(goal.rate > 0 && isfinite(goal.rate));
        MUST(goal.least > 0 && goal.least <= goal.most);
    } else if (goal.kind == EL_GOAL_COST) {
        MUST(goal.per_core_hour >= 0 && goal.per_gbyte >= 0);
        MUST(goal.per_core_hour + goal.per_gbyte > 0 && isfinite(goal.per_core_hour));
    } else {
        MUST(goal.kind == EL_GOAL_CPU);
    }
}

static void check_position(const el_position_t *got)
{
    el_control_state_t scaled = el_position_scale(got->control, 8);

    MUST(got->control.position <= got->control.top);
    MUST(got->interval_msec > 0 && got->updated_usec > 0);
    MUST(scaled.top == 8 && scaled.position <= 8);
    MUST(scaled.position < 8 || scaled.fraction == 0);
}

/* A checksum is what no fuzzer finds: the fields are taken from the input and written right. */
TARGET(position)
{
    static el_position_t position;
    static uint8_t bytes[EL_POSITION_SIZE];
    el_position_t made = {.pid = 0};
    el_position_verdict_t verdict;

    if (el_position_decode(data, size, UINT64_C(1) << 40, &position) >= EL_POSITION_STOPPED) {
        check_position(&position);
    }
    if (size < sizeof(made.updated_usec) * 3 + 8) {
        return;
    }
    memcpy(&made.updated_usec, data, 8);
    memcpy(&made.samples, data + 8, 8);
    memcpy(&made.control.fraction, data + 16, 2);
    made.control.position = data[18] | (unsigned)data[19] << 8;
    made.control.top = data[20] | (unsigned)data[21] << 8;
    made.interval_msec = data[22] | (uint32_t)data[23] << 24;
    made.control.bypass = (data[24] & 1) != 0;
    made.stopped = (data[24] & 2) != 0;
    el_position_encode(&made, bytes);
    verdict = el_position_decode(bytes, sizeof(bytes), UINT64_C(1) << 40, &position);
    MUST(verdict != EL_POSITION_SHORT && verdict != EL_POSITION_FOREIGN);
    if (verdict != EL_POSITION_DAMAGED) {
        check_position(&position);
        MUST(position.control.position == made.control.position);
        MUST(position.control.fraction == made.control.fraction);
        MUST(position.updated_usec == made.updated_usec && position.stopped == made.stopped);
        MUST((verdict == EL_POSITION_STOPPED) == made.stopped);
    }
}
