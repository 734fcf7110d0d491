#define _POSIX_C_SOURCE 200809L
#include "host/process.h"

#include <errno.h>
#include <signal.h>
#include <sys/types.h>

bool el_process_is_alive(uint32_t pid)
{
    return kill((pid_t)pid, 0) == 0 || errno != ESRCH;
}
