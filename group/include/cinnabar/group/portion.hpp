// SPDX-License-Identifier: BSD-3-Clause
// Portion: this member's part of the memory that a bulk call moves. The handler of the call gets the Portion as an
// argument.
//
//     group.serve_bulk(load, [&](const Step& step, Portion portion) -> Task<Result<void>> {
//         co_return co_await portion.receive(weights);
//     });
//
// A cheap handle for one task. The bytes of a Portion can be transferred once, while the handler runs; the handler's
// memory must live until receive() or send() has returned.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/bulk/region.hpp>
#include <cinnabar/hl/buffers.hpp>
#include <cinnabar/hl/task.hpp>

#include <cstdint>
#include <memory>

namespace cinnabar::group {

class PortionState;

class CINNABAR_API Portion {
  public:
    explicit Portion(std::shared_ptr<PortionState> state) noexcept : state_(std::move(state)) {}

    [[nodiscard]] std::uint64_t bytes() const noexcept;

    // broadcast_bulk and scatter_bulk: receives all bytes into `into`, whose size must be bytes(). In a broadcast, the
    // members below this one fetch the bytes from `into` while they arrive. So receive() returns only when those
    // members have all bytes too, or have been given up; from then on nobody else uses the memory. Do not change the
    // memory before receive() returns. If the member above dies, another process takes over and sends the rest.
    // invalid_argument: `into` has another size. permission: the call is a gather, or the memory is read-only. busy:
    // the portion was moved already. closed: the handler has ended. bad_checksum. timed_out, canceled: the call timed
    // out or was canceled; any part of the memory may have been written.
    [[nodiscard]] hl::Task<Result<void>> receive(bulk::Region into) const;
    [[nodiscard]] hl::Task<Result<void>> receive(Bytes into) const;
    // As receive(), but receives into a buffer of the node, and returns the bytes as an array of T. invalid_argument:
    // bytes() is not a multiple of the size of T. Also the errors of hl::Buffers::take().
    template <typename T>
    [[nodiscard]] hl::Task<Result<hl::Fetched<T>>> fetch() const {
        static_assert(std::is_trivially_copyable_v<T> && !std::is_const_v<T>,
                      "cinnabar: only values of trivially copyable types move in bulk");
        return fetch_as<T>(*this);
    }

    // gather_bulk: sends all bytes of `from`, whose size must be bytes(), to the caller. Errors as for receive(), but
    // permission: the call is not a gather.
    [[nodiscard]] hl::Task<Result<void>> send(bulk::Region from) const;
    [[nodiscard]] hl::Task<Result<void>> send(ConstBytes from) const;

  private:
    template <typename T>
    static hl::Task<Result<hl::Fetched<T>>> fetch_as(Portion self) {
        if (self.bytes() % sizeof(T) != 0)
            co_return Error(Errc::invalid_argument, "the bytes are not a multiple of the size of the type to fetch");
        if (self.bytes() == 0) co_return hl::Fetched<T>();
        auto buffer = self.buffer();
        if (!buffer) co_return buffer.error();
        auto receiving = self.receive(buffer->region());
        const Result<void> received = co_await receiving;
        if (!received) co_return received.error();
        co_return hl::Fetched<T>(*std::move(buffer));
    }
    [[nodiscard]] Result<hl::Buffer> buffer() const;
    std::shared_ptr<PortionState> state_;
};

}  // namespace cinnabar::group
