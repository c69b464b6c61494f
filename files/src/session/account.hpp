// SPDX-License-Identifier: BSD-3-Clause
// What one client may do in all, however often it connects: how much it saves while the server runs, and how fast its
// data moves. A client is who it has proven to be (tcps), a user, where the kernel tells it (shm), and elsewhere a
// host: an IPv4 address, or the 64 bits of an IPv6 address that name a network. Belongs to the loop.
#pragma once

#include "session/rate.hpp"

#include <cinnabar/base/result.hpp>
#include <cinnabar/files/access_policy.hpp>
#include <cinnabar/na/addr.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cinnabar::files {

// "key:ann", "cert:ann", "uid:1000", "10.0.0.5", "2001:db8:0:1::/64". Those of whom a transport tells nothing are one
// client.
[[nodiscard]] std::string client_name(const na::Addr& source);
// The same of where a connection came from: "10.0.0.5:41234", "[2001:db8::1]:41234".
[[nodiscard]] std::string host_of(std::string_view from);

class Account {
  public:
    explicit Account(const Quota& quota) noexcept : quota_(quota), rate_(quota.bytes_per_second) {}

    // Another quota, for what it has saved so far and all that comes.
    void change(const Quota& quota) noexcept;
    // no_space: it would be over the quota.
    [[nodiscard]] Result<void> charge(std::uint64_t bytes, std::uint64_t files);
    void give_back(std::uint64_t bytes, std::uint64_t files) noexcept {
        bytes_ -= bytes;
        files_ -= files;
    }
    [[nodiscard]] bool empty() const noexcept { return bytes_ == 0 && files_ == 0; }
    [[nodiscard]] Rate& rate() noexcept { return rate_; }

  private:
    Quota quota_;
    std::uint64_t bytes_ = 0;
    std::uint64_t files_ = 0;
    Rate rate_;
};

// What is under way on an account; given back unless it is kept.
class Charge {
  public:
    Charge() = default;
    // `account` may be null: nothing is counted. Errors of Account::charge.
    [[nodiscard]] static Result<Charge> make(std::shared_ptr<Account> account, std::uint64_t bytes,
                                             std::uint64_t files);
    Charge(Charge&& other) noexcept
        : account_(std::exchange(other.account_, nullptr)), bytes_(other.bytes_), files_(other.files_) {}
    Charge& operator=(Charge&& other) noexcept {
        std::swap(account_, other.account_);
        std::swap(bytes_, other.bytes_);
        std::swap(files_, other.files_);
        return *this;
    }
    ~Charge() {
        if (account_) account_->give_back(bytes_, files_);
    }
    // It was saved.
    void keep() noexcept { account_.reset(); }

  private:
    std::shared_ptr<Account> account_;
    std::uint64_t bytes_ = 0;
    std::uint64_t files_ = 0;
};

class Accounts {
  public:
    static constexpr std::size_t accounts_max = 65'536;

    explicit Accounts(const Quota& quota) noexcept : quota_(quota) {}

    // That of the client, with the quota that it has now, which may be another one than that of all; null where nothing
    // is limited. overloaded: there are too many clients. Those that have no session and have saved nothing are
    // forgotten first.
    [[nodiscard]] Result<std::shared_ptr<Account>> of(const std::string& client, const Quota* own = nullptr);
    [[nodiscard]] std::size_t count() const noexcept { return accounts_.size(); }

  private:
    const Quota quota_;
    std::map<std::string, std::shared_ptr<Account>, std::less<>> accounts_;
};

}  // namespace cinnabar::files
