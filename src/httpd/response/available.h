/*
 * Differences from a dictionary (RFC 9842): the one that a request names, which its response may be
 * encoded against.
 */
#ifndef ELASTIC_RESPONSE_AVAILABLE_H
#define ELASTIC_RESPONSE_AVAILABLE_H

#include "httpd/response/response.h"

/*
 * The dictionary that the request names, looked for once; the note `elastic-dictionary` then has
 * the outcome. For a handler: the header may still refuse it.
 */
const el_available_t *el_available_ahead(el_response_t *response);

/*
 * The same, with the permission of the response's header as it is now: another site's scripts must
 * be allowed to read the response.
 */
const el_available_t *el_available_of(el_response_t *response);

/*
 * Adds the dictionary to what a request demands of a filter of `policy`, which may use one; `ahead`
 * in a handler.
 */
void el_available_add(el_response_t *response, const el_policy_t *policy, bool ahead,
                      el_demand_t *demand);

/*
 * Prepares that dictionary for `level`, or for another one; it stays for as long as the request.
 * NULL if it is not there any more, or memory is short, as the note then says.
 */
const el_dictionary_t *el_available_prepare(el_response_t *response, int level);

/* Notes that another coding was chosen, though there is a dictionary. */
void el_available_outdone(const el_response_t *response);

/*
 * Adds to Vary the fields that the response depended on, or could have: Accept-Encoding, and if a
 * dictionary-compressed body is possible Available-Dictionary, and those that decided whether it is
 * permitted.
 */
void el_available_add_vary(el_response_t *response);

#endif
