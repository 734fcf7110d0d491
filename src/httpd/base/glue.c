#include "httpd/base/glue.h"

int el_log_index = APLOG_NO_MODULE;
