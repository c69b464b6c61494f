// SPDX-License-Identifier: BSD-3-Clause
#include "remote_table.hpp"

#include <cinnabar/base/assert.hpp>
#include <cinnabar/hl/share.hpp>
#include <cinnabar/hl/waiter.hpp>

#include <utility>

namespace cinnabar::hl {

SharedBytes::SharedBytes(SharedBytes&& other) noexcept
    : table_(std::move(other.table_)),
      slot_(std::exchange(other.slot_, nullptr)),
      lease_(other.lease_),
      bytes_(std::exchange(other.bytes_, 0)),
      access_(other.access_) {}

SharedBytes& SharedBytes::operator=(SharedBytes&& other) noexcept {
    SharedBytes taken(std::move(other));
    std::swap(table_, taken.table_);
    std::swap(slot_, taken.slot_);
    std::swap(lease_, taken.lease_);
    std::swap(bytes_, taken.bytes_);
    std::swap(access_, taken.access_);
    return *this;
}

SharedBytes::~SharedBytes() {
    if (slot_) table_->drop(*slot_, lease_);
}

RemoteBytes SharedBytes::token(std::uint64_t offset, std::uint64_t bytes, na::Access access, Names names) const {
    CINNABAR_ASSERT(slot_ && offset <= bytes_ && bytes <= bytes_ - offset && na::allows(access_, access));
    RemoteGrant wanted;
    wanted.lease = lease_;
    wanted.version = names == Names::this_version ? 1 : 0;
    wanted.first = offset;
    wanted.bytes = bytes;
    wanted.access = access;
    return table_->token(*slot_, wanted);
}

Result<void> SharedBytes::allow_direct() {
    CINNABAR_ASSERT(slot_);
    return table_->allow_direct(*slot_, lease_, access_);
}

void SharedBytes::renew() noexcept { table_->renew(*slot_, lease_); }

Errc SharedBytes::withdraw() noexcept {
    if (!slot_) return Errc::ok;
    if (const Errc withdrawn = table_->withdraw(*slot_, lease_); withdrawn != Errc::again) return withdrawn;
    if (!Waiter::may_block()) return Errc::would_deadlock;
    table_->await_idle(*slot_, lease_);
    return table_->withdraw(*slot_, lease_);
}

bool SharedBytes::in_use() const noexcept { return slot_ && table_->in_use(*slot_, lease_); }

void SharedBytes::on_notified(std::function<void(const RemoteNotice&)> function) {
    table_->on_notified(*slot_, lease_, std::make_shared<const NoticeFunction>(std::move(function)));
}

Result<SharedBytes> share_bytes(const NodeRef& node, const bulk::Region& memory, na::Access access) {
    return RemoteTable::of(node).share(memory, access);
}

}  // namespace cinnabar::hl
