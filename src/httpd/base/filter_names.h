/* The names of the filters that this module registers beside its three compressors. */
#ifndef ELASTIC_BASE_FILTER_NAMES_H
#define ELASTIC_BASE_FILTER_NAMES_H

#define EL_FILTER_INFLATE "INFLATE"                 /* output: decodes responses */
#define EL_FILTER_DEFLATE "DEFLATE"                 /* input: decodes requests, mod_deflate's name */
#define EL_FILTER_REQUEST_INFLATE "ELASTIC_INFLATE" /* input: decodes requests, ElasticInflate */
#define EL_FILTER_NOT_MODIFIED "ELASTIC_CONDITIONAL" /* output: header fields of a 304 */
#define EL_FILTER_RANGES "ELASTIC_RANGES"           /* output: no ranges of an encoded body */

#endif
