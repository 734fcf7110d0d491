/* How settings are merged: field by field, so that one directive resets no other. */
#ifndef ELASTIC_MERGE_H
#define ELASTIC_MERGE_H

/* Takes a field from the inner settings, where its `_set` bit says that a directive named it. */
#define EL_TAKE(to, from, field)                                                                   \
    do {                                                                                           \
        if ((from)->field##_set) {                                                                 \
            (to)->field = (from)->field;                                                           \
            (to)->field##_set = true;                                                              \
        }                                                                                          \
    } while (0)

#endif
