#include "streamapp_native.h"

const char *streamapp_sources(void) { return STREAMAPP_SOURCES; }
