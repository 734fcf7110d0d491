/* The directives of the controller that take words: how it moves, what for, and by which load. */
#ifndef ELASTIC_CONTROL_DIRECTIVES_H
#define ELASTIC_CONTROL_DIRECTIVES_H

#include "httpd/base/glue.h"

/* For the table of directives: each gives back NULL, or the error that configtest shows. */
const char *el_set_control(cmd_parms *cmd, void *config, const char *args);
const char *el_set_load(cmd_parms *cmd, void *config, const char *args);
const char *el_set_goal(cmd_parms *cmd, void *config, const char *args);
const char *el_set_position(cmd_parms *cmd, void *config, const char *args);

#endif
