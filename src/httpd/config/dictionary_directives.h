/*
 * The functions of ElasticDictionary, ElasticDictionaryLink and ElasticDictionaryStore: RAW_ARGS.
 */
#ifndef ELASTIC_CONFIG_DICTIONARY_DIRECTIVES_H
#define ELASTIC_CONFIG_DICTIONARY_DIRECTIVES_H

#include "httpd/base/glue.h"

const char *el_set_dictionary(cmd_parms *cmd, void *config, const char *args);
const char *el_set_dictionary_link(cmd_parms *cmd, void *config, const char *args);
const char *el_set_dictionary_store(cmd_parms *cmd, void *config, const char *args);

#endif
