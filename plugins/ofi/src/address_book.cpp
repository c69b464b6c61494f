// SPDX-License-Identifier: BSD-3-Clause
#include "address_book.hpp"

#include <cinnabar/base/assert.hpp>

#include <new>
#include <utility>

namespace cinnabar::ofi {

Errc AddressBook::insert(ConstBytes address, fi_addr_t& out) noexcept {
    bool inserted = false;
    try {
        std::string text(as_text(address));
        if (const auto known = handles_.find(text); known != handles_.end()) {
            out = known->second;
            ++entries_.at(out).users;
            return Errc::ok;
        }
        if (::fi_av_insert(table_.get(), address.data(), 1, &out, 0, nullptr) != 1) return Errc::unreachable;
        if (entries_.contains(out)) {
            // The provider returned the handle of another address; removing it would remove that address.
            out = FI_ADDR_UNSPEC;
            return Errc::overloaded;
        }
        inserted = true;
        entries_[out] = {text, 1};
        handles_.emplace(std::move(text), out);
        return Errc::ok;
    } catch (const std::bad_alloc&) {
        // An address without an entry in the book must not stay with the provider.
        if (inserted) {
            entries_.erase(out);
            (void)::fi_av_remove(table_.get(), &out, 1, 0);
        }
        out = FI_ADDR_UNSPEC;
        return Errc::out_of_memory;
    }
}

void AddressBook::remove(fi_addr_t handle) noexcept {
    const auto entry = entries_.find(handle);
    CINNABAR_ASSERT(entry != entries_.end());
    if (--entry->second.users > 0) return;
    handles_.erase(entry->second.address);
    entries_.erase(entry);
    (void)::fi_av_remove(table_.get(), &handle, 1, 0);
}

}  // namespace cinnabar::ofi
