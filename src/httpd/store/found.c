#include "httpd/store/found.h"

#include "engines/pool.h"

#include <string.h>

bool el_found_copy(el_found_t *found, const el_entry_t *entry)
{
    size_t room;
    void *buffer = el_pool_buffer_acquire(entry->nbytes, &room);

    if (!buffer) {
        return false;
    }
    memcpy(buffer, entry->data, entry->nbytes);
    found->entry = *entry;
    found->buffer = buffer;
    found->release = el_pool_buffer_release;
    found->entry.data = buffer;
    return true;
}

void el_found_release(el_found_t *found)
{
    if (found->buffer) {
        found->release(found->buffer);
        found->buffer = NULL;
    }
}
