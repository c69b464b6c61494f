/* SPDX-License-Identifier: BSD-3-Clause
 * Structures with their procs, and registration by type. MERCURY_GEN_PROC and MERCURY_GEN_STRUCT_PROC need
 * Boost.Preprocessor.
 *
 *   MERCURY_GEN_PROC(pair_t, ((int32_t)(a))((int32_t)(b)))        struct pair_t and hg_proc_pair_t
 *   MERCURY_GEN_STRUCT_PROC(mine_t, ((uint64_t)(cookie)))         hg_proc_mine_t for a struct that exists
 *   MERCURY_REGISTER(hg_class, "sum", pair_t, void, handler)      by the types of arguments and result */
#ifndef MERCURY_MACROS_H
#define MERCURY_MACROS_H

#include "mercury.h"
#include "mercury_bulk.h"
#include "mercury_proc.h"
#include "mercury_proc_bulk.h"

#ifdef HG_HAS_BOOST
#include <boost/preprocessor.hpp>

#define HG_FIELD_TYPE(field) BOOST_PP_SEQ_ELEM(0, field)
#define HG_FIELD_NAME(field) BOOST_PP_SEQ_ELEM(1, field)
#define HG_DECLARE_FIELD(r, none, field) HG_FIELD_TYPE(field) HG_FIELD_NAME(field);
#define HG_PROC_FIELD(r, value, field)                                                          \
    {                                                                                           \
        const hg_return_t field_ret =                                                           \
            BOOST_PP_CAT(hg_proc_, HG_FIELD_TYPE(field))(proc, &(value)->HG_FIELD_NAME(field)); \
        if (unlikely(field_ret != HG_SUCCESS)) return field_ret;                                \
        ++*hg_done;                                                                             \
    }
#define HG_FREE_FIELD(r, value, field)                                                                   \
    if (hg_done != 0) {                                                                                  \
        --hg_done;                                                                                       \
        (void)BOOST_PP_CAT(hg_proc_, HG_FIELD_TYPE(field))(&hg_freeing, &(value)->HG_FIELD_NAME(field)); \
    }

/* If decoding fails, the fields decoded so far are freed, since the caller does not get them. */
#define MERCURY_GEN_STRUCT_PROC(struct_type_name, fields)                                                        \
    static HG_INLINE hg_return_t BOOST_PP_CAT(hg_proc_fields_of_, struct_type_name)(                             \
        hg_proc_t proc, struct_type_name * hg_value, unsigned* hg_done) {                                        \
        BOOST_PP_SEQ_FOR_EACH(HG_PROC_FIELD, hg_value, fields)                                                   \
        return HG_SUCCESS;                                                                                       \
    }                                                                                                            \
    static HG_INLINE hg_return_t BOOST_PP_CAT(hg_proc_, struct_type_name)(hg_proc_t proc, void* data) {          \
        struct_type_name* hg_value = (struct_type_name*)data;                                                    \
        unsigned hg_done = 0;                                                                                    \
        const hg_return_t hg_ret = BOOST_PP_CAT(hg_proc_fields_of_, struct_type_name)(proc, hg_value, &hg_done); \
        if (likely(hg_ret == HG_SUCCESS) || hg_proc_get_op(proc) != HG_DECODE) return hg_ret;                    \
        struct hg_proc hg_freeing = hg_proc_freeing(proc);                                                       \
        BOOST_PP_SEQ_FOR_EACH(HG_FREE_FIELD, hg_value, fields)                                                   \
        return hg_ret;                                                                                           \
    }
#define MERCURY_GEN_PROC(struct_type_name, fields)        \
    typedef struct {                                      \
        BOOST_PP_SEQ_FOR_EACH(HG_DECLARE_FIELD, , fields) \
    } struct_type_name;                                   \
    MERCURY_GEN_STRUCT_PROC(struct_type_name, fields)

#define MERCURY_REGISTER(hg_class, func_name, in_struct_type_name, out_struct_type_name, rpc_cb) \
    HG_Register_name(hg_class, func_name, BOOST_PP_CAT(hg_proc_, in_struct_type_name),           \
                     BOOST_PP_CAT(hg_proc_, out_struct_type_name), rpc_cb)
#else
#define MERCURY_REGISTER(hg_class, func_name, in_struct_type_name, out_struct_type_name, rpc_cb) \
    HG_Register_name(hg_class, func_name, hg_proc_##in_struct_type_name, hg_proc_##out_struct_type_name, rpc_cb)
#endif

/* For RPCs without arguments or result. */
#define hg_proc_void NULL

#endif
