/* calls_names.h: the process's memory of resolved directories. */
#ifndef PROVIO_CALLS_NAMES_H
#define PROVIO_CALLS_NAMES_H

#include <stddef.h>

/* The real text of a directory into out; its length, 0: not known. */
size_t names_get(const char *text, size_t length, char *out, size_t room);
void names_put(const char *text, size_t length, const char *real, size_t real_length);
/* Known not to be a symbolic link. */
int names_is_plain(const char *text, size_t length);
void names_forked(void);

#endif
