/* The functions of the native library, as the Python modules beside it call them by ctypes.

   They keep no state between calls, check every length that they are given, and return errors as codes. */
#ifndef STREAMAPP_NATIVE_H
#define STREAMAPP_NATIVE_H

/* Return the digest of the sources that the library was compiled from. */
const char *streamapp_sources(void);

#endif
