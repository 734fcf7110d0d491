#include "httpd/base/glue.h"

#include "http_log.h"

int el_log_index = APLOG_NO_MODULE;
