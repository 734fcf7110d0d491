/* The figures, and the histograms that they have no place for, as text for monitoring systems. */
#ifndef ELASTIC_STATUS_METRICS_H
#define ELASTIC_STATUS_METRICS_H

#include "httpd/base/glue.h"

/* Answers `r` with all metrics in Prometheus's text format 0.0.4; sets the media type. */
void el_metrics_answer(request_rec *r);

#endif
