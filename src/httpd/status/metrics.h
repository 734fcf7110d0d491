/* The figures, and the histograms that they have no place for, as text for monitoring systems. */
#ifndef ELASTIC_STATUS_METRICS_H
#define ELASTIC_STATUS_METRICS_H

#include "httpd/base/glue.h"

#include "elastic/exposition.h"

/*
 * Answers `r` with all metrics, in the format that it asks for, or `otherwise`, where it names none;
 * sets the media type.
 */
void el_metrics_answer(request_rec *r, el_exposition_t otherwise);

#endif
