// SPDX-License-Identifier: BSD-3-Clause
#include "transfer.hpp"

#include <cinnabar/base/log.hpp>

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

namespace cinnabar::nixl {
namespace {

bool lies_in(std::uintptr_t address, std::size_t bytes, std::uintptr_t start, std::uint64_t size) {
    return address >= start && address - start <= size && bytes <= size - (address - start);
}

const LocalMemory* local_of(const nixlMetaDesc& desc) { return dynamic_cast<const LocalMemory*>(desc.metadataP); }

// The remote memory that a descriptor lies in: its token, and its address in its own process. Null token: the metadata
// of the descriptor is of another kind.
struct There {
    const RemoteBytes* token = nullptr;
    std::uintptr_t address = 0;
};
There there_of(const nixlMetaDesc& desc) {
    if (const auto* remote = dynamic_cast<const RemoteMemory*>(desc.metadataP))
        return {&remote->token(), remote->address()};
    // An agent that is its own target may pass its local metadata.
    if (const LocalMemory* own = local_of(desc)) return {&own->token(), own->address()};
    return {};
}

// Expresses the descriptors as numbers of blocks of one size. False: the descriptors differ in size, in memory, or in
// the remainder of their offsets modulo the size; or a number is too large.
bool blocks_of(const nixl_meta_dlist_t& descs, std::uintptr_t start, std::vector<std::uint32_t>& numbers) {
    const std::size_t bytes = descs[0].len;
    const std::uint64_t skipped = (descs[0].addr - start) % bytes;
    for (const nixlMetaDesc& desc : descs) {
        const std::uint64_t offset = desc.addr - start;
        if (desc.len != bytes || desc.metadataP != descs[0].metadataP || offset % bytes != skipped) return false;
        const std::uint64_t number = (offset - skipped) / bytes;
        if (number > std::numeric_limits<std::uint32_t>::max()) return false;
        numbers.push_back(static_cast<std::uint32_t>(number));
    }
    return true;
}

}  // namespace

Errc Transfer::check(const nixlMetaDesc& local, const nixlMetaDesc& remote) {
    const LocalMemory* const here = local_of(local);
    const There there = there_of(remote);
    if (!here || !there.token || local.len != remote.len || local.len == 0) return Errc::invalid_argument;
    if (!lies_in(local.addr, local.len, here->address(), here->region().bytes())) return Errc::invalid_argument;
    if (!lies_in(remote.addr, remote.len, there.address, there.token->bytes())) return Errc::invalid_argument;
    auto& used = state_->local;
    if (std::ranges::find(used, here->registered()) == used.end()) used.push_back(here->registered());
    return Errc::ok;
}

bool Transfer::make_plan(const nixl_meta_dlist_t& local, const nixl_meta_dlist_t& remote) {
    const LocalMemory& here = *local_of(local[0]);
    const There there = there_of(remote[0]);
    const std::size_t bytes = local[0].len;
    if (static_cast<std::uint64_t>(local.descCount()) > bulk::blocks_max) return false;
    const bool are_blocks =
        blocks_of(remote, there.address, blocks_there_) && blocks_of(local, here.address(), blocks_here_);
    if (!are_blocks) return false;
    // A plan must not write to a block twice; a list may.
    const auto written = bulk::Blocks::indexed(bytes, op_ == NIXL_READ ? blocks_here_ : blocks_there_);
    if (!written || written->overlap()) return false;
    const std::uint64_t first_there = (remote[0].addr - there.address) % bytes;
    const std::uint64_t first_here = (local[0].addr - here.address()) % bytes;
    auto made = hl::TransferPlan::make(state_->node, there.token->part(first_there, there.token->bytes() - first_there),
                                       here.region().slice(first_here, here.region().bytes() - first_here), bytes);
    if (!made) return false;
    plan_.emplace(*std::move(made));
    return true;
}

void Transfer::make_list(const nixl_meta_dlist_t& local, const nixl_meta_dlist_t& remote) {
    for (int i = 0; i < local.descCount(); ++i) {
        const nixlMetaDesc& from = remote[static_cast<std::size_t>(i)];
        const There there = there_of(from);
        const RemoteBytes part = there.token->part(from.addr - there.address, from.len);
        const LocalMemory& here = *local_of(local[static_cast<std::size_t>(i)]);
        if (here.region().is_far()) {
            const std::uintptr_t at = local[static_cast<std::size_t>(i)].addr - here.address();
            far_.push_back({part, here.region().slice(at, from.len)});
            continue;
        }
        const Bytes memory(reinterpret_cast<std::byte*>(local[static_cast<std::size_t>(i)].addr), from.len);
        if (op_ == NIXL_READ) {
            reads_.push_back({part, memory});
        } else {
            writes_.push_back({part, memory});
        }
    }
}

Result<std::unique_ptr<Transfer>> Transfer::make(const hl::NodeRef& node, const std::string& agent, nixl_xfer_op_t op,
                                                 const nixl_meta_dlist_t& local, const nixl_meta_dlist_t& remote) {
    if (local.descCount() != remote.descCount() || local.isEmpty()) return Errc::invalid_argument;
    std::unique_ptr<Transfer> made(new Transfer(node, agent, op));
    for (int i = 0; i < local.descCount(); ++i) {
        const auto at = static_cast<std::size_t>(i);
        if (const Errc bad = made->check(local[at], remote[at]); bad != Errc::ok) return bad;
    }
    if (!made->make_plan(local, remote)) made->make_list(local, remote);
    const bool some_near = !made->reads_.empty() || !made->writes_.empty();
    if (!made->far_.empty() && some_near) return Errc::invalid_argument;  // the memory of a list is of one kind
    return made;
}

Transfer::~Transfer() { cancel(); }

hl::RemoteMany Transfer::operation(const hl::RemoteOptions& options) const {
    const bool reads = op_ == NIXL_READ;
    if (plan_) {
        return reads ? plan_->read(blocks_there_, blocks_here_, options)
                     : plan_->write(blocks_there_, blocks_here_, options);
    }
    if (!far_.empty())
        return reads ? hl::read_parts(state_->node, far_, options) : hl::write_parts(state_->node, far_, options);
    return reads ? hl::read_many(state_->node, reads_, options) : hl::write_many(state_->node, writes_, options);
}

nixl_status_t Transfer::post(Microseconds deadline, std::optional<Notification> notification) {
    if (status() == NIXL_IN_PROG) return NIXL_ERR_REPOST_ACTIVE;
    try {
        state_->stop = std::stop_source();
    } catch (const std::bad_alloc&) {
        return NIXL_ERR_BACKEND;
    }
    if (!begin_use()) return NIXL_ERR_NOT_ALLOWED;
    state_->token = state_->stop.get_token();
    state_->ends_at = std::chrono::steady_clock::now() + deadline;
    state_->notification = std::move(notification);
    state_->status.store(NIXL_IN_PROG, std::memory_order_release);
    try {
        Ending ending(state_);
        operation({.deadline = deadline, .stop = &state_->token}).then(std::move(ending));
    } catch (const std::bad_alloc&) {
        state_->stop.request_stop();  // for the calls that were sent; the last of them ends the post
    }
    return NIXL_IN_PROG;
}

// Counts the transfer in `moving` before it reads `gone`; deregisterMem sets `gone` before it reads `moving`. So at
// least one of the two functions sees the write of the other.
bool Transfer::begin_use() noexcept {
    bool is_gone = false;
    for (const auto& registered : state_->local) {
        registered->moving.fetch_add(1);
        is_gone = is_gone || registered->gone.load();
    }
    if (is_gone) end_use(*state_);
    return !is_gone;
}

void Transfer::end_use(State& state) noexcept {
    for (const auto& registered : state.local) registered->moving.fetch_sub(1, std::memory_order_release);
}

Transfer::Ending::~Ending() {
    if (state_) end(*state_, Errc::out_of_memory, "out of memory");
}

void Transfer::Ending::operator()(const Result<std::uint64_t>& outcome) noexcept {
    moved(std::exchange(state_, nullptr), outcome);
}

void Transfer::end(State& state, Errc code, const char* why) noexcept {
    nixl_status_t status = status_of(code);
    if (code != Errc::ok) log(LogLevel::info, "nixl", "a transfer of agent '%s' failed: %s", state.agent.c_str(), why);
    // This agent did not cancel the transfer, so the other one did, because it is ending.
    if (status == NIXL_ERR_CANCELED && !state.stop.stop_requested()) status = NIXL_ERR_REMOTE_DISCONNECT;
    end_use(state);
    state.status.store(status, std::memory_order_release);
    state.status.notify_all();
}

void Transfer::fail(State& state, const Error& error) noexcept {
    try {
        end(state, error.code, error.message().c_str());
    } catch (const std::bad_alloc&) {
        end(state, error.code, "no memory for the reason");
    }
}

void Transfer::moved(const std::shared_ptr<State>& state, const Result<std::uint64_t>& outcome) noexcept {
    if (!outcome) return fail(*state, outcome.error());
    if (!state->notification) return end(*state, Errc::ok, "");
    try {
        tell(state);
    } catch (const std::bad_alloc&) {
        end(*state, Errc::out_of_memory, "out of memory");
    }
}

// Sends the notification with the rest of the deadline.
void Transfer::tell(const std::shared_ptr<State>& state) {
    const Notification& told = *state->notification;
    const auto left = std::chrono::ceil<Microseconds>(state->ends_at - std::chrono::steady_clock::now());
    const hl::CallOptions options{.deadline = std::max(left, Microseconds{1}), .stop = &state->token};
    state->node.call(notify, told.to, state->agent, told.message, options).then([state](const Result<void>& answered) {
        answered ? end(*state, Errc::ok, "") : fail(*state, answered.error());
    });
}

}  // namespace cinnabar::nixl
