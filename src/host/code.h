/* Code of shared objects, which httpd unloads. Any thread. */
#ifndef ELASTIC_HOST_CODE_H
#define ELASTIC_HOST_CODE_H

#include <stdbool.h>

/*
 * Keeps the shared object that has `address` mapped, and what it depends on, until this process
 * ends, even where it is unloaded: for threads that may still run in it. False where it cannot.
 */
bool el_code_keep(const void *address);

#endif
