/* Other processes of this machine. */
#ifndef ELASTIC_HOST_PROCESS_H
#define ELASTIC_HOST_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether there is a process `pid`, whoever it belongs to; any thread. */
bool el_process_is_alive(uint32_t pid);

#endif
