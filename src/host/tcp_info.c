#include "host/tcp_info.h"

#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

#ifdef ELASTIC_WITH_TCP_RATE
/* The kernel's own header: glibc's struct tcp_info ends before the rates, and both do not mix. */
#include <linux/tcp.h>

bool el_tcp_rate(int fd, el_tcp_rate_t *rate)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof(info);

    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0
        || len < offsetof(struct tcp_info, tcpi_delivery_rate) + sizeof(info.tcpi_delivery_rate)
        || info.tcpi_delivery_rate == 0) {
        return false;
    }
    rate->rate = 8. * (double)info.tcpi_delivery_rate; /* bytes a second */
    rate->limited = info.tcpi_delivery_rate_app_limited;
    return true;
}
#else
bool el_tcp_rate(int fd, el_tcp_rate_t *rate)
{
    (void)fd;
    (void)rate;
    return false;
}
#endif
