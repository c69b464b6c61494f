/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MERCURY_DL_H
#define MERCURY_DL_H

#include "mercury_util_config.h"

#include <dlfcn.h>

#define HG_DL_HANDLE void*

#ifdef __cplusplus
extern "C" {
#endif

/* The text of this thread's last error, or null. */
static HG_UTIL_INLINE const char* hg_dl_error(void) { return dlerror(); }

static HG_UTIL_INLINE HG_DL_HANDLE hg_dl_open(const char* file) { return dlopen(file, RTLD_LAZY); }

/* 0, or an error. */
static HG_UTIL_INLINE int hg_dl_close(HG_DL_HANDLE handle) { return dlclose(handle); }

static HG_UTIL_INLINE void* hg_dl_sym(HG_DL_HANDLE handle, const char* name) { return dlsym(handle, name); }

/* The folder of the library that contains `addr`, a function or a variable. Fails if the path does not fit. */
HG_UTIL_PUBLIC int hg_dl_get_path(const void* addr, char* path, size_t path_size);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_DL_H */
