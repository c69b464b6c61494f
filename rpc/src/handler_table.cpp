// SPDX-License-Identifier: BSD-3-Clause
#include "handler_table.hpp"

namespace cinnabar::rpc {

HandlerTable::HandlerTable() { publish({}); }

// Where the entry is, or the free place where it would be.
std::size_t HandlerTable::place(const Table& table, RpcId id, ProviderId provider) noexcept {
    const std::size_t mask = table.entries.size() - 1;
    std::size_t at = static_cast<std::size_t>((id ^ provider) * 0x9e3779b97f4a7c15u >> 32) & mask;
    while (table.entries[at].handler && (table.entries[at].id != id || table.entries[at].provider != provider)) {
        at = (at + 1) & mask;
    }
    return at;
}

const Handler* HandlerTable::find(RpcId id, ProviderId provider) const noexcept {
    const Table& table = *current_.load(std::memory_order_acquire);
    return table.entries[place(table, id, provider)].handler;
}

void HandlerTable::publish(const std::vector<Entry>& used) {
    auto table = std::make_unique<Table>();
    std::size_t size = 16;
    while (size < used.size() * 2) size *= 2;
    table->entries.resize(size);
    for (const Entry& entry : used) table->entries[place(*table, entry.id, entry.provider)] = entry;
    current_.store(table.get(), std::memory_order_release);
    tables_.push_back(std::move(table));
}

Result<void> HandlerTable::add(RpcId id, ProviderId provider, Handler handler) {
    if (!handler.run) return Error(Errc::invalid_argument, "a handler needs a function");
    const std::lock_guard lock(mutex_);
    std::vector<Entry> used;
    for (const Entry& entry : tables_.back()->entries) {
        if (!entry.handler) continue;
        if (entry.id == id && entry.provider == provider) {
            return Error(Errc::exists, "that id is served already: choose another name or provider",
                         entry.handler->name + " and " + handler.name);
        }
        if (entry.id == id && entry.handler->name != handler.name) {
            return Error(Errc::exists, "two names have one id: choose another name",
                         entry.handler->name + " and " + handler.name);
        }
        used.push_back(entry);
    }
    handlers_.push_back(std::make_unique<Handler>(std::move(handler)));
    used.push_back({id, handlers_.back().get(), provider});
    publish(used);
    return {};
}

Errc HandlerTable::remove(RpcId id, ProviderId provider) {
    const std::lock_guard lock(mutex_);
    std::vector<Entry> used;
    bool found = false;
    for (const Entry& entry : tables_.back()->entries) {
        if (!entry.handler) continue;
        if (entry.id == id && entry.provider == provider) {
            found = true;
        } else {
            used.push_back(entry);
        }
    }
    if (!found) return Errc::not_found;
    publish(used);
    return Errc::ok;
}

}  // namespace cinnabar::rpc
