/* Whole numbers of 128 bits, as decimals have. */
#ifndef WIDE_INTEGERS_H
#define WIDE_INTEGERS_H

__extension__ typedef __int128 int128_t;
__extension__ typedef unsigned __int128 uint128_t;

#endif
