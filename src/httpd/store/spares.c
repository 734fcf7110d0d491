#include "httpd/store/spares.h"

void *el_spares_take(el_spares_t *spares)
{
    for (int i = 0; i < EL_SPARES; i++) {
        void *spare = atomic_load_explicit(&spares->kept[i], memory_order_relaxed);

        if (spare && atomic_compare_exchange_strong(&spares->kept[i], &spare, NULL)) {
            return spare;
        }
    }
    return NULL;
}

bool el_spares_keep(el_spares_t *spares, void *spare)
{
    for (int i = 0; i < EL_SPARES; i++) {
        void *none = NULL;

        if (!atomic_load_explicit(&spares->kept[i], memory_order_relaxed)
            && atomic_compare_exchange_strong(&spares->kept[i], &none, spare)) {
            return true;
        }
    }
    return false;
}
