// SPDX-License-Identifier: BSD-3-Clause
// The coders that a `proc` function is run with: Encoder writes to a bounded buffer, Sizer counts bytes, Decoder reads.
// After its first failure a coder does nothing more, and `error()` returns the reason. Coders do not allocate. Each
// object is for one message and one thread.
//
//     template <class P> void proc(P& p, Point& point) { p(point.x, point.y); }
//
// The same function serves all coders. With an Encoder or a Sizer it must not modify the value; `P::decoding` tells
// whether it runs with a Decoder. The format is in docs/proc-encoding.md.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/error.hpp>
#include <cinnabar/base/smaller.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace cinnabar::rpc {

// How values of type T are coded (proc_codec.hpp).
template <class T>
struct Codec;

// The maximum nesting of containers and std::unique_ptr. The limit applies to encoding, too, so that everything that is
// sent can be decoded.
inline constexpr std::uint32_t proc_depth_max = 64;

// Limits the memory that decoding one message may allocate, in addition to the message itself: hostile bytes can encode
// small elements that are large in memory. 48 bytes per byte of the message are enough for a sequence of empty
// std::optional<std::string>, or a list of single bytes.
struct DecodeLimits {
    std::size_t memory_base_bytes = std::size_t{1} << 20;
    std::size_t memory_per_byte = 48;  // plus this many bytes per byte of the message
    // Called before decoding allocates more than decode_free_bytes, with the bytes to charge: usually more bytes than
    // are needed now, so that small elements do not cause a call each. Any result but ok fails the decoder. Null:
    // memory is not charged.
    Errc (*charge)(void* payer, std::size_t bytes) noexcept = nullptr;
    void* payer = nullptr;
};
// Memory that each message may use without being charged: about the size of a message.
inline constexpr std::size_t decode_free_bytes = std::size_t{16} << 10;

class Encoder {
  public:
    static constexpr bool decoding = false;
    static constexpr bool sizing = false;

    // `out` starts where the payload starts. `user` is returned by user(), for hand-written functions.
    explicit Encoder(Bytes out, void* user = nullptr) noexcept : writer_(out), user_(user) {}

    template <class... T>
    void operator()(const T&... values) {
        (Codec<T>::write(*this, values), ...);
    }

    [[nodiscard]] bool ok() const noexcept { return writer_.ok(); }
    // too_large: the value did not fit.
    [[nodiscard]] Errc error() const noexcept { return ok() ? Errc::ok : error_; }
    [[nodiscard]] std::size_t position() const noexcept { return writer_.size(); }
    [[nodiscard]] void* user() const noexcept { return user_; }
    void fail(Errc error) noexcept {
        if (ok()) error_ = error;
        writer_.fail();
    }

    // Writes the bytes without a length.
    void raw(const void* from, std::size_t count) noexcept { writer_.copy_from(from, count); }
    // Writes zeros up to the next multiple of `alignment` (a power of two, at most 8), counted from the start of the
    // payload.
    void align(std::size_t alignment) noexcept {
        constexpr std::byte zeros[8] = {};
        raw(zeros, -position() & (alignment - 1));
    }
    // Writes the number of the elements that follow. too_large: more than 2^32 - 1.
    void count(std::size_t elements) noexcept {
        if (elements > std::numeric_limits<std::uint32_t>::max()) return fail(Errc::too_large);
        writer_.u32(static_cast<std::uint32_t>(elements));
    }
    // Call enter() before a value that may be nested. False: the value is nested too deeply, or there was an error
    // before. After true, call leave() after the value.
    [[nodiscard]] bool enter() noexcept {
        if (depth_ == proc_depth_max)
            fail(Errc::too_large);
        else
            ++depth_;
        return ok();
    }
    void leave() noexcept { --depth_; }

  private:
    ByteWriter writer_;
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
    // `unencodable`: no buffer is large enough.
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

    // Reads `in`, which starts where the payload starts, and is 8-byte aligned if the value contains views of elements
    // wider than a byte. Decoded views point into `in`.
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
    // protocol: the bytes are malformed or end early.
    [[nodiscard]] Errc error() const noexcept { return ok() ? Errc::ok : error_; }
    [[nodiscard]] std::size_t left() const noexcept { return reader_.left(); }
    [[nodiscard]] std::size_t position() const noexcept { return size_ - reader_.left(); }
    [[nodiscard]] void* user() const noexcept { return user_; }
    void fail(Errc error) noexcept {
        if (ok()) error_ = error;
        reader_.fail();
    }

    // Fills `to`; leaves it unchanged after a failure.
    void raw(void* to, std::size_t count) noexcept { reader_.copy_to(to, count); }
    // The next `count` bytes, without copying; empty after a failure.
    [[nodiscard]] ConstBytes view(std::size_t count) noexcept { return reader_.view(count); }
    [[nodiscard]] std::uint8_t u8() noexcept { return reader_.u8(); }
    void align(std::size_t alignment) noexcept {
        for (const std::byte pad : view(-position() & (alignment - 1)))
            if (pad != std::byte{}) return fail(Errc::protocol);
    }
    // Reads the number of the elements that follow. Fails, and returns 0, if the bytes left cannot hold that many
    // elements of at least `each_bytes` (not 0), or if elements of `memory_each_bytes` would take more memory than
    // allowed.
    [[nodiscard]] std::size_t count(std::size_t each_bytes, std::size_t memory_each_bytes) noexcept {
        const std::size_t elements = reader_.u32();
        if (elements > left() / each_bytes) {
            fail(Errc::protocol);
            return 0;
        }
        return charge(elements, memory_each_bytes) ? elements : 0;
    }
    // Call before allocating. Fails with too_large if the message would exceed its memory limit, or with the result of
    // DecodeLimits::charge.
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
    // The smallest step, so that many small elements do not cause a call of `charge` each.
    static constexpr std::size_t pay_step_bytes = std::size_t{64} << 10;
    [[gnu::noinline]] bool pay(std::size_t elements, std::size_t memory_each_bytes) noexcept {
        if (!ok()) return false;
        if (elements > (memory_left_ + memory_unpaid_) / memory_each_bytes) {
            fail(Errc::too_large);
            return false;
        }
        const std::size_t missing = elements * memory_each_bytes - memory_left_;
        const std::size_t bytes = smaller_of(larger_of(missing, pay_step_bytes), memory_unpaid_);
        if (const Errc refused = charge_(payer_, bytes); refused != Errc::ok) {
            fail(refused);
            return false;
        }
        memory_unpaid_ -= bytes;
        memory_left_ += bytes;
        return true;
    }

    ByteReader reader_;
    std::size_t size_;
    void* user_;
    std::size_t memory_left_;  // may be allocated without a further charge
    std::size_t memory_unpaid_ = 0;
    Errc (*charge_)(void*, std::size_t) noexcept;
    void* payer_;
    std::uint32_t depth_ = 0;
    Errc error_ = Errc::protocol;
};

}  // namespace cinnabar::rpc
