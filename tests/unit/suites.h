/*
 * The unit tests. CASE() defines a case with its fixture; each test adds itself to a case. Each
 * case is a suite of libcheck, so CK_RUN_SUITE selects it by name.
 */
#ifndef ELASTIC_TESTS_SUITES_H
#define ELASTIC_TESTS_SUITES_H

#include <check.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name;
    SFun set_up, tear_down; /* NULL: none */
    void *zeroed;           /* a variable of `nbytes` that is zeroed before each test */
    size_t nbytes;
    double timeout;         /* seconds; 0: CK_DEFAULT_TIMEOUT */
    /*
     * NULL: none. "threads": they race, also under ThreadSanitizer; "native": uses kernel features
     * that process emulators lack; "long": not for each push.
     */
    const char *tags;
    TCase *tcase;           /* set by the first test */
} case_t;

/* libcheck's case, created with the first test. */
TCase *case_of(case_t *of);

/* CASE(name, .set_up = ...); */
#define CASE(case, ...) static case_t case##_case = {.name = #case, __VA_ARGS__}

#define ZEROED(variable) .zeroed = &(variable), .nbytes = sizeof(variable)

#define ADD_TEST(case, test, count, call)                                                          \
    START_TEST(test)                                                                               \
    {                                                                                              \
        if (case##_case.zeroed) {                                                                  \
            memset(case##_case.zeroed, 0, case##_case.nbytes);                                     \
        }                                                                                          \
        call;                                                                                      \
    }                                                                                              \
    END_TEST                                                                                       \
    __attribute__((constructor)) static void test##_add(void)                                      \
    {                                                                                              \
        tcase_add_loop_test(case_of(&case##_case), test, 0, count);                                \
    }

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

/* TEST(case, name) { body } */
#define TEST(case, test)                                                                           \
    static void test##_body(void);                                                                 \
    ADD_TEST(case, test, 1, test##_body())                                                         \
    static void test##_body(void)

/* EACH(case, name, table) { body }: one test for each element of an array, `row`. */
#define EACH(case, test, table)                                                                    \
    static void test##_body(const __typeof__((table)[0]) *row);                                    \
    ADD_TEST(case, test, ROWS(table), test##_body(&(table)[_i]))                                   \
    static void test##_body(const __typeof__((table)[0]) *row)

/*
 * Copies of exactly their size, so that a sanitizer sees an access beyond: of `bytes`, and of
 * `unit` repeated, with a NUL. Valid until the third following call.
 */
void *copy_of(const void *bytes, size_t nbytes);
char *repeat(const char *unit, size_t nbytes);

/* Pseudo-random bytes, the same in each run (SplitMix64). */
void random_bytes(uint64_t *state, uint8_t *bytes, size_t len);

typedef struct {
    pthread_t thread[64];
    unsigned count;
} threads_t;

/* Each thread gets the next element, of `size` bytes, of an array; size 0: all get the first. */
threads_t threads_start(unsigned count, void *(*work)(void *), const void *first, size_t size);
void threads_join(const threads_t *threads);
void threads_run(unsigned count, void *(*work)(void *), const void *of);

/* A row whose label is its source text. */
#define ROW(...) {.label = #__VA_ARGS__, __VA_ARGS__}

/* Assertions that print the row's `name` or `label`. */
#define named_assert(name, condition) ck_assert_msg(condition, "%s: %s", name, #condition)
#define named_eq(name, got, wanted)                                                                \
    ck_assert_msg((got) == (wanted), "%s: %s is %jd, not %jd", name, #got, (intmax_t)(got),        \
                  (intmax_t)(wanted))
#define named_str_eq(name, got, wanted)                                                            \
    ck_assert_msg(strcmp(got, wanted) == 0, "%s: %s is \"%s\"", name, #got, got)
#define row_assert(condition) named_assert(row->label, condition)
#define row_eq(got, wanted) named_eq(row->label, got, wanted)

#endif
