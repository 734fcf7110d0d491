/* The tables of Deflate… and Brotli… directives, for the records that replace those modules. */
#ifndef ELASTIC_CONFIG_STOCK_DIRECTIVES_H
#define ELASTIC_CONFIG_STOCK_DIRECTIVES_H

#include "httpd/base/glue.h"

extern const command_rec el_deflate_commands[];
extern const command_rec el_brotli_commands[];

#endif
