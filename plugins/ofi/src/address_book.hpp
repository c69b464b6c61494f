// SPDX-License-Identifier: BSD-3-Clause
// The fabric addresses of an endpoint's peers. An address is inserted into libfabric's table once, and its users are
// counted, because sessions that follow each other with the same peer share an address for a moment. Some providers
// would return the same handle at a second insertion and drop the address at the first removal (rxd_av_insert,
// rxd_av_remove of 1.17). Owner of the context only.
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
    // Inserts an address, or counts one more user of it. unreachable: the provider refuses the address; overloaded: the
    // provider has no handle left, and returned one that another address has; out_of_memory.
    [[nodiscard]] Errc insert(ConstBytes address, fi_addr_t& out) noexcept;
    // Call it once for each insert().
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
