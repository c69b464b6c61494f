// SPDX-License-Identifier: BSD-3-Clause
// Shares memory, makes and checks tokens, withdraws and frees shared memory, carries out short operations (reads,
// writes, words) under the lock of the slot, and registers transfers, so that transfers can be stopped.
#include "remote_table.hpp"

#include "node_core.hpp"
#include "remote_seal.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/base/test_yield.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

namespace cinnabar::hl {
namespace {

// False: more than descriptor_segments_max.
bool append_segments(const bulk::Region& part, std::vector<na::Segment>& out) {
    const auto ends = part.segment_ends();
    std::uint64_t offset = part.offset();
    std::uint64_t left = part.bytes();
    auto at = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), offset) - ends.begin());
    for (; left > 0; ++at) {
        const na::Segment& segment = part.segments()[at];
        const std::uint64_t skip = offset - (ends[at] - segment.bytes);
        const std::uint64_t take = std::min<std::uint64_t>(segment.bytes - skip, left);
        if (out.size() == bulk::descriptor_segments_max) return false;
        out.push_back({segment.base + skip, take});
        offset += take;
        left -= take;
    }
    return true;
}

// The number of segments that this slice touches.
std::size_t segments_of(const bulk::Region& part) {
    const auto ends = part.segment_ends();
    const auto first = std::upper_bound(ends.begin(), ends.end(), part.offset());
    const auto last = std::lower_bound(first, ends.end(), part.offset() + part.bytes());
    return static_cast<std::size_t>(last - first) + 1;
}

void copy_out(const bulk::Region& memory, std::uint64_t offset, Bytes to) noexcept { memory.copy_out(offset, to); }
void copy_in(const bulk::Region& memory, std::uint64_t offset, ConstBytes from) noexcept {
    memory.copy_in(offset, from);
}

template <typename W>
std::uint64_t apply_word(std::byte* at, const remote_calls::Word& call) noexcept {
    const std::atomic_ref<W> word(*reinterpret_cast<W*>(at));
    const auto value = static_cast<W>(call.value);
    auto before = static_cast<W>(call.expected);
    switch (call.op) {
        case detail::WordOp::fetch_add:
            return word.fetch_add(value);
        case detail::WordOp::exchange:
            return word.exchange(value);
        case detail::WordOp::compare_swap:
            (void)word.compare_exchange_strong(before, value);
            return before;
    }
    return 0;
}

}  // namespace

// A call of the program's notice function. The call cannot be stopped; withdraw() waits for it, since the program may
// free data that the function uses when withdraw() has returned.
struct RemoteTable::Notifying {
    RemoteTable& table;
    SharedUse use;
    std::shared_ptr<const NoticeFunction> function;  // null: not counted

    ~Notifying() {
        if (!function) return;
        function = nullptr;
        table.end(use);
    }
};

RemoteTable::RemoteTable(NodeCore& node) : node_(node), id_(secret_u64()), slots_(ThreadUse::many, shares_max) {}

RemoteTable& RemoteTable::of(const NodeRef& node) noexcept { return node.core_->remote_table(); }

na::Addr RemoteTable::own_address() {
    const std::lock_guard lock(mutex_);
    return own_;
}

void RemoteTable::is_awaited_by(Executor& executor) noexcept {
    for (Loop* loop : node_.loops()) executor.relies_on(*loop);
}

Result<void> RemoteTable::serve() {
    const std::lock_guard lock(mutex_);
    if (serving_) return {};
    const NodeRef node = node_.ref();
    CINNABAR_TRY_VOID(serve_remote(node, shared_from_this(), served_));
    serving_ = true;
    own_ = node.self_addr();
    if (auto listens = na::Addr::parse(node.address())) listens_ = *std::move(listens);
    return {};
}

Result<SharedBytes> RemoteTable::share(const bulk::Region& memory, na::Access access) {
    if (memory.empty()) return Error(Errc::invalid_argument, "an empty region cannot be shared");
    if (!na::allows(memory.access(), access))
        return Error(Errc::permission, "the region does not allow that access: expose it for more");
    CINNABAR_TRY_VOID(serve());
    SharedSlot* const slot = slots_.acquire();
    if (!slot) return Error(Errc::too_large, "this node shares the maximum number of regions: withdraw some");
    const std::lock_guard lock(slot->mutex);
    slot->state = SharedSlot::State::shared;
    slot->memory = memory;
    ++slot->lease;
    slot->version = 1;
    slot->key = {secret_u64(), secret_u64()};
    slot->notified = nullptr;
    SharedBytes shared;
    shared.table_ = shared_from_this();
    shared.slot_ = slot;
    shared.lease_ = slot->lease;
    shared.bytes_ = memory.bytes();
    shared.access_ = access;
    return shared;
}

RemoteBytes RemoteTable::token(SharedSlot& slot, const RemoteGrant& wanted) {
    RemoteGrant grant(wanted);
    grant.node = id_;
    grant.slot = slot.slot_index;
    {
        const std::lock_guard lock(slot.mutex);
        if (slot.lease != grant.lease || slot.state != SharedSlot::State::shared) return {};
        if (grant.version != 0) grant.version = slot.version;
        if (slot.memory.is_far())
            grant.access = static_cast<na::Access>(static_cast<std::uint8_t>(grant.access) | remote_far_bit);
        if (slot.direct && grant.version == 0)
            grant.access = static_cast<na::Access>(static_cast<std::uint8_t>(grant.access) | remote_direct_bit);
        grant.seal = seal_of(slot.key, grant);
    }
    const std::lock_guard lock(mutex_);
    return {grant, listens_};
}

void RemoteTable::renew(SharedSlot& slot, std::uint32_t lease) noexcept {
    const std::lock_guard lock(slot.mutex);
    if (slot.lease == lease) ++slot.version;
}

Errc RemoteTable::withdraw(SharedSlot& slot, std::uint32_t lease) noexcept {
    return withdraw(slot, lease, SharedSlot::State::withdrawn);
}

void RemoteTable::drop(SharedSlot& slot, std::uint32_t lease) noexcept {
    (void)withdraw(slot, lease, SharedSlot::State::dropped);
}

// Stops each operation without the lock, since stopping may end the operation at once. While the lock is not held, the
// last operation may end, and the slot may be reused for other memory.
Errc RemoteTable::withdraw(SharedSlot& slot, std::uint32_t lease, SharedSlot::State state) noexcept {
    bulk::Region memory;  // freed without the lock, like the program's function
    std::shared_ptr<const NoticeFunction> notified;
    std::unique_lock lock(slot.mutex);
    if (slot.lease != lease || slot.state == SharedSlot::State::unused) return Errc::ok;
    slot.state = std::max(slot.state, state);
    notified.swap(slot.notified);
    while (slot.lease == lease && !slot.under_way.empty()) {
        SharedUse& use = *slot.under_way.pop_front();
        slot.stopped.push_back(use);
        use.is_stopped = true;
        std::stop_source stop = use.stop;
        lock.unlock();
        CINNABAR_TEST_YIELD("shared memory: a use is stopped");
        stop.request_stop();
        lock.lock();
    }
    if (slot.lease != lease) return Errc::ok;
    if (end_direct(slot, lock) != Errc::ok) return slot.idle() ? Errc::busy : Errc::again;
    return slot.lease == lease ? settle(slot, memory) : Errc::ok;
}

Errc RemoteTable::settle(SharedSlot& slot, bulk::Region& freed) noexcept {
    if (slot.state == SharedSlot::State::unused) return Errc::ok;
    if (!slot.idle()) return Errc::again;
    if (slot.direct || slot.direct_ends) return Errc::busy;
    if (slot.state == SharedSlot::State::withdrawn && slot.memory.quarantined()) return Errc::busy;
    freed = std::exchange(slot.memory, {});
    slot.state = SharedSlot::State::unused;
    slots_.release(slot);
    return Errc::ok;
}

bool RemoteTable::in_use(SharedSlot& slot, std::uint32_t lease) noexcept {
    const std::lock_guard lock(slot.mutex);
    return slot.lease == lease && !slot.idle();
}

// Operations in progress will end, because the node still runs.
void RemoteTable::await_idle(SharedSlot& slot, std::uint32_t lease) noexcept {
    IdleWait wait;
    {
        const std::lock_guard lock(slot.mutex);
        if (slot.lease != lease || slot.idle()) return;
        is_awaited_by(wait.waiter);
        slot.waiting.push_back(wait);
    }
    wait.waiter.wait();
}

void RemoteTable::on_notified(SharedSlot& slot, std::uint32_t lease, std::shared_ptr<const NoticeFunction> function) {
    const std::lock_guard lock(slot.mutex);
    if (slot.lease == lease && slot.state == SharedSlot::State::shared) slot.notified.swap(function);
}

SharedSlot* RemoteTable::find(const RemoteGrant& grant) const noexcept {
    return grant.node == id_ ? slots_.at(grant.slot) : nullptr;
}

// The lease is checked first, because a grant of an earlier lease was sealed with another key.
Errc RemoteTable::check(const SharedSlot& slot, const RemoteGrant& grant) noexcept {
    if (slot.state != SharedSlot::State::shared || slot.lease != grant.lease) return Errc::stale;
    if (!is_sealed_by(slot.key, grant)) return Errc::permission;
    return grant.version == 0 || grant.version == slot.version ? Errc::ok : Errc::stale;
}

Errc RemoteTable::check(const SharedSlot& slot, const RemoteGrant& grant, std::uint64_t offset, std::uint64_t bytes,
                        na::Access access) noexcept {
    if (const Errc refused = check(slot, grant); refused != Errc::ok) return refused;
    const bool inside = offset <= grant.bytes && bytes <= grant.bytes - offset;
    if (!inside || !na::allows(grant.access, access)) return Errc::permission;
    return slot.memory.is_far() ? Errc::unsupported : Errc::ok;
}

// Calls copy(memory, offset in it, bytes) for each step.
template <typename Span, typename Copy>
Errc RemoteTable::copy_in_steps(const RemoteGrant& grant, std::uint64_t offset, Span bytes, na::Access access,
                                Copy copy) noexcept {
    SharedSlot* const slot = find(grant);
    if (!slot) return Errc::stale;
    do {
        const Span step = bytes.first(std::min(bytes.size(), step_bytes));
        const std::lock_guard lock(slot->mutex);
        if (const Errc refused = check(*slot, grant, offset, bytes.size(), access); refused != Errc::ok) return refused;
        copy(slot->memory, grant.first + offset, step);
        offset += step.size();
        bytes = bytes.subspan(step.size());
    } while (!bytes.empty());
    return Errc::ok;
}

template <typename Span, typename Copy>
Errc RemoteTable::copy_in_steps(const RemoteGrant& grant, bulk::BlockWalk& blocks, Span bytes, na::Access access,
                                Copy copy) noexcept {
    SharedSlot* const slot = find(grant);
    if (!slot) return Errc::stale;
    while (!bytes.empty()) {
        CINNABAR_TEST_YIELD("shared memory: a step of blocks");
        const std::lock_guard lock(slot->mutex);
        if (const Errc refused = check(*slot, grant, 0, 0, access); refused != Errc::ok) return refused;
        bulk::BlockPiece piece;
        std::uint64_t left = std::min(bytes.size(), step_bytes);
        for (std::uint32_t pieces = 0; left > 0 && pieces < step_pieces; left -= piece.bytes, ++pieces) {
            if (!blocks.next(left, piece)) return Errc::invalid_argument;
            copy(slot->memory, grant.first + piece.offset, bytes.first(static_cast<std::size_t>(piece.bytes)));
            bytes = bytes.subspan(static_cast<std::size_t>(piece.bytes));
        }
    }
    return Errc::ok;
}

Errc RemoteTable::read(const RemoteGrant& grant, std::uint64_t offset, Bytes to) noexcept {
    return copy_in_steps(grant, offset, to, na::Access::read, copy_out);
}

Errc RemoteTable::read(const RemoteGrant& grant, bulk::BlockWalk& from, Bytes to) noexcept {
    return copy_in_steps(grant, from, to, na::Access::read, copy_out);
}

Errc RemoteTable::write(const RemoteGrant& grant, std::uint64_t offset, ConstBytes from) noexcept {
    return copy_in_steps(grant, offset, from, na::Access::write, copy_in);
}

Errc RemoteTable::write(const RemoteGrant& grant, bulk::BlockWalk& to, ConstBytes from) noexcept {
    return copy_in_steps(grant, to, from, na::Access::write, copy_in);
}

Errc RemoteTable::word(const remote_calls::Word& call, std::uint64_t& before) noexcept {
    SharedSlot* const slot = find(call.grant);
    if (!slot) return Errc::stale;
    if (call.bytes != 4 && call.bytes != 8) return Errc::invalid_argument;
    if (call.op > detail::WordOp::exchange) return Errc::invalid_argument;
    const std::lock_guard lock(slot->mutex);
    const Errc refused = check(*slot, call.grant, call.offset, call.bytes, na::Access::read_write);
    if (refused != Errc::ok) return refused;
    std::byte* const at = slot->memory.slice(call.grant.first + call.offset, call.bytes).contiguous().data();
    if (!at || reinterpret_cast<std::uintptr_t>(at) % call.bytes != 0) return Errc::invalid_argument;
    before = call.bytes == 8 ? apply_word<std::uint64_t>(at, call) : apply_word<std::uint32_t>(at, call);
    return Errc::ok;
}

void RemoteTable::notify(const RemoteGrant& grant, RemoteNotice notice) {
    SharedSlot* const slot = find(grant);
    if (!slot) return;
    Notifying notifying{*this, {*slot, std::stop_source(std::nostopstate)}, {}};
    {
        const std::lock_guard lock(slot->mutex);
        if (check(*slot, grant) != Errc::ok || !slot->notified || !*slot->notified) return;
        slot->under_way.push_back(notifying.use);
        notifying.function = slot->notified;
    }
    notice.offset += grant.first;
    (*notifying.function)(notice);
}

Errc RemoteTable::begin(const RemoteGrant& grant, SharedSlot& slot, SharedUse* use, bulk::Region& memory) {
    const std::lock_guard lock(slot.mutex);
    if (const Errc refused = check(slot, grant); refused != Errc::ok) return refused;
    if (use) slot.under_way.push_back(*use);
    memory = slot.memory.slice(grant.first, grant.bytes);
    return Errc::ok;
}

Errc RemoteTable::check_again(const RemoteGrant& grant) noexcept {
    SharedSlot& slot = *find(grant);
    const std::lock_guard lock(slot.mutex);
    return check(slot, grant);
}

void RemoteTable::end(SharedUse& use) noexcept {
    SharedSlot& slot = *use.slot;
    bulk::Region memory;  // freed without the lock
    const std::lock_guard lock(slot.mutex);
    (use.is_stopped ? slot.stopped : slot.under_way).remove(use);
    if (!slot.idle()) return;
    while (IdleWait* const each = slot.waiting.pop_front()) each->waiter.finish();
    if (slot.state != SharedSlot::State::shared) (void)settle(slot, memory);
}

RemoteTransfer::~RemoteTransfer() {
    memory_.clear();
    for (SharedUse& use : uses_) table_->end(use);
}

Result<bulk::Region> RemoteTransfer::begin(const std::vector<RemoteGrant>& grants,
                                           const std::vector<remote_calls::Piece>& pieces, na::Access access) {
    if (grants.size() > remote_grants_max || pieces.size() > remote_parts_max) return Error(Errc::too_large);
    grants_.reserve(grants.size());
    memory_.reserve(grants.size());
    uses_.reserve(grants.size());
    for (const RemoteGrant& grant : grants) {
        if (const Errc refused = begin(grant, access); refused != Errc::ok) return Error(refused);
    }
    return region_of(pieces, access);
}

Result<bulk::Region> RemoteTransfer::begin(const RemoteGrant& grant, const bulk::Blocks& blocks, na::Access access) {
    grants_.reserve(1);
    memory_.reserve(1);
    uses_.reserve(1);
    if (const Errc refused = begin(grant, access); refused != Errc::ok) return Error(refused);
    if (blocks.end() > memory_.front().bytes()) return Error(Errc::permission);
    return memory_.front();
}

// Requires: the vectors have room.
Errc RemoteTransfer::begin(const RemoteGrant& grant, na::Access access) {
    if (!na::allows(grant.access, access)) return Errc::permission;
    SharedSlot* const slot = table_->find(grant);
    if (!slot) return Errc::stale;
    const bool is_new = std::ranges::find(uses_, slot, &SharedUse::slot) == uses_.end();
    SharedUse* const use = is_new ? &uses_.emplace_back(*slot, stop_) : nullptr;
    bulk::Region memory;
    if (const Errc refused = table_->begin(grant, *slot, use, memory); refused != Errc::ok) {
        if (is_new) uses_.pop_back();
        return refused;
    }
    grants_.push_back(grant);
    memory_.push_back(std::move(memory));
    return Errc::ok;
}

Result<bulk::Region> RemoteTransfer::region_of(const std::vector<remote_calls::Piece>& pieces, na::Access access) {
    std::vector<na::Segment> segments;
    std::vector<bulk::Region> parts;
    std::size_t of_parts = 0;
    const bool far = std::ranges::any_of(memory_, &bulk::Region::is_far);
    for (const remote_calls::Piece& piece : pieces) {
        if (piece.grant >= memory_.size() || piece.bytes == 0) return Error(Errc::invalid_argument);
        const bulk::Region& memory = memory_[piece.grant];
        if (piece.offset > memory.bytes() || piece.bytes > memory.bytes() - piece.offset)
            return Error(Errc::permission);
        const bulk::Region part = memory.slice(piece.offset, piece.bytes);
        if (pieces.size() == 1) return part;
        if (far) {
            of_parts += segments_of(part);
            if (of_parts > bulk::descriptor_segments_max) return Error(Errc::too_large);
            parts.push_back(part);
        } else if (!append_segments(part, segments)) {
            return Error(Errc::too_large);
        }
    }
    if (!parts.empty()) {
        // At least one of the granted memories is far, but the pieces may all be in other memories. A joined region for
        // writing also allows reading if all pieces do, because bytes written to far memory may have to be read back
        // and checked.
        const auto has_both = [](const bulk::Region& one) { return na::allows(one.access(), na::Access::read_write); };
        const bool both = na::allows(access, na::Access::write) && std::ranges::all_of(parts, has_both);
        if (std::ranges::any_of(parts, &bulk::Region::is_far))
            return bulk::Region::join(parts, both ? na::Access::read_write : access);
        for (const bulk::Region& part : parts)
            if (!append_segments(part, segments)) return Error(Errc::too_large);
    }
    if (segments.empty()) return Error(Errc::invalid_argument);
    return bulk::Region::expose(segments, access);
}

Errc RemoteTransfer::check() const noexcept {
    for (const RemoteGrant& grant : grants_) {
        if (const Errc refused = table_->check_again(grant); refused != Errc::ok) return refused;
    }
    return Errc::ok;
}

bool RemoteTransfer::names_version() const noexcept {
    return std::any_of(grants_.begin(), grants_.end(), [](const RemoteGrant& grant) { return grant.version != 0; });
}

}  // namespace cinnabar::hl
