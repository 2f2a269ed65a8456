/* What the driver needs of string.h, on a machine without a C library. */
#ifndef STRING_H
#define STRING_H
#include <stddef.h>
void *memset(void *memory, int value, size_t count);
void *memcpy(void *to, const void *from, size_t count);
#endif
