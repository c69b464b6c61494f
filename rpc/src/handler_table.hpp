// SPDX-License-Identifier: BSD-3-Clause
// Maps RPC id and provider to handler. Readers take no lock. Handlers and outgrown tables are kept until the engine is
// destroyed, so that a pointer from find() stays valid. Keeping them costs some hundred bytes per registration.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/rpc/engine.hpp>
#include <cinnabar/rpc/handler.hpp>
#include <cinnabar/rpc/rpc_id.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace cinnabar::rpc {

class HandlerTable {
  public:
    HandlerTable();
    [[nodiscard]] Result<void> add(RpcId id, ProviderId provider, Handler handler);
    [[nodiscard]] Errc remove(RpcId id, ProviderId provider);
    [[nodiscard]] const Handler* find(RpcId id, ProviderId provider) const noexcept;
    [[nodiscard]] std::vector<Engine::Served> all();

  private:
    struct Entry {
        RpcId id = 0;
        ProviderId provider = 0;
        std::atomic<const Handler*> handler{nullptr};  // null: a free place; `removed`: no longer served
    };
    // Open addressing, at most half full. A place that was taken keeps its id.
    struct Table {
        explicit Table(std::size_t size) : entries(size), mask(size - 1) {}
        std::vector<Entry> entries;
        const std::size_t mask;
        std::size_t taken = 0;
    };
    struct Name {
        std::string text;
        std::size_t providers = 0;
    };
    static const Handler removed;

    template <typename AnyTable>
    [[nodiscard]] static auto& place(AnyTable& table, RpcId id, ProviderId provider) noexcept;
    void put(Table& table, RpcId id, ProviderId provider, const Handler* handler) noexcept;
    void grow();

    std::atomic<const Table*> current_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Table>> tables_;
    std::vector<std::unique_ptr<Handler>> handlers_;
    std::unordered_map<RpcId, Name> names_;
};

}  // namespace cinnabar::rpc
