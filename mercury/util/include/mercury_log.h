/* SPDX-License-Identifier: BSD-3-Clause */
/* Logging through outlets. An outlet has a name and a parent. It writes lines up to the global level if its name is one
 * of the enabled subsystems, or if its parent writes. HG_LOG_LEVEL sets the level (default "fatal"), HG_LOG_SUBSYS the
 * subsystems (default "hg_all", the parent of all). */
#ifndef MERCURY_LOG_H
#define MERCURY_LOG_H

#include "mercury_dlog.h"
#include "mercury_queue.h"
#include "mercury_util_config.h"

#include <stdarg.h>
#include <stdio.h>

#define HG_UTIL_CAT(x, y) x##y
#define HG_UTIL_CATU(x, y) x##_##y
#define HG_UTIL_STRINGIFY(x) #x

#define HG_UTIL_CONSTRUCTOR HG_ATTR_CONSTRUCTOR
#define HG_UTIL_DESTRUCTOR HG_ATTR_DESTRUCTOR

enum hg_log_level {
    HG_LOG_LEVEL_NONE,
    HG_LOG_LEVEL_FATAL,
    HG_LOG_LEVEL_ERROR,
    HG_LOG_LEVEL_WARNING,
    HG_LOG_LEVEL_MIN_DEBUG, /* also fills the outlets' debug logs, see mercury_dlog.h */
    HG_LOG_LEVEL_INFO,
    HG_LOG_LEVEL_DEBUG,
    HG_LOG_LEVEL_MAX
};

/* PASS: like the parent; OFF: only if named; ON: always. "~name" in the list of subsystems overrides PASS. */
enum hg_log_state { HG_LOG_PASS, HG_LOG_OFF, HG_LOG_ON };

struct hg_log_outlet {
    const char* name;
    enum hg_log_state state;
    enum hg_log_level level; /* the log's, see HG_LOG_OUTLET_LEVEL */
    struct hg_log_outlet* parent;
    struct hg_dlog* debug_log; /* or null */
    bool registered;
    STAILQ_ENTRY(hg_log_outlet) entry;
};

/* The same contract as fprintf. */
typedef int (*hg_log_func_t)(FILE* stream, const char* format, ...);

#define HG_LOG_OUTLET_ROOT_NAME hg_all
#define HG_LOG_OUTLET(name) HG_UTIL_CATU(name, log_outlet_g)
#define HG_LOG_OUTLET_DECL(name) struct hg_log_outlet HG_LOG_OUTLET(name)
#define HG_LOG_OUTLET_SUBSYS_DECL(name, parent_name) struct hg_log_outlet HG_LOG_OUTLET(HG_UTIL_CATU(parent_name, name))
#define HG_LOG_OUTLET_INITIALIZER(name, state, parent, debug_log)                             \
    {                                                                                         \
        HG_UTIL_STRINGIFY(name), state, HG_LOG_LEVEL_NONE, parent, debug_log, false, { NULL } \
    }
#define HG_LOG_OUTLET_SUBSYS_STATE_INITIALIZER(name, parent_name, state) \
    HG_LOG_OUTLET_INITIALIZER(name, state, &HG_LOG_OUTLET(parent_name), NULL)
#define HG_LOG_OUTLET_SUBSYS_INITIALIZER(name, parent_name) \
    HG_LOG_OUTLET_SUBSYS_STATE_INITIALIZER(name, parent_name, HG_LOG_PASS)

/* Registers an outlet of static storage when the program or library is loaded, and deregisters it at unload. */
#define HG_LOG_REGISTER(name)                                                                                     \
    static void HG_UTIL_CATU(hg_log_outlet_reg, name)(void) HG_UTIL_CONSTRUCTOR;                                  \
    static void HG_UTIL_CATU(hg_log_outlet_reg, name)(void) { hg_log_outlet_register(&HG_LOG_OUTLET(name)); }     \
    static void HG_UTIL_CATU(hg_log_outlet_dereg, name)(void) HG_UTIL_DESTRUCTOR;                                 \
    static void HG_UTIL_CATU(hg_log_outlet_dereg, name)(void) { hg_log_outlet_deregister(&HG_LOG_OUTLET(name)); } \
    void hg_log_outlet_##name##_unused(void)
#define HG_LOG_SUBSYS_REGISTER(name, parent_name)                                  \
    static void HG_UTIL_CATU(hg_log_outlet_reg, name)(void) HG_UTIL_CONSTRUCTOR;   \
    static void HG_UTIL_CATU(hg_log_outlet_reg, name)(void) {                      \
        hg_log_outlet_register(&HG_LOG_OUTLET(HG_UTIL_CATU(parent_name, name)));   \
    }                                                                              \
    static void HG_UTIL_CATU(hg_log_outlet_dereg, name)(void) HG_UTIL_DESTRUCTOR;  \
    static void HG_UTIL_CATU(hg_log_outlet_dereg, name)(void) {                    \
        hg_log_outlet_deregister(&HG_LOG_OUTLET(HG_UTIL_CATU(parent_name, name))); \
    }                                                                              \
    void hg_log_outlet_##parent_name##_##name##_unused(void)

#define HG_LOG_DECL_REGISTER(name)                                                              \
    HG_LOG_OUTLET_DECL(name) = HG_LOG_OUTLET_SUBSYS_INITIALIZER(name, HG_LOG_OUTLET_ROOT_NAME); \
    HG_LOG_REGISTER(name)
#define HG_LOG_SUBSYS_DECL_REGISTER(name, parent_name)                                                  \
    HG_LOG_OUTLET_SUBSYS_DECL(name, parent_name) = HG_LOG_OUTLET_SUBSYS_INITIALIZER(name, parent_name); \
    HG_LOG_SUBSYS_REGISTER(name, parent_name)
#define HG_LOG_SUBSYS_DECL_STATE_REGISTER(name, parent_name, state)                                                  \
    HG_LOG_OUTLET_SUBSYS_DECL(name, parent_name) = HG_LOG_OUTLET_SUBSYS_STATE_INITIALIZER(name, parent_name, state); \
    HG_LOG_SUBSYS_REGISTER(name, parent_name)

/* The same with a debug log, NAME_dlog_g, over an array of entries, NAME_dlog_entries_g. */
#define HG_LOG_DEBUG_DLOG(name) HG_UTIL_CATU(name, dlog_g)
#define HG_LOG_DEBUG_LE(name) HG_UTIL_CATU(name, dlog_entries_g)
#define HG_LOG_DEBUG_DECL_DLOG(name) struct hg_dlog HG_LOG_DEBUG_DLOG(name)
#define HG_LOG_DEBUG_DECL_LE(name, size) struct hg_dlog_entry HG_LOG_DEBUG_LE(name)[size]
#define HG_LOG_DLOG_INITIALIZER(name, size) \
    HG_DLOG_INITIALIZER(HG_UTIL_STRINGIFY(name), HG_LOG_DEBUG_DLOG(name), HG_LOG_DEBUG_LE(name), size, 1)
#define HG_LOG_OUTLET_SUBSYS_DLOG_INITIALIZER(name, parent_name) \
    HG_LOG_OUTLET_INITIALIZER(name, HG_LOG_PASS, &HG_LOG_OUTLET(parent_name), &HG_LOG_DEBUG_DLOG(name))
#define HG_LOG_DLOG_DECL_REGISTER(name)                                                              \
    HG_LOG_OUTLET_DECL(name) = HG_LOG_OUTLET_SUBSYS_DLOG_INITIALIZER(name, HG_LOG_OUTLET_ROOT_NAME); \
    HG_LOG_REGISTER(name)
#define HG_LOG_SUBSYS_DLOG_DECL_REGISTER(name, parent_name)                                                  \
    HG_LOG_OUTLET_SUBSYS_DECL(name, parent_name) = HG_LOG_OUTLET_SUBSYS_DLOG_INITIALIZER(name, parent_name); \
    HG_LOG_SUBSYS_REGISTER(name, parent_name)
#define HG_LOG_ADD_COUNTER32(name, counter_ptr, counter_name, counter_desc) \
    hg_dlog_mkcount32(HG_LOG_OUTLET(name).debug_log, counter_ptr, counter_name, counter_desc)
#define HG_LOG_ADD_COUNTER64(name, counter_ptr, counter_name, counter_desc) \
    hg_dlog_mkcount64(HG_LOG_OUTLET(name).debug_log, counter_ptr, counter_name, counter_desc)
#define HG_LOG_DEL_COUNTER32(name, counter_ptr) hg_dlog_rmcount32(HG_LOG_OUTLET(name).debug_log, counter_ptr)
#define HG_LOG_DEL_COUNTER64(name, counter_ptr) hg_dlog_rmcount64(HG_LOG_OUTLET(name).debug_log, counter_ptr)

/* The level up to which the outlet writes; another thread may be changing it. */
#define HG_LOG_OUTLET_LEVEL(name) __atomic_load_n(&HG_LOG_OUTLET(name).level, __ATOMIC_RELAXED)

#define HG_LOG_ADD_DLOG(name, log_level, file, line, func)                    \
    if ((log_level) == HG_LOG_LEVEL_DEBUG && HG_LOG_OUTLET(name).debug_log && \
        HG_LOG_OUTLET_LEVEL(name) >= HG_LOG_LEVEL_MIN_DEBUG)                  \
    hg_dlog_addlog(HG_LOG_OUTLET(name).debug_log, file, line, func, NULL, NULL)

#define HG_LOG_WRITE_FUNC(name, log_level, module, file, line, func, no_return, ...)                         \
    do {                                                                                                     \
        HG_LOG_ADD_DLOG(name, log_level, file, line, func);                                                  \
        if (HG_LOG_OUTLET_LEVEL(name) >= (log_level))                                                        \
            hg_log_write(&HG_LOG_OUTLET(name), log_level, module, file, line, func, no_return, __VA_ARGS__); \
    } while (0)
#define HG_LOG_VWRITE_FUNC(name, log_level, module, file, line, func, no_return, message, ap)                 \
    do {                                                                                                      \
        HG_LOG_ADD_DLOG(name, log_level, file, line, func);                                                   \
        if (HG_LOG_OUTLET_LEVEL(name) >= (log_level))                                                         \
            hg_log_vwrite(&HG_LOG_OUTLET(name), log_level, module, file, line, func, no_return, message, ap); \
    } while (0)
#define HG_LOG_WRITE_FUNC_DEBUG_EXT(name, header, module, file, line, func, no_return, ...)                      \
    do {                                                                                                         \
        if (HG_LOG_OUTLET_LEVEL(name) == HG_LOG_LEVEL_DEBUG) {                                                   \
            hg_log_write(&HG_LOG_OUTLET(name), HG_LOG_LEVEL_DEBUG, module, file, line, func, no_return, header); \
            hg_log_get_func()(hg_log_get_stream_debug(), __VA_ARGS__);                                           \
            hg_log_get_func()(hg_log_get_stream_debug(), "---\n");                                               \
        }                                                                                                        \
    } while (0)

#define HG_LOG_WRITE(name, log_level, ...) \
    HG_LOG_WRITE_FUNC(name, log_level, NULL, __FILE__, __LINE__, __func__, false, __VA_ARGS__)
#define HG_LOG_SUBSYS_WRITE(name, parent_name, log_level, ...)                                               \
    HG_LOG_WRITE_FUNC(HG_UTIL_CATU(parent_name, name), log_level, NULL, __FILE__, __LINE__, __func__, false, \
                      __VA_ARGS__)
#define HG_LOG_WRITE_DEBUG_EXT(name, header, ...) \
    HG_LOG_WRITE_FUNC_DEBUG_EXT(name, header, NULL, __FILE__, __LINE__, __func__, false, __VA_ARGS__)
#define HG_LOG_SUBSYS_WRITE_DEBUG_EXT(name, parent_name, header, ...)                                               \
    HG_LOG_WRITE_FUNC_DEBUG_EXT(HG_UTIL_CATU(parent_name, name), header, NULL, __FILE__, __LINE__, __func__, false, \
                                __VA_ARGS__)

#ifdef __cplusplus
extern "C" {
#endif

/* Any thread may call all of these. */

HG_UTIL_PUBLIC void hg_log_set_level(enum hg_log_level log_level);
HG_UTIL_PUBLIC enum hg_log_level hg_log_get_level(void);

/* "subsys1,~subsys2": enables subsystems; with "~", disables them whatever their parents do. */
HG_UTIL_PUBLIC void hg_log_set_subsys(const char* log_subsys);

/* Returns that list; overwritten by the next call in this thread. */
HG_UTIL_PUBLIC const char* hg_log_get_subsys(void);

/* Enables one more subsystem and sets the global level. */
HG_UTIL_PUBLIC void hg_log_set_subsys_level(const char* subsys, enum hg_log_level log_level);

/* Parses "error" or "err", in upper or lower case. An unknown name gives NONE and a message on stderr. */
HG_UTIL_PUBLIC enum hg_log_level hg_log_name_to_level(const char* log_level);
HG_UTIL_PUBLIC const char* hg_log_level_to_string(enum hg_log_level level);

/* The function that writes lines; null restores fprintf. */
HG_UTIL_PUBLIC void hg_log_set_func(hg_log_func_t log_func);
HG_UTIL_PUBLIC hg_log_func_t hg_log_get_func(void);

/* The streams for lines; null restores stderr for errors, and stdout for warnings and the debug levels. */
HG_UTIL_PUBLIC void hg_log_set_stream_error(FILE* stream);
HG_UTIL_PUBLIC FILE* hg_log_get_stream_error(void);
HG_UTIL_PUBLIC void hg_log_set_stream_warning(FILE* stream);
HG_UTIL_PUBLIC FILE* hg_log_get_stream_warning(void);
HG_UTIL_PUBLIC void hg_log_set_stream_debug(FILE* stream);
HG_UTIL_PUBLIC FILE* hg_log_get_stream_debug(void);

/* The outlet must not move until it is deregistered, which also frees the counters of its debug log. Registering it
 * twice is harmless. */
HG_UTIL_PUBLIC void hg_log_outlet_register(struct hg_log_outlet* outlet);
HG_UTIL_PUBLIC void hg_log_outlet_deregister(struct hg_log_outlet* outlet);

/* The counters of the outlet's debug log, if it has one. */
HG_UTIL_PUBLIC void hg_log_dump_counters(struct hg_log_outlet* hg_log_outlet);

/* Writes a line, truncated to 1023 bytes, regardless of the outlet's level; without a newline if `no_return`. `module`
 * may be null. */
HG_UTIL_PUBLIC void hg_log_write(struct hg_log_outlet* hg_log_outlet, enum hg_log_level log_level, const char* module,
                                 const char* file, unsigned int line, const char* func, bool no_return,
                                 const char* format, ...) HG_UTIL_PRINTF(8, 9);
HG_UTIL_PUBLIC void hg_log_vwrite(struct hg_log_outlet* hg_log_outlet, enum hg_log_level log_level, const char* module,
                                  const char* file, unsigned int line, const char* func, bool no_return,
                                  const char* format, va_list ap) HG_UTIL_PRINTF(8, 0);

/* The parent of all. */
extern HG_UTIL_PUBLIC HG_LOG_OUTLET_DECL(HG_LOG_OUTLET_ROOT_NAME);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_LOG_H */
