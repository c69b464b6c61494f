// SPDX-License-Identifier: BSD-3-Clause
// Counterparts of Mercury's macros that define a struct and its proc function. An aggregate of up to 32 fields needs
// neither; these macros take up to 256 fields, the limit of Boost.Preprocessor.
//
//     CINNABAR_PROC_STRUCT(OpenIn, ((std::uint32_t)(flags))((std::string)(path)))
//
// at namespace scope defines `struct OpenIn { std::uint32_t flags{}; std::string path{}; };`, which can be the argument
// of a call. A type with a comma or a C array needs an alias first (`using Table = std::map<int, int>;`).
//
//     CINNABAR_PROC_FIELDS(Existing, (flags)(path))
//
// in the namespace of Existing makes that type encodable, as these fields in this order. The fields must be accessible.
// The form of CINNABAR_PROC_STRUCT is accepted too; its types are ignored.
#pragma once

#include <cinnabar/rpc/proc.hpp>

#include <boost/preprocessor/arithmetic/sub.hpp>
#include <boost/preprocessor/comparison/greater.hpp>
#include <boost/preprocessor/control/if.hpp>
#include <boost/preprocessor/punctuation/is_begin_parens.hpp>
#include <boost/preprocessor/seq/elem.hpp>
#include <boost/preprocessor/seq/enum.hpp>
#include <boost/preprocessor/seq/for_each.hpp>
#include <boost/preprocessor/seq/size.hpp>
#include <boost/preprocessor/seq/transform.hpp>
#include <boost/preprocessor/tuple/eat.hpp>

#include <tuple>

#define CINNABAR_PROC_STRUCT(Type, fields)                                                                   \
    struct Type {                                                                                            \
        BOOST_PP_SEQ_FOR_EACH(CINNABAR_DETAIL_MEMBER, ~, fields)                                             \
    };                                                                                                       \
    /* Up to 32 fields it stays a plain aggregate, which is copied whole if possible. */                     \
    BOOST_PP_IF(BOOST_PP_GREATER(BOOST_PP_SEQ_SIZE(fields), 32), CINNABAR_PROC_FIELDS, BOOST_PP_TUPLE_EAT()) \
    (Type, fields) static_assert(::cinnabar::rpc::Procable<Type>, "a field of " #Type " cannot be encoded")

#define CINNABAR_PROC_FIELDS(Type, fields)                                                                \
    [[maybe_unused]] inline auto proc_fields(Type& value) {                                               \
        return std::tie(BOOST_PP_SEQ_ENUM(BOOST_PP_SEQ_TRANSFORM(CINNABAR_DETAIL_FIELD, value, fields))); \
    }                                                                                                     \
    static_assert(::cinnabar::rpc::Procable<Type>, "a field of " #Type " cannot be encoded");

#define CINNABAR_DETAIL_MEMBER(r, unused, field) BOOST_PP_SEQ_ELEM(0, field) BOOST_PP_SEQ_ELEM(1, field){};
#define CINNABAR_DETAIL_FIELD(s, value, field) value.CINNABAR_DETAIL_NAME(field)
#define CINNABAR_DETAIL_NAME(field) \
    BOOST_PP_IF(BOOST_PP_IS_BEGIN_PARENS(field), CINNABAR_DETAIL_SECOND, CINNABAR_DETAIL_ITSELF)(field)
#define CINNABAR_DETAIL_SECOND(field) BOOST_PP_SEQ_ELEM(1, field)
#define CINNABAR_DETAIL_ITSELF(field) field
