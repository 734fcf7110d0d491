/* The table of directives, and those of their functions that have a file of their own. */
#ifndef ELASTIC_CONFIG_COMMANDS_H
#define ELASTIC_CONFIG_COMMANDS_H

#include "httpd/base/glue.h"

extern const command_rec el_commands[];

/* RAW_ARGS. */
const char *el_set_dictionary(cmd_parms *cmd, void *config, const char *args);
const char *el_set_dictionary_link(cmd_parms *cmd, void *config, const char *args);
const char *el_set_dictionary_file(cmd_parms *cmd, void *config, const char *args);
const char *el_set_dictionary_store(cmd_parms *cmd, void *config, const char *args);

#endif
