// SPDX-License-Identifier: BSD-3-Clause
// Quotas per client, over all its connections together: how much it saves while the server runs, and its data rate. A
// client is identified by its proven identity (tcps, ofis, verbss), otherwise by the user that the kernel reports
// (shm), otherwise by its host: an IPv4 address, or the 64-bit network prefix of an IPv6 address. Used on the loop
// only.
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

// Returns the name under which a client is counted, for example "key:ann", "cert:ann", "uid:1000", "10.0.0.5",
// "2001:db8:0:1::/64". Clients that the transport does not identify at all share one name.
[[nodiscard]] std::string client_name(const na::Addr& source);
// The host part of an address such as "10.0.0.5:41234" or "[2001:db8::1]:41234".
[[nodiscard]] std::string host_of(std::string_view from);

class Account {
  public:
    explicit Account(const Quota& quota) noexcept : quota_(quota), rate_(quota.bytes_per_second) {}

    // Changes the quota. What was saved so far counts against the new one.
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

// An amount charged to an account for an operation in progress; refunded by the destructor unless keep() was called.
class Charge {
  public:
    Charge() = default;
    // `account` may be null; then nothing is charged. Errors of Account::charge().
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
    // Makes the charge permanent, after the data was saved.
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

    // Returns the account of the client, and sets the account's quota: `own`, or the quota for all clients. Null: the
    // client has no limits. overloaded: there are accounts_max accounts, and none could be removed; accounts without a
    // session and without saved data are removed first.
    [[nodiscard]] Result<std::shared_ptr<Account>> of(const std::string& client, const Quota* own = nullptr);
    [[nodiscard]] std::size_t count() const noexcept { return accounts_.size(); }

  private:
    const Quota quota_;
    std::map<std::string, std::shared_ptr<Account>, std::less<>> accounts_;
};

}  // namespace cinnabar::files
