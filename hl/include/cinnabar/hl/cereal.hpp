// SPDX-License-Identifier: BSD-3-Clause
// The bridge to cereal: a type with a cereal serialize, save and load, or their minimal and versioned forms, and any
// type that cereal's own headers teach it (std::shared_ptr, ...) can be an argument, or a part of one. What proc can
// send by itself, it still does. Include this before such a type is used in a call, in every file that does.
//
// Bytes from the peer are bounded as proc's own are: counts by the bytes left (an element has at least one byte) and
// the memory allowed, nesting by `cereal_depth_max`; cereal's exceptions become Errc::protocol.
#pragma once

#include <cinnabar/rpc/proc.hpp>

#include <cereal/cereal.hpp>

#include <cstdint>
#include <type_traits>

namespace cinnabar::hl {

// Values within values that cereal handles, each container and its element being one; proc has a limit of its own.
inline constexpr std::uint32_t cereal_depth_max = 200;
// What an element of a cereal container is charged; its true size is not known when it is counted.
inline constexpr std::size_t cereal_element_bytes = 32;

// Each value that goes over the bridge has an archive of its own: pointers are shared within it, not between two.
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

    // Throws when the bytes end, so that nothing is built from what is not there.
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

// Called by cereal around every value; those of the input may not be initialised yet.
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

// Called by cereal, which finds them by the archive's namespace.
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
        T number{};  // so that `value` is written on every path that compilers can think of
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
    cereal::traits::is_output_serializable<T, ProcOutputArchive>::value &&
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
