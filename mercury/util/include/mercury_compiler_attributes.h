/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiler attributes that these headers use, for gcc and clang. */
#ifndef MERCURY_COMPILER_ATTRIBUTES_H
#define MERCURY_COMPILER_ATTRIBUTES_H

#define HG_ATTR_ABI_IMPORT __attribute__((__visibility__("default")))
#define HG_ATTR_ABI_EXPORT __attribute__((__visibility__("default")))
#define HG_ATTR_ABI_HIDDEN __attribute__((__visibility__("hidden")))

#define HG_ATTR_WARN_UNUSED_RESULT __attribute__((__warn_unused_result__))
#define HG_ATTR_UNUSED __attribute__((__unused__))
#define HG_ATTR_ALIGNED(x, a) x __attribute__((__aligned__(a)))
#define HG_ATTR_PACKED_PUSH
#define HG_ATTR_PACKED_POP __attribute__((__packed__))
#define HG_ATTR_PACKED(x) HG_ATTR_PACKED_PUSH x HG_ATTR_PACKED_POP
#define HG_ATTR_PRINTF(format, first_argument) __attribute__((__format__(printf, format, first_argument)))
#define HG_ATTR_CONSTRUCTOR __attribute__((__constructor__))
#define HG_ATTR_CONSTRUCTOR_PRIORITY(x) __attribute__((__constructor__(x)))
#define HG_ATTR_DESTRUCTOR __attribute__((__destructor__))
#define HG_ATTR_FALLTHROUGH __attribute__((__fallthrough__))

#endif /* MERCURY_COMPILER_ATTRIBUTES_H */
