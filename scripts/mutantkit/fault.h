/* What scripts/mutants --mechanical puts into each source: which fault is chosen. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* the source may ask for it, which would then be too late */
#endif
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define EL_FAULTS_MOST 65536

static unsigned char *el_faults_run;
static int el_fault_chosen;

__attribute__((constructor)) static void el_fault_choose(void)
{
    const char *chosen = getenv("EL_FAULT"), *file = getenv("EL_FAULTS_RUN");
    int fd = file ? open(file, O_RDWR) : -1;

    el_fault_chosen = chosen ? atoi(chosen) : 0;
    if (fd >= 0) {
        void *map = mmap(NULL, EL_FAULTS_MOST, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        el_faults_run = map == MAP_FAILED ? NULL : map;
        close(fd);
    }
}

static inline void el_fault_note(int number)
{
    if (el_faults_run) {
        el_faults_run[number] = 1;
    }
}

static inline int el_fault(int number)
{
    el_fault_note(number);
    return number == el_fault_chosen;
}

#define EL_FAULT(number) el_fault(number)

/* For operands, which a fault drops: of && it counts as true, of || as false. */
#define EL_FAULT_IS(number) (el_fault_chosen == (number))

/* Notes the fault if the operand is not `as` it would be. */
static inline int el_fault_operand(int number, int as, int operand)
{
    if (operand != as) {
        el_fault_note(number);
    }
    return operand;
}
