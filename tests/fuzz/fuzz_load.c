#include "elastic/load.h"

#include "fuzz.h"

static el_load_sample_t before, after, cut;

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

    for (unsigned i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++) {
        double busy = -1;

        if (el_load_busy(one, two, mask, ticks[i], &busy)) {
            MUST(busy >= 0 && busy <= 1);
            MUST(one->summed == two->summed);
        } else {
            MUST(busy < 0);
        }
    }
}

/* A text that goes on takes no row back. */
static void check_cut(const char *text, size_t size)
{
    check_sample(el_load_parse(text, size, &cut), &cut);
    MUST(cut.summed || cut.count <= after.count);
}

/* The input is two texts around a zero byte, or one that is compared with itself. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_string(data, size);
    size_t first = strlen(text);
    const char *second = first < size ? text + first + 1 : text;
    size_t second_size = first < size ? size - first - 1 : size;
    el_cpuset_t even = {{UINT64_C(0x5555555555555555)}};

    check_sample(el_load_parse(text, first, &before), &before);
    check_sample(el_load_parse(second, second_size, &after), &after);
    check_busy(&before, &after, NULL);
    check_busy(&after, &before, NULL);
    check_busy(&before, &after, &even);
    check_busy(&before, &before, NULL);
    check_cut(second, second_size / 2);
    free(text);
    return 0;
}
