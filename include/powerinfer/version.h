/* The version of the library, for C and C++. The build reads it from here, so this is its only place.
   Not for the version of a model file: that is the container's business. */
#ifndef POWERINFER_VERSION_H
#define POWERINFER_VERSION_H

#include <powerinfer/export.h>

#define POWERINFER_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library that is linked, which may be another than that of the header. */
POWERINFER_API const char* powerinfer_version(void);

#ifdef __cplusplus
}
#endif

#endif
