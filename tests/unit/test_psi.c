#include "elastic/psi.h"

#include "suites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *guards;
    const char *text;
    double share; /* below 0: none */
} texts[] = {
    {"as the kernel writes it",
     "some avg10=40.03 avg60=28.64 avg300=19.62 total=3460453271\n"
     "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", 0.4003},
    {"nothing waits", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", 0},
    {"everything waits", "some avg10=100.00 avg60=1.00 avg300=0.00 total=0\n", 1},
    {"full before some", "full avg10=1.00 x\nsome avg10=2.50 avg60=0.00\n", 0.025},
    {"one decimal", "some avg10=2.5 avg60=0.00\n", 0.025},
    {"no decimals", "some avg10=25 avg60=0.00\n", 0.25},
    {"full alone", "full avg10=9.00 avg60=28.64 avg300=19.62 total=3460453271\n", -1},
    {"empty", "", -1},
    {"cut behind the number", "some avg10=40.03", -1},
    {"cut within it", "some avg10=40", -1},
    {"cut before it", "some avg10=", -1},
    {"no number", "some avg10=x avg60=0.00\n", -1},
    {"a point and nothing", "some avg10=4. avg60=0.00\n", -1},
    {"below zero", "some avg10=-1.00 avg60=0.00\n", -1},
    {"beyond a hundred", "some avg10=100.01 avg60=0.00\n", -1},
    {"far beyond", "some avg10=99999999999999999999.00 avg60=0.00\n", -1},
    {"another average", "some avg60=28.64 avg300=19.62\n", -1},
    {"in the middle of a line", "x some avg10=4.00 avg60=0.00\n", -1},
};

START_TEST(a_text_gives_the_pressure)
{
    size_t len = strlen(texts[_i].text);
    char *exact = malloc(len > 0 ? len : 1);
    double share = -1;
    bool good;

    ck_assert_ptr_nonnull(exact);
    memcpy(exact, texts[_i].text, len);
    good = el_psi_some(exact, len, &share);
    free(exact);
    ck_assert_msg(good == (texts[_i].share >= 0), "%s", texts[_i].guards);
    ck_assert_msg(fabs(share - texts[_i].share) < 1e-9, "%s: %f", texts[_i].guards, share);
}
END_TEST

Suite *psi_suite(void)
{
    TCase *tc = tcase_create("psi");

    tcase_add_loop_test(tc, a_text_gives_the_pressure, 0, ROWS(texts));
    return suite_of("psi", tc);
}
