/* Texts in UTF-8. */
#ifndef UTF8_H
#define UTF8_H

#include <stdbool.h>
#include <stdint.h>

/* Return whether these bytes are UTF-8, as Python and Arrow have it: no surrogates, the shortest forms. */
bool is_utf8(const uint8_t *at, const uint8_t *end);

#endif
