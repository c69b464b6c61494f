// SPDX-License-Identifier: BSD-3-Clause
// Guests: third parties who may use memory that is lent to a call, besides its target. The owner of the memory names
// them; whoever else has the descriptor gets `permission`, where the owner checks each access
// (na::Caps::admits_guests).
// Immutable: any thread, and any number of calls at once.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/guests.hpp>
#include <cinnabar/rpc/callers.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::rpc {

class CINNABAR_API Guests final : public na::Guests {
  public:
    static constexpr std::size_t names_max = 1'024;  // of callers and connections together

    // `callers`: in the syntax of callers.hpp, such as "cert:storage-*", "key:ann" or "uid:1000". `connections`: peers
    // that have connected to this process, as a handler sees them (Request::source()); each is good for this
    // connection alone. invalid_argument: nobody is named, a word is unknown, which is then the subject, or a peer is
    // one that this process dials: it comes to the memory by a connection of its own. too_large: names_max.
    [[nodiscard]] static Result<std::shared_ptr<const Guests>> of(const std::vector<std::string>& callers,
                                                                  std::vector<na::Addr> connections = {});
    [[nodiscard]] bool include(const na::Addr& addr) const noexcept override;

  private:
    Guests(std::optional<Callers> callers, std::vector<na::Addr> connections) noexcept;
    std::optional<Callers> callers_;
    std::vector<na::Addr> connections_;
};

}  // namespace cinnabar::rpc
