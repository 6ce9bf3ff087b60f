/* Marks what the shared library shows to the outside; everything without the mark stays inside. C and C++. */
#ifndef POWERINFER_EXPORT_H
#define POWERINFER_EXPORT_H

#if defined(__GNUC__)
#define POWERINFER_API __attribute__((visibility("default")))
#else
#define POWERINFER_API
#endif

#endif
