// SPDX-License-Identifier: BSD-3-Clause
// Profile: what a member publishes about itself: where it listens, and its labels. A profile does not change during one
// life of its member. It is kept in its encoded form, in one block that copies share, because a process knows thousands
// of members and calls few of them; addresses are made from it when they are needed. Immutable; usable from any thread.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/na/addr.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <utility>

namespace cinnabar::group {

// Key-value pairs that a member publishes when it joins: at most labels_max pairs, and labels_bytes_max in total.
using Labels = std::map<std::string, std::string>;
inline constexpr std::size_t labels_max = 16;
inline constexpr std::size_t labels_bytes_max = 1024;

class CINNABAR_API Profile {
  public:
    // Empty: has no address and no labels, because nothing is known of them.
    Profile() noexcept = default;
    // `side_loop`: the member is probed through its side loop (hl/side_loop.hpp). Requires: can_have(address, labels).
    Profile(const na::Addr& address, const Labels& labels, bool side_loop = false);
    // Whether a member can have that address and these labels: it listens, and its labels are few and short.
    [[nodiscard]] static bool can_have(const na::Addr& address, const Labels& labels) noexcept;

    Profile(const Profile& other) noexcept : body_(other.body_) { acquire(); }
    Profile(Profile&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
    Profile& operator=(Profile other) noexcept {
        std::swap(body_, other.body_);
        return *this;
    }
    ~Profile() { release(); }

    explicit operator bool() const noexcept { return body_ != nullptr; }
    // Each call of address() or labels() decodes the result anew, so keep a result that is used often. Empty if this
    // profile is empty. `address`: with all endpoints.
    [[nodiscard]] na::Addr address() const;
    [[nodiscard]] Labels labels() const;
    [[nodiscard]] bool side_loop() const noexcept;  // false if this is empty
    // Whether address() is the same for both.
    [[nodiscard]] bool has_address_of(const Profile& other) const noexcept;
    friend CINNABAR_API bool operator==(const Profile& a, const Profile& b) noexcept;

    // As in messages: address, labels and side_loop, one after the other (rpc/proc.hpp). Valid as long as this object.
    [[nodiscard]] ConstBytes encoded() const noexcept;

  private:
    struct Body;
    void acquire() const noexcept;
    void release() noexcept;
    [[nodiscard]] ConstBytes encoded_address() const noexcept;

    Body* body_ = nullptr;
};

}  // namespace cinnabar::group
