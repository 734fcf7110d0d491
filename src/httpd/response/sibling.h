/*
 * The precompressed siblings of a static file f: f.br, f.zst and f.gz, beside it or below
 * ElasticPrecompressedRoot. Which of them there are, whether the client may have them, and the tags
 * that they carry. All of it belongs to one request.
 */
#ifndef ELASTIC_RESPONSE_SIBLING_H
#define ELASTIC_RESPONSE_SIBLING_H

#include "httpd/base/glue.h"

#include "elastic/coding.h"

typedef struct {
    el_coding_t coding;
    const char *path;
    const char *root; /* the folder that it must not leave; NULL: it lies beside its file */
    apr_finfo_t finfo;
    bool trusted; /* it, and a link that leads to it, may be sent in place of its file */
    bool asked; /* el_sibling_allowed() has looked it up; then `allowed` is its answer */
    bool allowed;
    bool tagged; /* el_sibling_tag() has made `tag` */
    const char *tag;
} el_sibling_t;

/* The smallest first; there are never more than there are codings. */
typedef struct {
    el_sibling_t sibling[EL_CODINGS];
    size_t count;
} el_siblings_t;

/*
 * The siblings in codings that are acceptable, or in those that are not: regular files, not older
 * than r's, and outside of ElasticPrecompressedRoot of r's file's owner or of root. Of two as
 * small, br comes before zstd and gzip.
 */
el_siblings_t el_siblings_find(request_rec *r, bool acceptable);

/*
 * Whether the same client could ask for the sibling itself, beside its file, and would get its bytes:
 * access rules, symlink rules, rules of rewriting, handlers. Below ElasticPrecompressedRoot, those
 * of its place hold as well, and no link leads out of that folder. It is looked up once, however
 * often this is asked.
 */
bool el_sibling_allowed(request_rec *r, el_sibling_t *sibling);

/*
 * The sibling's own tag, strong: the bytes lie on disk. It is httpd's tag of that file, by
 * FileETag, with the extension inside, so that two siblings of one size and time differ. NULL where
 * FileETag makes none.
 */
const char *el_sibling_tag(request_rec *r, el_sibling_t *sibling);

#endif
