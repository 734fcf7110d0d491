/* The table of elastic_module's directives, for its record. */
#ifndef ELASTIC_CONFIG_DIRECTIVES_H
#define ELASTIC_CONFIG_DIRECTIVES_H

#include "httpd/base/glue.h"

extern const command_rec el_commands[];

#endif
