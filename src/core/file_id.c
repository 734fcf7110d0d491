#include "elastic/file_id.h"

/* The longest tick of a file system's clock that is in use: FAT's. */
#define TICK_USEC 2000000

#define USEC_PER_SEC 1000000

/* A time that no clock shows is as good as none. */
#define SEC_MOST (INT64_MAX / USEC_PER_SEC - 1)

static bool is_before(int64_t sec, uint32_t nsec, int64_t limit_usec)
{
    return sec >= 0 && sec < SEC_MOST && sec * USEC_PER_SEC + nsec / 1000 <= limit_usec;
}

bool el_file_id_settled(const el_file_id_t *id, int64_t now_usec)
{
    return id->changed_nsec != 0
           && is_before(id->changed_sec, id->changed_nsec, now_usec - TICK_USEC)
           && is_before(id->modified_sec, id->modified_nsec, now_usec - TICK_USEC);
}
