// SPDX-License-Identifier: BSD-3-Clause
// The three things a `proc` function is run with: Encoder writes into a bounded buffer, Sizer counts, Decoder reads.
// All three are sticky: after the first failure nothing more happens and `error()` keeps the reason. They allocate
// nothing themselves. One object serves one message on one thread.
//
//     template <class P> void proc(P& p, Point& point) { p(point.x, point.y); }
//
// Encoder and Sizer run the same function on a value that must not be changed; `P::decoding` tells the cases apart.
// Formats are in docs/proc-encoding.md.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace cinnabar::rpc {

// How one type is coded; see proc_codec.hpp.
template <class T>
struct Codec;

// Containers and std::unique_ptr inside each other, on both sides: what could not be decoded is not sent either.
inline constexpr std::uint32_t proc_depth_max = 64;

// What decoding one message may allocate: hostile bytes can name small elements that are large in memory. It comes on
// top of the message. 48 bytes for each one are what a sequence of empty std::optional<std::string> takes, or a list of
// single bytes.
struct DecodeLimits {
    std::size_t memory_base_bytes = std::size_t{1} << 20;
    std::size_t memory_per_byte = 48;  // and so many bytes for each byte of the message
    // Asked, in steps, for what goes beyond decode_free_bytes; anything but ok fails the decoder. Null: nobody counts.
    Errc (*charge)(void* payer, std::size_t bytes) noexcept = nullptr;
    void* payer = nullptr;
};
// As much as a message has; nobody is charged for it.
inline constexpr std::size_t decode_free_bytes = std::size_t{16} << 10;

class Encoder {
  public:
    static constexpr bool decoding = false;
    static constexpr bool sizing = false;

    // `out` is where the payload starts, `user` what hand-written functions find in `user()`.
    explicit Encoder(Bytes out, void* user = nullptr) noexcept : writer_(out), user_(user) {}

    template <class... T>
    void operator()(const T&... values) {
        (Codec<T>::write(*this, values), ...);
    }

    [[nodiscard]] bool ok() const noexcept { return writer_.ok(); }
    // too_large when the value did not fit.
    [[nodiscard]] Errc error() const noexcept { return ok() ? Errc::ok : error_; }
    [[nodiscard]] std::size_t position() const noexcept { return writer_.size(); }
    [[nodiscard]] void* user() const noexcept { return user_; }
    void fail(Errc error) noexcept {
        if (ok()) error_ = error;
        writer_.fail();
    }

    // Bytes as they are, without a length.
    void raw(const void* from, std::size_t count) noexcept { writer_.copy_from(from, count); }
    // Zeros up to the next multiple of `alignment` (a power of two, at most 8) from the start of the payload.
    void align(std::size_t alignment) noexcept {
        constexpr std::byte zeros[8] = {};
        raw(zeros, -position() & (alignment - 1));
    }
    // The number of elements that follow; proc_count_max at most.
    void count(std::size_t elements) noexcept {
        if (elements > std::numeric_limits<std::uint32_t>::max()) return fail(Errc::too_large);
        writer_.u32(static_cast<std::uint32_t>(elements));
    }
    // Around what may hold itself. False when it is too deep; leave() only after true.
    [[nodiscard]] bool enter() noexcept {
        if (depth_ == proc_depth_max)
            fail(Errc::too_large);
        else
            ++depth_;
        return ok();
    }
    void leave() noexcept { --depth_; }

  private:
    Writer writer_;
    void* user_;
    std::uint32_t depth_ = 0;
    Errc error_ = Errc::too_large;
};

class Sizer {
  public:
    static constexpr bool decoding = false;
    static constexpr bool sizing = true;
    static constexpr std::size_t unencodable = std::numeric_limits<std::size_t>::max();

    explicit Sizer(void* user = nullptr) noexcept : user_(user) {}

    template <class... T>
    void operator()(const T&... values) {
        (Codec<T>::write(*this, values), ...);
    }

    [[nodiscard]] bool ok() const noexcept { return error_ == Errc::ok; }
    [[nodiscard]] Errc error() const noexcept { return error_; }
    [[nodiscard]] std::size_t position() const noexcept { return position_; }
    // `unencodable` when no buffer is large enough.
    [[nodiscard]] std::size_t size() const noexcept { return ok() ? position_ : unencodable; }
    [[nodiscard]] void* user() const noexcept { return user_; }
    void fail(Errc error) noexcept {
        if (ok()) error_ = error;
    }

    void raw(const void*, std::size_t count) noexcept { position_ += count; }
    void align(std::size_t alignment) noexcept { position_ += -position_ & (alignment - 1); }
    void count(std::size_t elements) noexcept {
        if (elements > std::numeric_limits<std::uint32_t>::max()) return fail(Errc::too_large);
        position_ += sizeof(std::uint32_t);
    }
    [[nodiscard]] bool enter() noexcept {
        if (depth_ == proc_depth_max)
            fail(Errc::too_large);
        else
            ++depth_;
        return ok();
    }
    void leave() noexcept { --depth_; }

  private:
    std::size_t position_ = 0;
    void* user_;
    std::uint32_t depth_ = 0;
    Errc error_ = Errc::ok;
};

class Decoder {
  public:
    static constexpr bool decoding = true;
    static constexpr bool sizing = false;

    // `in` starts where the payload starts, at an address that is a multiple of 8 if it holds views of anything wider
    // than a byte. Views that are decoded live as long as these bytes.
    explicit Decoder(ConstBytes in, void* user = nullptr, DecodeLimits limits = {}) noexcept
        : reader_(in),
          size_(in.size()),
          user_(user),
          memory_left_(in.size() > (std::numeric_limits<std::size_t>::max() - limits.memory_base_bytes) /
                                       (limits.memory_per_byte + 1)
                           ? std::numeric_limits<std::size_t>::max()
                           : limits.memory_base_bytes + in.size() * limits.memory_per_byte),
          charge_(limits.charge),
          payer_(limits.payer) {
        if (!charge_ || memory_left_ <= decode_free_bytes) return;
        memory_unpaid_ = memory_left_ - decode_free_bytes;
        memory_left_ = decode_free_bytes;
    }

    template <class... T>
    void operator()(T&... values) {
        (Codec<T>::read(*this, values), ...);
    }

    [[nodiscard]] bool ok() const noexcept { return reader_.ok(); }
    // protocol when the bytes made no sense or ended early.
    [[nodiscard]] Errc error() const noexcept { return ok() ? Errc::ok : error_; }
    [[nodiscard]] std::size_t left() const noexcept { return reader_.left(); }
    [[nodiscard]] std::size_t position() const noexcept { return size_ - reader_.left(); }
    [[nodiscard]] void* user() const noexcept { return user_; }
    void fail(Errc error) noexcept {
        if (ok()) error_ = error;
        reader_.fail();
    }

    // Fills `to`, which keeps its bytes after a failure.
    void raw(void* to, std::size_t count) noexcept { reader_.copy_to(to, count); }
    // The next bytes in place; empty after a failure.
    [[nodiscard]] ConstBytes view(std::size_t count) noexcept { return reader_.view(count); }
    [[nodiscard]] std::uint8_t u8() noexcept { return reader_.u8(); }
    void align(std::size_t alignment) noexcept {
        for (const std::byte pad : view(-position() & (alignment - 1)))
            if (pad != std::byte{}) return fail(Errc::protocol);
    }
    // The number of elements that follow. Fails, and gives 0, when the bytes left cannot hold so many of at least
    // `each_bytes` (not 0), or when their `memory_each_bytes` would take more memory than is allowed.
    [[nodiscard]] std::size_t count(std::size_t each_bytes, std::size_t memory_each_bytes) noexcept {
        const std::size_t elements = reader_.u32();
        if (elements > left() / each_bytes) {
            fail(Errc::protocol);
            return 0;
        }
        return charge(elements, memory_each_bytes) ? elements : 0;
    }
    // Call before allocating: fails with too_large when the message has had its share of memory, or with what
    // DecodeLimits::charge says.
    [[nodiscard]] bool charge(std::size_t elements, std::size_t memory_each_bytes) noexcept {
        if (memory_each_bytes != 0 && elements > memory_left_ / memory_each_bytes && !pay(elements, memory_each_bytes))
            return false;
        memory_left_ -= elements * memory_each_bytes;
        return ok();
    }
    [[nodiscard]] bool enter() noexcept {
        if (depth_ == proc_depth_max)
            fail(Errc::too_large);
        else
            ++depth_;
        return ok();
    }
    void leave() noexcept { --depth_; }

  private:
    // In steps, so that many small elements do not ask one by one.
    static constexpr std::size_t pay_step_bytes = std::size_t{64} << 10;
    [[gnu::noinline]] bool pay(std::size_t elements, std::size_t memory_each_bytes) noexcept {
        if (!ok()) return false;
        if (elements > (memory_left_ + memory_unpaid_) / memory_each_bytes) {
            fail(Errc::too_large);
            return false;
        }
        const std::size_t missing = elements * memory_each_bytes - memory_left_;
        const std::size_t bytes = std::min(std::max(missing, pay_step_bytes), memory_unpaid_);
        if (const Errc refused = charge_(payer_, bytes); refused != Errc::ok) {
            fail(refused);
            return false;
        }
        memory_unpaid_ -= bytes;
        memory_left_ += bytes;
        return true;
    }

    Reader reader_;
    std::size_t size_;
    void* user_;
    std::size_t memory_left_;  // that is allowed, and paid for
    std::size_t memory_unpaid_ = 0;
    Errc (*charge_)(void*, std::size_t) noexcept;
    void* payer_;
    std::uint32_t depth_ = 0;
    Errc error_ = Errc::protocol;
};

}  // namespace cinnabar::rpc
