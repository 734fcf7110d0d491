#include "host/tcp_info.h"

#include <netinet/in.h>
#include <sys/socket.h>

#ifdef ELASTIC_WITH_TCP_RATE
/* The kernel's own header: glibc's struct tcp_info ends before the rates, and both do not mix. */
#include <linux/tcp.h>

bool el_tcp_rate_of(const void *info, size_t len, el_tcp_rate_t *rate)
{
    const struct tcp_info *known = info;

    if (len < offsetof(struct tcp_info, tcpi_delivery_rate) + sizeof(known->tcpi_delivery_rate)
        || known->tcpi_delivery_rate == 0) {
        return false;
    }
    rate->rate = 8. * (double)known->tcpi_delivery_rate; /* bytes a second */
    rate->limited = known->tcpi_delivery_rate_app_limited;
    return true;
}

bool el_tcp_rate(int fd, el_tcp_rate_t *rate)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof(info);

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0
           && el_tcp_rate_of(&info, len, rate);
}
#else
bool el_tcp_rate_of(const void *info, size_t len, el_tcp_rate_t *rate)
{
    (void)info;
    (void)len;
    (void)rate;
    return false;
}

bool el_tcp_rate(int fd, el_tcp_rate_t *rate)
{
    (void)fd;
    (void)rate;
    return false;
}
#endif
