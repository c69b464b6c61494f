// SPDX-License-Identifier: BSD-3-Clause
// Clients that attack the sessions of the save service: they do not finish logging in, have wrong keys, or open files
// and are then silent. A client that has done enough disappears without a message, and comes back as another one.
#pragma once

#include "../hostile/crowd.hpp"
#include "session/signed_calls.hpp"

#include <cinnabar/files/key.hpp>
#include <cinnabar/hl/node.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::tools {

class SessionCrowd final : public hostile::Others {
  public:
    enum class Does : std::uint8_t {
        half_logins,       // sends a hello, but never logs in
        wrong_logins,      // with a proof made with no key
        opens_and_silent,  // with the right key: opens files, but sends none of their bytes
    };
    // `own`: the URI of a client's node. `key` must outlive this object.
    SessionCrowd(unsigned members, std::string own, std::string server, const files::Key& key, Does does);

    void step() override;
    [[nodiscard]] bool began() const noexcept override { return began_.load() >= members_.size(); }
    // The number of calls that the server has served, and of those that it has refused.
    [[nodiscard]] std::size_t served() const noexcept { return served_.load(); }
    [[nodiscard]] std::size_t refused() const noexcept { return refused_.load(); }

  private:
    struct Member {
        std::optional<hl::Node> node;
        na::Addr server;
        unsigned steps = 0;  // since it last came back
        bool began = false;
    };
    void come(Member& member);
    void log_in(Member& member, bool with_right_key);
    void open_files(Member& member, files::Seals seals);

    const std::string own_;
    const std::string server_;
    const files::Key& key_;
    const Does does_;
    std::vector<Member> members_;
    std::size_t next_ = 0;
    std::size_t names_ = 0;
    std::atomic<std::size_t> began_{0};
    std::atomic<std::size_t> served_{0};
    std::atomic<std::size_t> refused_{0};
};

}  // namespace cinnabar::tools
