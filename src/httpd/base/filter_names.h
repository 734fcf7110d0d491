/* The names of the filters that this module registers beside its three compressors. */
#ifndef ELASTIC_BASE_FILTER_NAMES_H
#define ELASTIC_BASE_FILTER_NAMES_H

/*
 * Of output: decodes responses; counts those that no filter encodes; header fields of a 304; no
 * body of one; no ranges of an encoded body; ElasticPadding; ElasticDictionary; ElasticExplain;
 * precompressed files behind other modules' filters.
 */
#define EL_FILTER_INFLATE "INFLATE"
#define EL_FILTER_SKIPPED "ELASTIC_SKIPPED"
#define EL_FILTER_NOT_MODIFIED "ELASTIC_NOT_MODIFIED"
#define EL_FILTER_NO_BODY "ELASTIC_NO_BODY"
#define EL_FILTER_RANGES "ELASTIC_RANGES"
#define EL_FILTER_PADDING "ELASTIC_PADDING"
#define EL_FILTER_DICTIONARY "ELASTIC_DICTIONARY"
#define EL_FILTER_EXPLAIN "ELASTIC_EXPLAIN"
#define EL_FILTER_PRECOMPRESSED "ELASTIC_PRECOMPRESSED"

/* Of input: decode requests, by mod_deflate's name and for ElasticInflate. */
#define EL_FILTER_DEFLATE "DEFLATE"
#define EL_FILTER_REQUEST_INFLATE "ELASTIC_INFLATE"

#endif
