// SPDX-License-Identifier: BSD-3-Clause
// RPC id and provider to handler. Readers take no lock: a change makes a new table, and old tables and handlers stay
// until the end of the engine, so that a pointer once found remains good.
#pragma once

#include <cinnabar/base/result.hpp>
#include <cinnabar/rpc/handler.hpp>
#include <cinnabar/rpc/rpc_id.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace cinnabar::rpc {

class HandlerTable {
  public:
    HandlerTable();
    [[nodiscard]] Result<void> add(RpcId id, ProviderId provider, Handler handler);
    [[nodiscard]] Errc remove(RpcId id, ProviderId provider);
    [[nodiscard]] const Handler* find(RpcId id, ProviderId provider) const noexcept;

  private:
    struct Entry {
        RpcId id = 0;
        const Handler* handler = nullptr;
        ProviderId provider = 0;
    };
    // Open addressing, at most half full.
    struct Table {
        std::vector<Entry> entries;
    };
    [[nodiscard]] static std::size_t place(const Table& table, RpcId id, ProviderId provider) noexcept;
    void publish(const std::vector<Entry>& used);

    std::atomic<const Table*> current_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Table>> tables_;
    std::vector<std::unique_ptr<Handler>> handlers_;
};

}  // namespace cinnabar::rpc
