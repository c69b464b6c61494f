// SPDX-License-Identifier: BSD-3-Clause
// What one client may use in all, however often it connects: how much it saves while the server runs, and how fast its
// data moves. A client is its proven identity (tcps), otherwise the user that the kernel reports (shm), otherwise a
// host: an IPv4 address, or the 64-bit network prefix of an IPv6 address. Used on the loop only.
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

// "key:ann", "cert:ann", "uid:1000", "10.0.0.5", "2001:db8:0:1::/64". Clients about which the transport tells nothing
// share one name.
[[nodiscard]] std::string client_name(const na::Addr& source);
// The host part of an address such as "10.0.0.5:41234" or "[2001:db8::1]:41234".
[[nodiscard]] std::string host_of(std::string_view from);

class Account {
  public:
    explicit Account(const Quota& quota) noexcept : quota_(quota), rate_(quota.bytes_per_second) {}

    // Sets another quota, for what was saved so far and for all that follows.
    void change(const Quota& quota) noexcept;
    // no_space: the quota would be exceeded.
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

// An amount charged to an account for an operation in progress; refunded unless it is kept.
class Charge {
  public:
    Charge() = default;
    // `account` may be null: then nothing is charged. Errors of Account::charge.
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
    // The data was saved, so the charge stays.
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

    // The account of the client, with the quota that applies to it now: `own`, or that of all clients. Null: nothing is
    // limited. overloaded: there are too many clients. Accounts without a session and without saved data are forgotten
    // first.
    [[nodiscard]] Result<std::shared_ptr<Account>> of(const std::string& client, const Quota* own = nullptr);
    [[nodiscard]] std::size_t count() const noexcept { return accounts_.size(); }

  private:
    const Quota quota_;
    std::map<std::string, std::shared_ptr<Account>, std::less<>> accounts_;
};

}  // namespace cinnabar::files
