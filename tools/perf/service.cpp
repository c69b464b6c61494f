// SPDX-License-Identifier: BSD-3-Clause
#include "perf/service.hpp"

#include "perf/clock.hpp"
#include "perf/echo.hpp"
#include "perf/pattern.hpp"
#include "perf/protocol.hpp"

#include <cinnabar/base/random.hpp>
#include <cinnabar/hl/request.hpp>
#include <cinnabar/hl/task.hpp>
#include <cinnabar/rpc/context.hpp>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <utility>

namespace cinnabar::tools::perf {
namespace {

constexpr std::chrono::hours long_time{24 * 365};

struct Arena {
    hl::Buffer memory;
    std::uint64_t slot_bytes = 0;
    std::uint32_t slots = 0;
    na::Addr owner;
    std::uint64_t opened_ns = 0;
    bool held = false;

    [[nodiscard]] Bytes slot(std::uint32_t index) const {
        return memory.bytes().subspan(index * slot_bytes, slot_bytes);
    }
};

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

}  // namespace

class Service::Arenas {
  public:
    explicit Arenas(ServiceOptions options) : options_(std::move(options)) {}

    [[nodiscard]] AboutOut about() const {
        return {protocol_version, options_.release, host_name(), options_.contexts, options_.arena_bytes_max};
    }

    Result<OpenOut> open(const hl::NodeRef& node, const na::Addr& from, const OpenIn& in) {
        const std::lock_guard lock(mutex_);
        drop_unheld();
        if (in.slot_bytes == 0 || in.slots == 0)
            return Error{Errc::invalid_argument, "an arena has at least one slot of one byte"};
        if (in.slot_bytes > options_.arena_bytes_max / in.slots)
            return Error{Errc::too_large, "the arena is over what this server gives (--memory)"};
        if (in.slot_bytes * in.slots > options_.arena_bytes_max - bytes_)
            return Error{Errc::overloaded, "other clients have the memory of this server; try again later"};
        CINNABAR_TRY(auto memory, node.buffers().take(in.slot_bytes * in.slots));
        auto arena = std::make_shared<Arena>();
        *arena = {std::move(memory), in.slot_bytes, in.slots, from, now_ns(), false};
        const std::uint64_t id = secret_u64();
        bytes_ += in.slot_bytes * in.slots;
        arenas_.emplace(id, std::move(arena));
        return OpenOut{id};
    }
    Result<void> hold(std::uint64_t id, const na::Addr& from) {
        const std::lock_guard lock(mutex_);
        const auto found = find_locked(id, from);
        if (!found || found->held) return Error{Errc::not_found, "there is no such arena, or it is held already"};
        found->held = true;
        return {};
    }
    void drop(std::uint64_t id) {
        const std::lock_guard lock(mutex_);
        if (const auto at = arenas_.find(id); at != arenas_.end()) erase(at);
    }
    Result<std::shared_ptr<Arena>> find(std::uint64_t id, const na::Addr& from, std::uint64_t slot_end) {
        const std::lock_guard lock(mutex_);
        auto found = find_locked(id, from);
        if (!found) return Error{Errc::not_found, "there is no such arena on this connection"};
        if (slot_end > found->slots) return Error{Errc::invalid_argument, "the arena has fewer slots"};
        return found;
    }
    // Counts a transfer. True: corrupt this one.
    [[nodiscard]] bool damages() noexcept {
        const Faults& faults = options_.faults;
        const std::uint64_t number = moves_.fetch_add(1, std::memory_order_relaxed) + 1;
        if (faults.die_after > 0 && number > faults.die_after) (void)::raise(SIGKILL);
        return faults.corrupt_every > 0 && number % faults.corrupt_every == 0;
    }
    [[nodiscard]] std::size_t count() const {
        const std::lock_guard lock(mutex_);
        return arenas_.size();
    }

  private:
    using Map = std::map<std::uint64_t, std::shared_ptr<Arena>>;

    std::shared_ptr<Arena> find_locked(std::uint64_t id, const na::Addr& from) {
        const auto at = arenas_.find(id);
        return at == arenas_.end() || !(at->second->owner == from) ? nullptr : at->second;
    }
    Map::iterator erase(Map::iterator at) {
        bytes_ -= at->second->slot_bytes * at->second->slots;
        return arenas_.erase(at);
    }
    void drop_unheld() {
        const auto limit = static_cast<std::uint64_t>(options_.hold_limit.count()) * 1'000'000;
        for (auto at = arenas_.begin(); at != arenas_.end();) {
            const bool late = !at->second->held && now_ns() - at->second->opened_ns > limit;
            at = late ? erase(at) : std::next(at);
        }
    }

    const ServiceOptions options_;
    mutable std::mutex mutex_;
    Map arenas_;
    std::uint64_t bytes_ = 0;
    std::atomic<std::uint64_t> moves_{0};
};

namespace {

template <typename Table>
hl::Task<Result<void>> hold(std::shared_ptr<Table> arenas, hl::Request<HoldIn> request) {
    const std::uint64_t id = request->arena;
    CINNABAR_CO_TRY_VOID(arenas->hold(id, request.source()));
    // Sleeps until the client cancels the call or is lost.
    (void)co_await request.node().sleep_for(long_time);
    arenas->drop(id);
    co_return Result<void>{};
}

template <typename Table>
hl::Task<Result<MoveOut>> move(std::shared_ptr<Table> arenas, hl::Request<MoveIn> request) {
    const auto arena = arenas->find(request->arena, request.source(), std::uint64_t{request->slot} + 1);
    if (!arena) co_return arena.error();
    if (request->memory.size() != (*arena)->slot_bytes)
        co_return Error{Errc::invalid_argument, "what is moved has the size of a slot"};
    const auto slot = (*arena)->slot(request->slot);
    const auto region = (*arena)->memory.region().slice(request->slot * (*arena)->slot_bytes, slot.size());
    const bool damages = arenas->damages();
    if (damages && request->push) slot.front() ^= std::byte{1};
    auto transfer = request->push ? request->memory.push(region) : request->memory.pull(region);
    auto moved = co_await transfer;
    if (!moved) co_return std::move(moved).error();
    if (damages) slot.front() ^= std::byte{1};
    co_return MoveOut{*moved};
}

}  // namespace

Result<Service> Service::serve_on(const hl::NodeRef& node, const ServiceOptions& options) {
    auto arenas = std::make_shared<Arenas>(options);
    CINNABAR_TRY_VOID(serve_echo(node.rpc_context().engine(), options.faults));
    CINNABAR_TRY_VOID(node.serve(about_rpc, [arenas] { return arenas->about(); }));
    CINNABAR_TRY_VOID(node.serve(open_rpc, [arenas](hl::Request<OpenIn> request) {
        return arenas->open(request.node(), request.source(), *request);
    }));
    CINNABAR_TRY_VOID(
        node.serve(hold_rpc, [arenas](hl::Request<HoldIn> request) { return hold(arenas, std::move(request)); }));
    CINNABAR_TRY_VOID(node.serve(fill_rpc, [arenas](hl::Request<SlotsIn> request) -> Result<void> {
        const auto& in = *request;
        CINNABAR_TRY(const auto arena, arenas->find(in.arena, request.source(), std::uint64_t{in.first} + in.count));
        for (std::uint32_t i = in.first; i < in.first + in.count; ++i) fill_pattern(arena->slot(i), in.seed + i);
        return {};
    }));
    CINNABAR_TRY_VOID(node.serve(check_rpc, [arenas](hl::Request<SlotsIn> request) -> Result<CheckOut> {
        const auto& in = *request;
        CINNABAR_TRY(const auto arena, arenas->find(in.arena, request.source(), std::uint64_t{in.first} + in.count));
        CheckOut out;
        for (std::uint32_t i = in.first; i < in.first + in.count; ++i) {
            if (!has_pattern(arena->slot(i), in.seed + i)) out.wrong.push_back(i);
        }
        return out;
    }));
    CINNABAR_TRY_VOID(
        node.serve(move_rpc, [arenas](hl::Request<MoveIn> request) { return move(arenas, std::move(request)); }));
    CINNABAR_TRY_VOID(serve_loads(node, options.loads));
    return Service(std::move(arenas));
}

std::size_t Service::arenas() const { return arenas_->count(); }

}  // namespace cinnabar::tools::perf
