// SPDX-License-Identifier: BSD-3-Clause
// The fabric addresses of an endpoint's peers, each inserted once for however many sessions use it. Some providers give
// the same handle for the same address and forget it when it is first removed (rxd_av_insert, rxd_av_remove of 1.17): a
// session that is over would take the address from the one that came after it. Owner of the context only.
#pragma once

#include "libfabric.hpp"

#include <cinnabar/base/bytes.hpp>

#include <string>
#include <unordered_map>

namespace cinnabar::ofi {

class AddressBook {
  public:
    explicit AddressBook(Fid<fid_av> table) noexcept : table_(std::move(table)) {}

    [[nodiscard]] fid_av& table() const noexcept { return *table_; }
    // unreachable: the provider does not take it; overloaded: it has handles for no more, and gave that of another
    // address; out_of_memory.
    [[nodiscard]] Errc insert(ConstBytes address, fi_addr_t& out) noexcept;
    // Once for each insert().
    void remove(fi_addr_t handle) noexcept;

  private:
    struct Entry {
        std::string address;
        std::uint32_t users = 0;
    };
    Fid<fid_av> table_;
    std::unordered_map<std::string, fi_addr_t> handles_;
    std::unordered_map<fi_addr_t, Entry> entries_;
};

}  // namespace cinnabar::ofi
