// SPDX-License-Identifier: BSD-3-Clause
// DirectLease: the lease by which processes of this host access a shared memory by themselves (share.hpp,
// SharedBytes::allow_direct). The lease ends with the sharing. The memory is not freed while a process is still in an
// access.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/bulk/lend.hpp>
#include <cinnabar/bulk/region.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace cinnabar::hl {

class DirectLease final : private bulk::Lend {
  public:
    // The longest key of a transport whose memory can be mapped.
    static constexpr std::size_t key_bytes_max = 32;

    // Only make() calls this.
    DirectLease() = default;

    // unsupported: no process could map that memory. Otherwise the error of granting a lease.
    [[nodiscard]] static Result<std::unique_ptr<DirectLease>> make(const bulk::Region& memory, na::Access access,
                                                                   const std::shared_ptr<na::Transport>& transport);
    // What a process needs to map the memory.
    [[nodiscard]] ConstBytes key() const noexcept { return ConstBytes(key_).first(key_bytes_); }

    // Ends the lease. ok: nobody can access the memory by the lease any more. busy: a process is stopped in an access,
    // for which end() has waited up to 100 ms; call end() again. One thread at a time.
    [[nodiscard]] Errc end() noexcept;
    // Ends the lease, and frees it once it has ended.
    static void drop(std::unique_ptr<DirectLease> lease) noexcept;
    // Frees the lease once it has ended. Requires: end() has returned busy.
    static void abandon(std::unique_ptr<DirectLease> lease) noexcept;

  private:
    enum class State : std::uint8_t { granted, fencing, fenced, abandoned };
    static void on_fenced(WorkItem& work) noexcept;
    void bury() noexcept;

    std::array<std::byte, key_bytes_max> key_{};
    std::size_t key_bytes_ = 0;
    std::atomic<State> state_{State::granted};
};

}  // namespace cinnabar::hl
