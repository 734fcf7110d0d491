/*
 * Regret: without the module's choice, an operator pins one setup for all loads. Pages queue for
 * one CPU, and the time until a page has arrived is compared with that of the best pinned setup of
 * each regime, which no one knows beforehand. The module's own code follows the load and learns
 * costs.
 */
#include "elastic/ladder.h"
#include "sim.h"

/* Pages of 12, 40 and 120 KB, and their shares in mixed regimes. */
#define PAGES 3

static const double kbytes[PAGES] = {12, 40, 120}, shares[PAGES] = {0.40, 0.35, 0.25};

/*
 * Costs in the engines' tables for each page's size class, and costs measured for php-fpm's pages
 * in httpd: CPU time of a response beyond that of an uncompressed one, and its bytes.
 */
typedef struct {
    el_coding_t coding;
    int level;
    el_cost_t known[2]; /* of pages of 12 KB, and of larger ones */
    struct {
        double usec, bytes;
    } real[PAGES];
} setup_t;

static const setup_t setups[] = {
    {EL_GZIP, 1, {{1642, 3042}, {1372, 2646}}, {{58, 5128}, {110, 14720}, {156, 41704}}},
    {EL_GZIP, 2, {{1726, 3026}, {1488, 2611}}, {{62, 5104}, {118, 14466}, {175, 40653}}},
    {EL_GZIP, 3, {{2349, 2929}, {2085, 2476}}, {{75, 4993}, {150, 13974}, {290, 38655}}},
    {EL_GZIP, 4, {{4925, 2780}, {6226, 2321}}, {{139, 4869}, {334, 13399}, {800, 36616}}},
    {EL_GZIP, 5, {{6053, 2737}, {8649, 2243}}, {{158, 4804}, {420, 13124}, {1136, 35555}}},
    {EL_GZIP, 6, {{6053, 2737}, {10740, 2211}}, {{162, 4796}, {515, 12976}, {1366, 35187}}},
    {EL_ZSTD, 1, {{1978, 2968}, {2422, 2487}}, {{73, 5079}, {170, 14570}, {237, 36398}}},
    {EL_ZSTD, 2, {{2383, 2995}, {2461, 2457}}, {{76, 5099}, {180, 14212}, {274, 34989}}},
    {EL_ZSTD, 3, {{2475, 2871}, {3028, 2341}}, {{88, 4977}, {215, 13797}, {361, 33179}}},
    {EL_ZSTD, 4, {{4649, 2748}, {2788, 2343}}, {{133, 4894}, {230, 13784}, {391, 33183}}},
    {EL_ZSTD, 5, {{6590, 2724}, {6182, 2235}}, {{174, 4805}, {390, 13374}, {732, 32237}}},
    {EL_ZSTD, 6, {{9882, 2702}, {8738, 2175}}, {{238, 4774}, {510, 13044}, {1101, 31308}}},
    {EL_BR, 0, {{2088, 3201}, {1787, 2661}}, {{73, 5435}, {143, 15339}, {215, 38512}}},
    {EL_BR, 1, {{2991, 3185}, {2917, 2538}}, {{88, 5385}, {185, 14629}, {318, 35806}}},
    {EL_BR, 2, {{5267, 2920}, {5695, 2362}}, {{118, 5144}, {300, 13944}, {669, 33826}}},
    {EL_BR, 3, {{7013, 2863}, {6891, 2314}}, {{158, 4994}, {360, 13644}, {801, 33252}}},
    {EL_BR, 4, {{12276, 2735}, {10869, 2227}}, {{258, 4734}, {590, 12994}, {1373, 31939}}},
    {EL_BR, 5, {{16796, 2538}, {15970, 2065}}, {{379, 4418}, {913, 12237}, {2136, 29997}}},
    {EL_BR, 6, {{17510, 2528}, {16987, 2044}}, {{398, 4394}, {960, 12144}, {2306, 29644}}},
};
#define SETUPS ROWS(setups)

/* CPU time of sending a byte. The measured time of the encoder does not contain this saving. */
#define USEC_PER_BYTE 0.0012

typedef struct {
    double rate;   /* of the clients' connections, bits a second */
    double load;   /* share of the CPU used for making pages */
    double making; /* CPU seconds to make a page of 120 KB; smaller ones take less */
    bool mixed;    /* pages of all lengths */
    bool gzip;     /* clients accept only gzip */
    double turns;  /* seconds of another process's turns, at half of the CPU; 0: none */
    double day;    /* seconds in which the load goes from a sixteenth to `load` and back; 0: steady */
} regime_t;

/* Seconds of a run, and of its uncounted beginning. */
#define SECONDS 110
#define WARM_UP 20.

#define RESPONSES_MOST 400000

#define SLOTS (SECONDS * 20)

/* The module's constants: slots between samples, responses between those measured and tried. */
#define INTERVAL 5
#define MEASURED_EVERY 16
#define TRIED_EVERY 64

/* Start of the clock of learned costs, in seconds. */
#define EPOCH 1000

typedef struct {
    const regime_t *regime;
    uint64_t seed;
    double free; /* time at which the CPU becomes free */
    double busy[SLOTS]; /* CPU seconds used in each slot */
    sampler_t sampler;
    el_costs_t costs;
    el_rung_t rungs[PAGES][SETUPS];
    size_t count[PAGES], built;
    unsigned responses;
    double total[RESPONSES_MOST];
} run_t;

typedef struct {
    double mean, p95, bytes; /* infinite if the CPU is overloaded */
} result_t;

static bool is_used(const regime_t *regime, const setup_t *setup)
{
    return !regime->gzip || setup->coding == EL_GZIP;
}

static double making(const regime_t *regime, int page)
{
    return regime->making * (0.1 + 0.9 * kbytes[page] / 120);
}

/* CPU seconds of the mean page; `setup` NULL: uncompressed. */
static double mean_work(const regime_t *regime, const setup_t *setup)
{
    double mean = 0;

    for (int page = 0; page < PAGES; page++) {
        double share = regime->mixed ? shares[page] : page == PAGES - 1;

        mean += share * (making(regime, page) + (setup ? setup->real[page].usec / 1e6 : 0));
    }
    return mean;
}

static bool other_runs(const regime_t *regime, double at)
{
    return regime->turns > 0 && fmod(at / regime->turns, 2) < 1;
}

/* Adds `work` from `at` on to the slots that it spans, and returns the time of its end. */
static double done(run_t *run, double at, double work)
{
    const regime_t *regime = run->regime;
    double turn = regime->turns > 0 ? regime->turns : INFINITY;

    while (work > 1e-9) {
        double speed = other_runs(regime, at + 1e-9) ? 0.5 : 1;
        size_t slot = (size_t)((at + 1e-9) / SLOT);
        double next = fmin((double)(slot + 1) * SLOT,
                           turn < INFINITY ? (floor((at + 1e-9) / turn) + 1) * turn : INFINITY);
        double part = fmin(work, (next - at) * speed);

        if (slot < SLOTS) {
            run->busy[slot] += part / speed;
        }
        work -= part;
        at += part / speed;
    }
    return at;
}

/* Takes the samples due until `now`. */
static void sample(run_t *run, double now)
{
    while ((double)run->sampler.due * SLOT <= now && run->sampler.due < SLOTS) {
        double seconds = (double)(run->sampler.due - run->sampler.sampled) * SLOT, busy = 0;

        for (size_t slot = run->sampler.sampled; slot < run->sampler.due; slot++) {
            double middle = ((double)slot + 0.5) * SLOT;

            /* If turns are shorter than a slot, the other process has half of the slot. */
            busy += run->regime->turns > SLOT / 2
                        ? (other_runs(run->regime, middle) ? SLOT : run->busy[slot])
                        : run->regime->turns > 0 ? SLOT / 2 + run->busy[slot] / 2
                                                 : run->busy[slot];
        }
        sampler_take(&run->sampler, fmin(1, busy / seconds), 1, seconds);
    }
}

static el_cost_key_t key_of(const setup_t *setup, int page)
{
    return (el_cost_key_t){setup->coding, setup->level,
                           el_cost_class((uint64_t)(kbytes[page] * 1024))};
}

static el_cost_t known_of(const setup_t *setup, int page)
{
    return el_cost_in_server(setup->known[page > 0], (uint64_t)(kbytes[page] * 1024));
}

static el_cost_t expected(const run_t *run, const setup_t *setup, int page, uint32_t second)
{
    return el_cost_expect(&run->costs, key_of(setup, page), known_of(setup, page), second);
}

/* Learns from a body. Bodies vary, and one in fifty takes eight times as long. */
static void measure(run_t *run, const setup_t *setup, int page, uint32_t second)
{
    double in = kbytes[page] * 1024, out = setup->real[page].bytes;
    double usec = setup->real[page].usec + USEC_PER_BYTE * (in - out);
    double slow = exp2(0.2 * sim_normal(&run->seed) + (sim_even(&run->seed) < 0.02 ? 3 : 0));
    el_cost_t took = {
        (uint32_t)(1e3 * usec / kbytes[page] * slow),
        (uint32_t)(1e4 * out / in * exp2(0.1 * sim_normal(&run->seed))),
    };

    el_cost_update(&run->costs, key_of(setup, page), known_of(setup, page), took, second);
}

static void build(run_t *run, uint32_t second)
{
    for (int page = 0; page < PAGES; page++) {
        size_t count = 0;

        for (size_t i = 0; i < SETUPS; i++) {
            if (is_used(run->regime, &setups[i])) {
                run->rungs[page][count++] = (el_rung_t){
                    setups[i].coding, setups[i].level, expected(run, &setups[i], page, second)};
            }
        }
        run->count[page] = el_ladder_build(run->rungs[page], count);
    }
    run->built = second;
}

static const setup_t *setup_of(const el_rung_t *rung)
{
    const setup_t *setup = setups;

    while (setup->coding != rung->coding || setup->level != rung->level) {
        setup++;
    }
    return setup;
}

/* A setup to measure instead of `used`. */
static const setup_t *trial(run_t *run, const setup_t *used, int page, uint32_t second)
{
    el_rung_t rungs[SETUPS];
    uint32_t ages[SETUPS];
    size_t count = 0;
    const el_rung_t *tried;

    for (size_t i = 0; i < SETUPS; i++) {
        if (is_used(run->regime, &setups[i])) {
            ages[count] = &setups[i] == used
                              ? 0 : el_cost_age(&run->costs, key_of(&setups[i], page), second);
            rungs[count++] = (el_rung_t){setups[i].coding, setups[i].level,
                                         expected(run, &setups[i], page, second)};
        }
    }
    tried = el_ladder_trial(rungs, ages, count, expected(run, used, page, second), run->sampler.price);
    return tried ? setup_of(tried) : NULL;
}

static const setup_t *choose(run_t *run, int page, double now)
{
    uint32_t second = EPOCH + (uint32_t)now;
    const setup_t *setup, *tried = NULL;

    if (second != run->built) {
        build(run, second);
    }
    setup = setup_of(el_ladder_rung(run->rungs[page], run->count[page], run->sampler.price));
    if (++run->responses % TRIED_EVERY == 0) {
        tried = trial(run, setup, page, second);
    }
    setup = tried ? tried : setup;
    if (tried || run->responses % MEASURED_EVERY == 1) {
        measure(run, setup, page, second);
    }
    return setup;
}

/* The CPU must suffice even during another process's turn. */
static bool is_overloaded(const regime_t *regime, const setup_t *setup)
{
    double rate = regime->load / mean_work(regime, NULL);
    double capacity = regime->turns > SLOT ? 0.5 : regime->turns > 0 ? 0.75 : 1;

    return rate * mean_work(regime, setup) > 0.95 * capacity;
}

/* The share of the peak's arrivals. */
static double share_at(const regime_t *regime, double at)
{
    double part = regime->day > 0 ? fabs(fmod(at / regime->day, 1) * 2 - 1) : 0;

    return 1 - part * 15 / 16;
}

/* Runs a regime with one setup; NULL: with the module's choice. */
static result_t serve(const regime_t *regime, const setup_t *fixed)
{
    static run_t run;
    double rate = regime->load / mean_work(regime, NULL), now = 0, sum = 0, bytes = 0;
    size_t count = 0;

    if (fixed && (!is_used(regime, fixed) || is_overloaded(regime, fixed))) {
        return (result_t){INFINITY, INFINITY, INFINITY};
    }
    memset((void *)&run, 0, sizeof(run));
    run.regime = regime;
    run.seed = 7;
    run.sampler = sampler_new(regime->rate, INTERVAL);
    while (now < SECONDS && count < RESPONSES_MOST) {
        const setup_t *setup = fixed;
        double draw, start;
        int page;

        now -= log(sim_even(&run.seed)) / (rate * share_at(regime, now));
        draw = sim_even(&run.seed);
        page = !regime->mixed ? 2 : draw < shares[0] ? 0 : draw < shares[0] + shares[1] ? 1 : 2;
        start = fmax(now, run.free);
        if (!fixed) {
            sample(&run, start);
            sampler_count(&run.sampler, start);
            setup = choose(&run, page, start);
        }
        run.free = done(&run, start, making(regime, page) + setup->real[page].usec / 1e6);
        if (now >= WARM_UP) {
            run.total[count] = run.free - now + 8 * setup->real[page].bytes / regime->rate;
            sum += run.total[count++];
            bytes += setup->real[page].bytes;
        }
    }
    qsort(run.total, count, sizeof(run.total[0]), sim_compare);
    return (result_t){sum / (double)count, run.total[(size_t)(0.95 * (double)count)],
                      bytes / (double)count};
}

/* One setup or the default, over the regimes in which it is not overloaded. */
typedef struct {
    double mean, p95, bytes; /* worst ratio to the best pinned setup */
    double sum;              /* of the mean ratios */
    unsigned regimes, overloaded;
} regret_t;

static void add(regret_t *regret, result_t got, result_t best)
{
    if (isinf(got.mean)) {
        regret->overloaded++;
        return;
    }
    regret->mean = fmax(regret->mean, got.mean / best.mean);
    regret->p95 = fmax(regret->p95, got.p95 / best.p95);
    regret->bytes = fmax(regret->bytes, got.bytes / best.bytes);
    regret->sum += got.mean / best.mean;
    regret->regimes++;
}

/* Computes the regret of each pinned setup and, as the last, of the default. */
static void regrets(bool gzip, double turns, double day, regret_t *legs)
{
    static const double rates[] = {5e6, 20e6, 100e6}, loads[] = {0.1, 0.3, 0.5, 0.7};
    static const double makings[] = {0.0008, 0.002, 0.004};

    memset(legs, 0, (SETUPS + 1) * sizeof(*legs));
    for (size_t n = 0; n < 2 * ROWS(makings) * ROWS(rates) * ROWS(loads); n++) {
        regime_t regime = {
            .rate = rates[n % 3], .load = loads[n / 3 % 4], .making = makings[n / 12 % 3],
            .mixed = n / 36, .gzip = gzip, .turns = turns, .day = day,
        };
        result_t got[SETUPS + 1], best = {INFINITY, INFINITY, INFINITY};

        for (size_t i = 0; i < SETUPS; i++) {
            got[i] = serve(&regime, &setups[i]);
            best.bytes = got[i].mean < best.mean ? got[i].bytes : best.bytes;
            best.mean = fmin(best.mean, got[i].mean);
            best.p95 = fmin(best.p95, got[i].p95);
        }
        if (!isinf(best.mean)) {
            got[SETUPS] = serve(&regime, NULL);
            for (size_t i = 0; i <= SETUPS; i++) {
                add(&legs[i], got[i], best);
            }
        }
    }
}

static const struct {
    const char *label;
    bool gzip;
    double turns, day;
    double mean, p95; /* bounds of the default's worst ratios */
} kinds[] = {
    {"clients of all codings", false, 0, 0, 1.07, 1.12},
    {"clients of gzip", true, 0, 0, 1.03, 1.06},
    {"all codings, another process in turns of 10 ms", false, 0.01, 0, 1.16, 1.17},
    {"all codings, another process in turns of 2 s", false, 2, 0, 1.12, 1.27},
    {"gzip, another process in turns of 2 s", true, 2, 0, 1.07, 1.16},
    {"all codings, a day of 14 s", false, 0, 14, 1.08, 1.36},
};

/* With CK_VERBOSITY=verbose: each setup that some regime had, and the default as the last. */
static void print_table(const char *label, const regret_t *legs)
{
    const char *verbosity = getenv("CK_VERBOSITY");

    if (!verbosity || strcmp(verbosity, "verbose") != 0) {
        return;
    }
    printf("%s\n%-8s %6s %6s %6s %6s %8s %10s\n", label, "", "worst", "mean", "p95", "bytes",
           "regimes", "overloaded");
    for (size_t i = 0; i <= SETUPS; i++) {
        char name[16] = "default";

        if (i < SETUPS) {
            snprintf(name, sizeof(name), "%s %d", el_coding_info(setups[i].coding)->token,
                     setups[i].level);
        }
        if (legs[i].regimes > 0) {
            printf("%-8s %6.3f %6.3f %6.3f %6.3f %8u %10u\n", name, legs[i].mean,
                   legs[i].sum / legs[i].regimes, legs[i].p95, legs[i].bytes, legs[i].regimes,
                   legs[i].overloaded);
        }
    }
}

CASE(regret, .timeout = 120, .tags = "long");

EACH(regret, the_default_is_near_the_best_pinned_setup_of_each_regime, kinds)
{
    regret_t legs[SETUPS + 1];
    const regret_t *own = &legs[SETUPS];

    regrets(row->gzip, row->turns, row->day, legs);
    print_table(row->label, legs);
    ck_assert_msg(own->mean <= row->mean && own->p95 <= row->p95, "%s: %.3f, p95 %.3f",
                  row->label, own->mean, own->p95);
    /* No pinned setup does as well in all regimes. */
    for (size_t i = 0; i < SETUPS; i++) {
        ck_assert_msg(legs[i].regimes < own->regimes || legs[i].mean > own->mean + 0.03,
                      "%s: setup %zu %.3f, default %.3f", row->label, i, legs[i].mean, own->mean);
    }
}
