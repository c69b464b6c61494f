// SPDX-License-Identifier: BSD-3-Clause
// Handles decoded from a description of the class's own memory. Such a handle finds its original by a secret each time
// it is used, because the original may have been freed in the meantime.
#include "bulk.hpp"
#include "errors.hpp"

#include <cinnabar/base/random.hpp>

using namespace cinnabar;

namespace cinnabar::mercury {
namespace {

// Requires: described_mutex is held.
hg_bulk* find_described(hg_class& owner, std::uint64_t secret) noexcept {
    const auto found = owner.described.find(secret);
    return found == owner.described.end() ? nullptr : found->second;
}

}  // namespace

// A secret is used so that a peer can only name memory whose description it was given.
hg_return_t remember_description(hg_bulk& bulk) noexcept {
    return guarded([&] {
        const std::lock_guard lock(bulk.owner->described_mutex);
        if (bulk.secret != 0) return HG_SUCCESS;
        const std::uint64_t secret = secret_u64();
        bulk.owner->described.emplace(secret, &bulk);
        bulk.secret = secret;
        return HG_SUCCESS;
    });
}

void forget_description(hg_bulk& bulk) noexcept {
    hg_class& owner = *bulk.owner;
    std::unique_lock lock(owner.described_mutex);
    if (bulk.secret == 0) return;
    owner.described.erase(bulk.secret);
    owner.original_left.wait(lock, [&bulk] { return bulk.users == 0; });
}

bool recognise_own(hg_class& owner, std::uint64_t secret, hg_bulk& made) noexcept {
    const std::lock_guard lock(owner.described_mutex);
    hg_bulk* const found = find_described(owner, secret);
    if (!found || found->bytes != made.bytes || found->segment_count != made.segment_count ||
        found->flags != made.flags) {
        return false;
    }
    made.original = secret;
    made.is_remote = false;
    made.encoded.clear();
    made.remote = {};
    if (made.is_bound) made.bound.addr = owner_of(*found);
    return true;
}

hg_bulk* keep_original(hg_bulk& bulk) noexcept {
    const std::lock_guard lock(bulk.owner->described_mutex);
    hg_bulk* const original = find_described(*bulk.owner, bulk.original);
    std::int32_t references = original ? original->references.load(std::memory_order_relaxed) : 0;
    while (references != 0) {  // 0: it is being freed
        if (original->references.compare_exchange_weak(references, references + 1)) return original;
    }
    return nullptr;
}

Original::Original(hg_bulk& bulk) noexcept : bulk_(&bulk) {
    if (bulk.original == 0) return;
    const std::lock_guard lock(bulk.owner->described_mutex);
    bulk_ = find_described(*bulk.owner, bulk.original);
    is_counted_ = bulk_ != nullptr;
    if (is_counted_) ++bulk_->users;
}

Original::~Original() {
    if (!is_counted_) return;
    hg_class& owner = *bulk_->owner;
    const std::lock_guard lock(owner.described_mutex);
    if (--bulk_->users == 0) owner.original_left.notify_all();
}

}  // namespace cinnabar::mercury
