// SPDX-License-Identifier: BSD-3-Clause
#include "session/client_quota.hpp"

#include <cinnabar/rpc/callers.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>

namespace cinnabar::files {

std::string host_of(std::string_view from) {
    if (const auto scheme = from.find("://"); scheme != from.npos) from.remove_prefix(scheme + 3);
    const bool brackets = from.starts_with('[');
    const auto end = brackets ? from.find(']') : from.rfind(':');
    const std::string host(from.substr(brackets ? 1 : 0, end == from.npos ? from.npos : end - (brackets ? 1 : 0)));
    in6_addr address{};
    const auto unscoped = host.substr(0, host.find('%'));
    if (!brackets || ::inet_pton(AF_INET6, unscoped.c_str(), &address) != 1 || IN6_IS_ADDR_V4MAPPED(&address))
        return host;
    // A host may use any address of its 64-bit network.
    std::fill(std::begin(address.s6_addr) + 8, std::end(address.s6_addr), std::uint8_t{0});
    std::array<char, INET6_ADDRSTRLEN> text{};
    (void)::inet_ntop(AF_INET6, &address, text.data(), text.size());
    return std::string(text.data()) + "/64";
}

std::string client_name(const na::Addr& source) {
    if (source.identity() || source.process()) return rpc::caller_name(source);
    return source.is_connection() ? host_of(source.body().from) : source.to_string();
}

void Account::change(const Quota& quota) noexcept {
    if (quota.bytes_per_second != quota_.bytes_per_second) rate_ = Rate(quota.bytes_per_second);
    quota_ = quota;
}

Result<void> Account::charge(std::uint64_t bytes, std::uint64_t files) {
    if (bytes > quota_.bytes - std::min(bytes_, quota_.bytes))
        return Error{Errc::no_space, "this client's quota of bytes does not allow it (serve --policy, --client-quota)"};
    if (files > quota_.files - std::min(files_, quota_.files))
        return Error{Errc::no_space, "this client's quota of files is used up (serve --policy, --client-quota-files)"};
    bytes_ += bytes;
    files_ += files;
    return {};
}

Result<Charge> Charge::make(std::shared_ptr<Account> account, std::uint64_t bytes, std::uint64_t files) {
    Charge charge;
    if (!account) return charge;
    CINNABAR_TRY_VOID(account->charge(bytes, files));
    charge.account_ = std::move(account);
    charge.bytes_ = bytes;
    charge.files_ = files;
    return charge;
}

Result<std::shared_ptr<Account>> Accounts::of(const std::string& client, const Quota* own) {
    const Quota& quota = own ? *own : quota_;
    const auto found = accounts_.find(client);
    if (found != accounts_.end()) found->second->change(quota);
    if (!quota.limits()) return std::shared_ptr<Account>();
    if (found != accounts_.end()) return found->second;
    if (accounts_.size() >= accounts_max)
        std::erase_if(accounts_,
                      [](const auto& entry) { return entry.second.use_count() == 1 && entry.second->empty(); });
    if (accounts_.size() >= accounts_max)
        return Error{Errc::overloaded, "the server cannot keep quotas for more clients"};
    return accounts_.emplace(client, std::make_shared<Account>(quota)).first->second;
}

}  // namespace cinnabar::files
