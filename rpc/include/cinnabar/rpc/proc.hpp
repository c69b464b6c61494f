// SPDX-License-Identifier: BSD-3-Clause
// proc: encodes arguments and results to bytes and decodes them. Aggregates, numbers, enums and the standard types of
// proc_std.hpp need nothing. Any other type needs one of these functions, found by ADL or as a member:
//
//     auto proc_fields(Type& v) { return std::tie(v.a, v.b); }                   // a record, like an aggregate
//     template <class P> void proc(P& p, Type& v) { p(v.a); if (v.a) p(v.b); }   // anything; P: see proc_coder.hpp
//     template <class P> void proc(P& p);                                        // the same as a member function
//
// The format is in docs/proc-encoding.md. The functions here have no state: any thread may call them. They do not
// throw.
#pragma once

#include <cinnabar/rpc/proc_codec.hpp>
#include <cinnabar/rpc/proc_coder.hpp>
#include <cinnabar/rpc/proc_shape.hpp>
#include <cinnabar/rpc/proc_shape_hash.hpp>
#include <cinnabar/rpc/proc_std.hpp>

#include <cstring>
#include <new>
#include <stdexcept>

namespace cinnabar::rpc {

// For calls without an argument or a result; encoded to no bytes.
struct Empty {
    friend bool operator==(const Empty&, const Empty&) = default;
};

// T can be an argument or a result: encode, decode and shape_of accept it.
template <class T>
concept Procable = !std::is_reference_v<T> && detail::supported<T>(TypeList<>{});

namespace detail {

// Runs f and turns exceptions of user code and allocators into a failure of the coder.
template <class P, class F>
void guarded(P& p, Errc otherwise, F&& f) noexcept {
    try {
        f();
    } catch (const std::bad_alloc&) {
        p.fail(Errc::out_of_memory);
    } catch (const std::length_error&) {
        p.fail(Errc::too_large);
    } catch (...) {
        p.fail(otherwise);
    }
}

template <class T>
void take_default(T& field, T& fresh) {
    if constexpr (std::is_array_v<T>)
        for (std::size_t i = 0; i < std::size(field); ++i) take_default(field[i], fresh[i]);
    else
        field = std::move(fresh);
}

// The outermost record may end early: if no bytes are left for a field, that field and all after it get their defaults.
template <class T>
void read_outermost(Decoder& in, T& value) {
    if constexpr (!Record<T>) {
        in(value);
    } else {
        std::size_t present = 0;
        visit_fields(value, [&](auto&... fields) {
            (void)(true && ... && (in.left() != 0 ? (in(fields), ++present, in.ok()) : false));
        });
        if (!in.ok() || present == FieldTypes<T>::size) return;
        T fresh{};
        visit_fields(value, [&](auto&... fields) {
            visit_fields(fresh, [&](auto&... defaults) {
                std::size_t index = 0;
                ((index++ >= present ? take_default(fields, defaults) : void()), ...);
            });
        });
    }
}

}  // namespace detail

// The number of bytes that encode() will write for `value`; Sizer::unencodable: no buffer is large enough.
template <class T>
[[nodiscard]] std::size_t proc_size(const T& value, void* user = nullptr) noexcept {
    Sizer sizer(user);
    detail::guarded(sizer, Errc::invalid_argument, [&] { sizer(value); });
    return sizer.size();
}

// Encodes `value` to the start of `out`. `used`: the number of bytes written; 0 after a failure. Does not allocate.
//   too_large         `value` does not fit in `out` (see proc_size), is nested deeper than proc_depth_max, or has a
//                     container of more than 2^32 - 1 elements
//   invalid_argument  a variant without a value, or a hand-written proc function that threw or that encoded an element
//                     of a container to no bytes
// After a failure `out` may contain a part of the value.
template <class T>
[[nodiscard]] Errc encode(Bytes out, const T& value, std::size_t& used, void* user = nullptr) noexcept {
    // As in decode(). An array without elements is larger than its encoding.
    if constexpr (Codec<T>::flat && Codec<T>::allowed && Codec<T>::min_size == sizeof(T)) {
        const bool fits = out.size() >= sizeof(T);
        if (fits) std::memcpy(out.data(), &value, sizeof(T));
        used = fits ? sizeof(T) : 0;
        return fits ? Errc::ok : Errc::too_large;
    }
    Encoder encoder(out, user);
    detail::guarded(encoder, Errc::invalid_argument, [&] { encoder(value); });
    used = encoder.ok() ? encoder.position() : 0;
    return encoder.error();
}

// Decodes the untrusted payload `in` to `out`. Views in `out` point into `in`. Bytes after the value are ignored. After
// a failure `out` is valid, but its value is unspecified.
//   protocol          the bytes are not an encoded T, or end within a field
//   too_large         nested too deeply, or decoding would take more memory than `limits` allow
//   overloaded, ...   the result of `limits.charge`
//   out_of_memory     an allocation failed
//   invalid_argument  T has views of elements wider than a byte, and `in` does not start at a multiple of 8
template <class T>
[[nodiscard]] Errc decode(ConstBytes in, T& out, void* user = nullptr, DecodeLimits limits = {}) noexcept {
    if constexpr (Codec<T>::any_bits) {  // the whole hot path for small arguments
        if (in.size() >= sizeof(T)) {
            std::memcpy(&out, in.data(), sizeof(T));
            return Errc::ok;
        }
    }
    Decoder decoder(in, user, limits);
    detail::guarded(decoder, Errc::protocol, [&] { detail::read_outermost(decoder, out); });
    return decoder.error();
}

}  // namespace cinnabar::rpc
