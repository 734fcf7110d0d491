#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* dladdr() */
#endif

#include "host/code.h"

#include <dlfcn.h>
#include <stddef.h>

bool el_code_keep(const void *address)
{
    Dl_info object;

    return dladdr(address, &object) != 0
           && dlopen(object.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != NULL;
}
