// SPDX-License-Identifier: BSD-3-Clause
// Sessions of one command with the servers of a group, each opened when it is first needed. One thread.
#pragma once

#include "commands/commands.hpp"
#include "spread/servers.hpp"
#include "terminal/report.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/key.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/task.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace cinnabar::tools::spread {

class Sessions {
  public:
    // `options` and `report` must outlive this object. Reports each server that is lost, once.
    Sessions(std::vector<Server> servers, const SessionOptions& options, Report& report);
    // Requires: close() has ended.
    ~Sessions();
    Sessions(const Sessions&) = delete;
    Sessions& operator=(const Sessions&) = delete;

    [[nodiscard]] const std::vector<Server>& servers() const noexcept { return servers_; }
    // Opens those of these sessions that are not open yet, all at once. Those that cannot be opened are lost.
    [[nodiscard]] hl::Task<void> open(const std::set<std::size_t>& wanted);
    [[nodiscard]] hl::Task<void> close();

    // Null: the server is lost. Requires: it was opened.
    [[nodiscard]] files::Client* client(std::size_t server) noexcept;
    // Why the server is lost. Requires: it is.
    [[nodiscard]] const Error& why_lost(std::size_t server) const { return *sessions_[server].lost; }
    // The server is not used any more.
    void lose(std::size_t server, const Error& why);

  private:
    struct Session {
        std::optional<files::Key> key;
        std::optional<hl::Connected> reached;
        std::unique_ptr<files::Client> client;
        std::optional<Error> lost;
    };
    [[nodiscard]] Result<void> connect(std::size_t server);
    [[nodiscard]] hl::Task<void> open_one(std::size_t server);

    const std::vector<Server> servers_;
    const SessionOptions& options_;
    Report& report_;
    std::vector<Session> sessions_;  // of each server
};

}  // namespace cinnabar::tools::spread
