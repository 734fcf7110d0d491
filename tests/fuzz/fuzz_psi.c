#include "elastic/psi.h"

#include "fuzz.h"

/* A share is one of 0 to 1, and only what is read has one. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_string(data, size);
    double share = -1;

    if (el_psi_some(text, size, &share)) {
        MUST(share >= 0 && share <= 1);
    } else {
        MUST(share < 0);
    }
    free(text);
    return 0;
}
