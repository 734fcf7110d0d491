/* The kernel's numbers of a TCP connection. Any thread. */
#ifndef ELASTIC_HOST_TCP_INFO_H
#define ELASTIC_HOST_TCP_INFO_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    double rate;  /* at which the peer took data of late, bits a second */
    bool limited; /* by what the application had to send, so that the path may carry more */
} el_tcp_rate_t;

/*
 * The rate at which `fd`'s peer has acknowledged data, Linux 4.9's delivery rate. False if the
 * socket is no TCP, nothing was acknowledged yet, or the kernel does not say. A system call.
 */
bool el_tcp_rate(int fd, el_tcp_rate_t *rate);

/* The same of the kernel's answer: `len` bytes of its struct tcp_info, aligned as that is. Pure. */
bool el_tcp_rate_of(const void *info, size_t len, el_tcp_rate_t *rate);

#endif
