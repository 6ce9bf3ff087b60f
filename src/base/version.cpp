#include <powerinfer/version.h>

extern "C" const char* powerinfer_version(void) { return POWERINFER_VERSION; }
