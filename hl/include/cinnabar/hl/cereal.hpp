// SPDX-License-Identifier: BSD-3-Clause
// Adapter for cereal: a type that cereal can serialize (by serialize, by save and load, by their minimal or versioned
// forms, or by one of cereal's headers, such as std::shared_ptr) can be an argument or a part of one. Types that proc
// can encode by itself do not go through cereal. Every file that uses one of cereal's types in a call must include this
// header first.
//
// Input from the peer is limited as for proc. The number of elements is limited by the bytes that are left, because an
// element takes at least one byte, and by the memory allowed; `cereal_depth_max` limits the nesting. Exceptions of
// cereal become Errc::protocol.
#pragma once

#include <cinnabar/rpc/proc.hpp>

#include <cereal/cereal.hpp>

#include <cstdint>
#include <type_traits>

namespace cinnabar::hl {

// The maximum number of levels to which values that cereal handles may nest; a container is one level, and its element
// another. proc has its own limit.
inline constexpr std::uint32_t cereal_depth_max = 200;
// The memory charged for an element of a cereal container, whose true size is not known when the count is read.
inline constexpr std::size_t cereal_element_bytes = 32;

// Each value that cereal encodes has its own archive: pointers are shared within one value, not between two.
class ProcOutputArchive : public cereal::OutputArchive<ProcOutputArchive, cereal::AllowEmptyClassElision> {
  public:
    explicit ProcOutputArchive(rpc::Encoder& encoder) : OutputArchive(this), encoder_(&encoder) {}
    explicit ProcOutputArchive(rpc::Sizer& sizer) : OutputArchive(this), sizer_(&sizer) {}

    void write(const void* from, std::size_t count) {
        if (encoder_ != nullptr)
            encoder_->raw(from, count);
        else
            sizer_->raw(from, count);
    }
    void enter() {
        if (++depth_ <= cereal_depth_max) return;
        if (encoder_ != nullptr)
            encoder_->fail(Errc::too_large);
        else
            sizer_->fail(Errc::too_large);
        throw cereal::Exception("nested too deeply");
    }
    void leave() { --depth_; }

  private:
    rpc::Encoder* encoder_ = nullptr;
    rpc::Sizer* sizer_ = nullptr;
    std::uint32_t depth_ = 0;
};

class ProcInputArchive : public cereal::InputArchive<ProcInputArchive, cereal::AllowEmptyClassElision> {
  public:
    explicit ProcInputArchive(rpc::Decoder& decoder) : InputArchive(this), decoder_(decoder) {}

    // Throws at the end of the input, so that cereal does not go on with values that were never read.
    void read(void* to, std::size_t count) {
        decoder_.raw(to, count);
        check();
    }
    [[nodiscard]] std::uint64_t read_count() {
        std::uint64_t count = 0;
        read(&count, sizeof(count));
        if (count > decoder_.left())
            decoder_.fail(Errc::protocol);
        else
            (void)decoder_.charge(static_cast<std::size_t>(count), cereal_element_bytes);
        check();
        return count;
    }
    void fail(Errc error) {
        decoder_.fail(error);
        check();
    }
    void enter() {
        if (++depth_ > cereal_depth_max) fail(Errc::too_large);
    }
    void leave() { --depth_; }

  private:
    void check() const {
        if (!decoder_.ok()) throw cereal::Exception("malformed payload");
    }
    rpc::Decoder& decoder_;
    std::uint32_t depth_ = 0;
};

// Called by cereal around every value. Values to be loaded may not be initialised yet.
template <class T>
void prologue(ProcOutputArchive& archive, const T&) {
    archive.enter();
}
template <class T>
void epilogue(ProcOutputArchive& archive, const T&) {
    archive.leave();
}
template <class T>
requires(!std::is_const_v<T>) void prologue(ProcInputArchive& archive, T&) { archive.enter(); }
template <class T>
requires(!std::is_const_v<T>) void epilogue(ProcInputArchive& archive, T&) { archive.leave(); }

// Called by cereal, which finds them by argument-dependent lookup.
template <rpc::detail::Scalar T>
requires std::is_arithmetic_v<T>
void CEREAL_SAVE_FUNCTION_NAME(ProcOutputArchive& archive, const T& value) { archive.write(&value, sizeof(T)); }
template <rpc::detail::Scalar T>
requires std::is_arithmetic_v<T>
void CEREAL_LOAD_FUNCTION_NAME(ProcInputArchive& archive, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
        std::uint8_t byte = 0;
        archive.read(&byte, 1);
        if (byte > 1) archive.fail(Errc::protocol);
        value = byte == 1;
    } else {
        T number{};  // keeps compilers from warning that `value` may be uninitialised
        archive.read(&number, sizeof(T));
        value = number;
    }
}
template <class T>
void CEREAL_SAVE_FUNCTION_NAME(ProcOutputArchive& archive, const cereal::BinaryData<T>& data) {
    archive.write(data.data, static_cast<std::size_t>(data.size));
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(ProcInputArchive& archive, cereal::BinaryData<T>& data) {
    archive.read(data.data, static_cast<std::size_t>(data.size));
}
template <class T>
void CEREAL_SAVE_FUNCTION_NAME(ProcOutputArchive& archive, const cereal::SizeTag<T>& count) {
    const auto wide = static_cast<std::uint64_t>(count.size);
    archive.write(&wide, sizeof(wide));
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(ProcInputArchive& archive, cereal::SizeTag<T>& count) {
    count.size = static_cast<std::remove_reference_t<T>>(archive.read_count());
}
template <class T>
void CEREAL_SAVE_FUNCTION_NAME(ProcOutputArchive& archive, const cereal::NameValuePair<T>& pair) {
    archive(pair.value);
}
template <class T>
void CEREAL_LOAD_FUNCTION_NAME(ProcInputArchive& archive, cereal::NameValuePair<T>& pair) {
    archive(pair.value);
}

namespace detail {

template <class T>
concept ThroughCereal =
    std::is_class_v<T> && !std::is_const_v<T> && !rpc::detail::HandWritten<T> && !rpc::detail::Record<T> &&
    !rpc::detail::FilePath<T> && cereal::traits::is_output_serializable<T, ProcOutputArchive>::value &&
    cereal::traits::is_input_serializable<T, ProcInputArchive>::value;

}  // namespace detail
}  // namespace cinnabar::hl

CEREAL_REGISTER_ARCHIVE(cinnabar::hl::ProcOutputArchive)
CEREAL_REGISTER_ARCHIVE(cinnabar::hl::ProcInputArchive)
CEREAL_SETUP_ARCHIVE_TRAITS(cinnabar::hl::ProcInputArchive, cinnabar::hl::ProcOutputArchive)

namespace cinnabar::rpc {

// Opaque to proc, like a type with a proc function.
template <hl::detail::ThroughCereal T>
struct Codec<T> {
    static constexpr detail::Kind kind{'x', detail::shape_number<T>()};
    using Parts = TypeList<>;
    static constexpr bool allowed = std::is_default_constructible_v<T>;
    static constexpr std::size_t min_size = 1;
    static constexpr bool fixed = false;
    static constexpr std::size_t alignment = 1;
    static constexpr bool flat = false;
    static constexpr bool any_bits = false;

    template <class Out>
    static void write(Out& out, const T& value) {
        hl::ProcOutputArchive archive(out);
        archive(value);
    }
    static void read(Decoder& in, T& value) {
        if (!in.ok()) return;
        hl::ProcInputArchive archive(in);
        archive(value);
    }
};

}  // namespace cinnabar::rpc
