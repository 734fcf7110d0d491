/*
 * Pressure stall information: the text of /proc/pressure/cpu or of a group's cpu.pressure -> the
 * share of time in which some task waited for a CPU.
 *
 * Pure; any thread.
 */
#ifndef ELASTIC_PSI_H
#define ELASTIC_PSI_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The average of the last 10 seconds in the line `some`, as a share of 0 … 1. False where the text
 * has none, or one beyond 100.
 */
bool el_psi_some(const char *text, size_t len, double *share);

#endif
