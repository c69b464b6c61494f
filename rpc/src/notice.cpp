// SPDX-License-Identifier: BSD-3-Clause
#include "context_core.hpp"
#include "notices.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/rpc/context.hpp>

#include <new>
#include <utility>

namespace cinnabar::rpc {

bool Notices::enter(Notice& notice) noexcept {
    if (free_.empty()) {
        if (slots_.size() == slots_max) return false;
        try {
            free_.reserve(slots_.size() + 1);
            slots_.emplace_back();
        } catch (const std::bad_alloc&) {
            return false;
        }
        free_.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Slot& slot = slots_[index];
    slot.notice = &notice;
    notice.value_ = std::uint32_t{++slot.uses} << index_bits | index;
    return true;
}

void Notices::leave(const Notice& notice) noexcept {
    const std::uint32_t index = notice.value_ & (slots_max - 1);
    slots_[index].notice = nullptr;
    free_.push_back(index);  // does not allocate: capacity is reserved
}

void Notices::end_all(Errc why) noexcept {
    for (const Slot& slot : slots_) {
        if (slot.notice) slot.notice->finish(why);
    }
}

Notice* Notices::find(const na::Peer& peer, std::uint32_t value) const noexcept {
    const std::uint32_t index = value & (slots_max - 1);
    Notice* const notice = index < slots_.size() ? slots_[index].notice : nullptr;
    if (!notice || notice->value_ != value) return nullptr;
    return notice->from_ == peer.addr() ? notice : nullptr;
}

bool Notices::expects(const Notice& notice) const noexcept {
    return slots_[notice.value_ & (slots_max - 1)].notice == &notice;
}

Notice::~Notice() { CINNABAR_ASSERT(!core_); }

Errc Notice::expect(Context& context, const na::Addr& from, Function done, void* user) noexcept {
    CINNABAR_ASSERT(!core_ && done);
    ContextCore& core = *context.core_;
    if (core.closing_) return Errc::closed;
    from_ = from;
    done_ = done;
    user_ = user;
    core.owned([&] {
        if (core.notices.enter(*this)) core_ = &core;
    });
    return core_ ? Errc::ok : Errc::overloaded;
}

void Notice::close(Errc why) noexcept {
    if (!core_) return;
    core_->owned([&] {
        if (core_->notices.expects(*this)) finish(why);
    });
}

// Owner of the context only.
void Notice::finish(Errc result) noexcept {
    core_->notices.leave(*this);
    result_ = result;
    work_.user = this;
    work_.run = [](WorkItem& work) noexcept {
        auto& self = *static_cast<Notice*>(work.user);
        self.core_ = nullptr;
        self.done_(self.result_, self.user_);  // the function may destroy the notice
    };
    core_->na->enqueue(work_);
}

void ContextCore::on_notify(na::Peer& peer, std::uint32_t value) noexcept {
    if (Notice* const notice = notices.find(peer, value)) notice->finish(Errc::ok);
}

}  // namespace cinnabar::rpc
