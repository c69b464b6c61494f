// SPDX-License-Identifier: BSD-3-Clause
// Sessions of one command with the servers of a group, each opened when it is first needed. One thread.
#pragma once

#include "commands/commands.hpp"
#include "group_files/servers.hpp"
#include "terminal/interrupt.hpp"
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

namespace cinnabar::tools::group_files {

class Sessions {
  public:
    // The references must outlive this object. Reports each server that is lost, once, until there is an interrupt.
    Sessions(std::vector<Server> servers, const SessionOptions& options, const Interrupt& interrupt, Report& report);
    // Requires: close() has ended.
    ~Sessions();
    Sessions(const Sessions&) = delete;
    Sessions& operator=(const Sessions&) = delete;

    [[nodiscard]] const std::vector<Server>& servers() const noexcept { return servers_; }
    // Makes a node for each wanted session that has none. A session whose node cannot be made is lost. Requires: not
    // called inside a task, because a node that fails cannot be closed inside a task.
    void connect(const std::set<std::size_t>& wanted);
    // Opens the wanted sessions that are not open yet, several at once. A session that cannot be opened is lost.
    // Requires: all wanted sessions are connected or lost.
    [[nodiscard]] hl::Task<void> open(const std::set<std::size_t>& wanted);
    [[nodiscard]] hl::Task<void> close();

    // Null: the server is lost. Requires: the server's session was opened.
    [[nodiscard]] files::Client* client(std::size_t server) noexcept;
    // Why the server is lost. Requires: the server is lost.
    [[nodiscard]] const Error& why_lost(std::size_t server) const { return *sessions_[server].lost; }
    [[nodiscard]] std::vector<Server> those_not_lost() const;
    [[nodiscard]] std::optional<Error> first_lost() const;
    // Stops using the server.
    void lose(std::size_t server, const Error& why);

  private:
    struct Session {
        std::optional<files::Key> key;
        std::optional<hl::Connected> reached;
        std::unique_ptr<files::Client> client;
        bool opened = false;
        std::optional<Error> lost;
    };
    [[nodiscard]] Result<void> connect_one(std::size_t server);
    [[nodiscard]] hl::Task<void> open_some(const std::vector<std::size_t>& closed, std::size_t& next);

    const std::vector<Server> servers_;
    const SessionOptions& options_;
    const Interrupt& interrupt_;
    Report& report_;
    std::vector<Session> sessions_;  // of each server
};

}  // namespace cinnabar::tools::group_files
