// SPDX-License-Identifier: BSD-3-Clause
#include "direct_lease.hpp"

#include <utility>

namespace cinnabar::hl {
namespace {

Error not_mapped() {
    return {Errc::unsupported,
            "only memory from NodeRef::allocate, of a node that has shm, can be accessed by other processes directly"};
}

}  // namespace

Result<std::unique_ptr<DirectLease>> DirectLease::make(const bulk::Region& memory, na::Access access,
                                                       const std::shared_ptr<na::Transport>& transport) {
    if (memory.is_far()) return not_mapped();
    auto made = std::make_unique<DirectLease>();
    if (const Errc refused = made->grant(memory, access, transport); refused != Errc::ok) return Error(refused);
    const std::size_t bytes = transport->described_bytes(made->lease());
    if (bytes > key_bytes_max || !transport->keep_to_direct(made->lease())) {
        drop(std::move(made));
        return not_mapped();
    }
    ByteWriter writer(made->key_);
    transport->describe(made->lease(), writer);
    made->key_bytes_ = bytes;
    return made;
}

Errc DirectLease::end() noexcept {
    if (state_.load(std::memory_order_relaxed) == State::granted) {
        state_.store(State::fencing, std::memory_order_relaxed);
        fenced.run = &DirectLease::on_fenced;
        return revoke() == Errc::ok ? Errc::ok : Errc::busy;
    }
    if (state_.load(std::memory_order_acquire) != State::fenced) return Errc::busy;
    if (!quarantined()) return Errc::ok;
    if (is_accessed()) return Errc::busy;
    forget();
    return Errc::ok;
}

void DirectLease::drop(std::unique_ptr<DirectLease> lease) noexcept {
    if (lease->end() != Errc::ok) abandon(std::move(lease));
}

void DirectLease::abandon(std::unique_ptr<DirectLease> lease) noexcept {
    DirectLease* const left = lease.release();
    if (left->state_.exchange(State::abandoned, std::memory_order_acq_rel) == State::fenced) left->bury();
}

void DirectLease::on_fenced(WorkItem& work) noexcept {
    auto& lease = static_cast<DirectLease&>(Lend::of(work));
    if (lease.state_.exchange(State::fenced, std::memory_order_acq_rel) == State::abandoned) lease.bury();
}

// A process that is stopped in an access may write later, so then the memory stays with the lease for good.
void DirectLease::bury() noexcept {
    if (quarantined()) {
        if (is_accessed()) return;
        forget();
    }
    delete this;
}

}  // namespace cinnabar::hl
