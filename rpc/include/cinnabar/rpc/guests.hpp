// SPDX-License-Identifier: BSD-3-Clause
// Guests: third parties who may use memory that is lent to a call, besides its target. The owner of the memory names
// them; any other peer that has the descriptor gets `permission`, if the transport lets the owner check each access
// (na::Caps::admits_guests). Immutable: any thread, and any number of calls at once.
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
    static constexpr std::size_t names_max = 1'024;  // the maximum number of callers and connections together

    // Makes the guests that `callers` and `connections` name. `callers`: in the syntax of callers.hpp, such as
    // "cert:storage-*", "key:ann" or "uid:1000". `connections`: the addresses of peers that have connected to this
    // process, as handlers get them from Request::source(); each address names one connection alone. invalid_argument:
    // nobody is named; a word is unknown (the word is the subject of the error); or `connections` has a peer that this
    // process dials, which would access the memory over another connection. too_large: names_max.
    [[nodiscard]] static Result<std::shared_ptr<const Guests>> of(const std::vector<std::string>& callers,
                                                                  std::vector<na::Addr> connections = {});
    [[nodiscard]] bool include(const na::Addr& addr) const noexcept override;

  private:
    Guests(std::optional<Callers> callers, std::vector<na::Addr> connections) noexcept;
    std::optional<Callers> callers_;
    std::vector<na::Addr> connections_;
};

}  // namespace cinnabar::rpc
