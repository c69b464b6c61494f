// SPDX-License-Identifier: BSD-3-Clause
#include "handler_table.hpp"

namespace cinnabar::rpc {
namespace {

constexpr std::size_t entries_min = 16;

}  // namespace

const Handler HandlerTable::removed{};

HandlerTable::HandlerTable() {
    tables_.push_back(std::make_unique<Table>(entries_min));
    current_.store(tables_.back().get(), std::memory_order_release);
}

// Returns the entry of that id and provider, or the free place where it would be.
template <typename AnyTable>
auto& HandlerTable::place(AnyTable& table, RpcId id, ProviderId provider) noexcept {
    const std::size_t mask = table.mask;
    std::size_t at = static_cast<std::size_t>((id ^ provider) * 0x9e3779b97f4a7c15u >> 32) & mask;
    for (;; at = (at + 1) & mask) {
        auto& entry = table.entries[at];
        // An entry that has a handler has its id, too, because the writer stores the id first.
        if (!entry.handler.load(std::memory_order_acquire)) return entry;
        if (entry.id == id && entry.provider == provider) return entry;
    }
}

const Handler* HandlerTable::find(RpcId id, ProviderId provider) const noexcept {
    const Table& table = *current_.load(std::memory_order_acquire);
    const Handler* const found = place(table, id, provider).handler.load(std::memory_order_acquire);
    return found == &removed ? nullptr : found;
}

void HandlerTable::put(Table& table, RpcId id, ProviderId provider, const Handler* handler) noexcept {
    Entry& entry = place(table, id, provider);
    if (!entry.handler.load(std::memory_order_relaxed)) {
        entry.id = id;
        entry.provider = provider;
        ++table.taken;
    }
    entry.handler.store(handler, std::memory_order_release);
}

// Makes a table with twice the room needed, without the entries of removed handlers.
void HandlerTable::grow() {
    const auto serves = [](const Entry& entry) {
        const Handler* const handler = entry.handler.load(std::memory_order_relaxed);
        return handler && handler != &removed;
    };
    const Table& old = *tables_.back();
    std::size_t live = 0;
    for (const Entry& entry : old.entries) live += serves(entry) ? 1 : 0;
    std::size_t size = entries_min;
    while (size < live * 4) size *= 2;
    auto table = std::make_unique<Table>(size);
    for (const Entry& entry : old.entries) {
        if (serves(entry)) put(*table, entry.id, entry.provider, entry.handler.load(std::memory_order_relaxed));
    }
    tables_.push_back(std::move(table));
    current_.store(tables_.back().get(), std::memory_order_release);
}

Result<void> HandlerTable::add(RpcId id, ProviderId provider, Handler handler) {
    if (!handler.run) return Error(Errc::invalid_argument, "a handler needs a function");
    const std::lock_guard lock(mutex_);
    if (const Handler* const known = find(id, provider)) {
        return Error(Errc::exists, "that id is served already: choose another name or provider",
                     known->name + " and " + handler.name);
    }
    const auto named = names_.find(id);
    if (named != names_.end() && named->second.text != handler.name) {
        return Error(Errc::exists, "two names have one id: choose another name",
                     named->second.text + " and " + handler.name);
    }
    if ((tables_.back()->taken + 1) * 2 > tables_.back()->entries.size()) grow();
    handlers_.push_back(std::make_unique<Handler>(std::move(handler)));
    const Handler& served = *handlers_.back();
    ++names_.try_emplace(id, Name{served.name, 0}).first->second.providers;
    put(*tables_.back(), id, provider, &served);
    return {};
}

std::vector<Engine::Served> HandlerTable::all() {
    const std::lock_guard lock(mutex_);
    std::vector<Engine::Served> found;
    for (const Entry& entry : tables_.back()->entries) {
        const Handler* const handler = entry.handler.load(std::memory_order_relaxed);
        if (handler && handler != &removed) found.push_back({entry.id, entry.provider, handler->name});
    }
    return found;
}

Errc HandlerTable::remove(RpcId id, ProviderId provider) {
    const std::lock_guard lock(mutex_);
    if (!find(id, provider)) return Errc::not_found;
    const auto named = names_.find(id);
    if (--named->second.providers == 0) names_.erase(named);
    put(*tables_.back(), id, provider, &removed);
    return Errc::ok;
}

}  // namespace cinnabar::rpc
