/*
 * Differences from a dictionary (RFC 9842): whether a request names one that its response may be
 * encoded against.
 */
#ifndef ELASTIC_RESPONSE_AVAILABLE_H
#define ELASTIC_RESPONSE_AVAILABLE_H

#include "httpd/response/response.h"

/*
 * What the request names, looked for once; the note `elastic-dictionary` then says what became of
 * it. In a handler: the header may still refuse what the request can be given.
 */
const el_available_t *el_available_ahead(request_rec *r);

/*
 * The same, with the permission of the response's header as it is now: another site's scripts must
 * be allowed to read the response.
 */
const el_available_t *el_available_of(request_rec *r);

/*
 * Adds the dictionary to what a request demands of a filter of `policy`, which may use one; `ahead`
 * in a handler.
 */
void el_available_add(request_rec *r, const el_policy_t *policy, bool ahead, el_demand_t *demand);

/*
 * Prepares that dictionary for `level`, or for another one; it stays for as long as the request.
 * NULL where it is not there any more, or there is no memory, as the note then says.
 */
const el_dictionary_t *el_available_prepare(request_rec *r, int level);

/* Another coding was chosen, though there is a dictionary: notes that. */
void el_available_outdone(request_rec *r);

/*
 * Adds to Vary what the response depended on, or could have: Accept-Encoding, and where a
 * dictionary-compressed body is possible Available-Dictionary, and the fields that decided whether
 * it is permitted.
 */
void el_available_add_vary(request_rec *r);

#endif
