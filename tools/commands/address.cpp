// SPDX-License-Identifier: BSD-3-Clause
#include "commands/address.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/na/session/socket_address.hpp>
#include <cinnabar/na/uri.hpp>

#include <algorithm>

namespace cinnabar::tools {

Result<RemotePath> parse_remote_path(std::string_view text) {
    for (std::size_t begin = 0;;) {
        const auto first = na::Uri::first_of(text.substr(begin));
        if (!na::Uri::begins(first))
            return Error{Errc::bad_address, "an address is SCHEME://HOST:PORT", printable(text)};
        const auto slash = first.find('/', first.find("://") + 3);
        if (slash != first.npos)
            return RemotePath{std::string(text.substr(0, begin + slash)), std::string(text.substr(begin + slash + 1))};
        if (begin + first.size() == text.size()) return RemotePath{std::string(text), {}};
        begin += first.size() + 1;
    }
}

namespace {

std::string_view scheme_of(std::string_view endpoint) { return endpoint.substr(0, endpoint.find("://")); }

bool is_local_transport(const na::Uri& uri) { return uri.scheme == "shm" || uri.scheme == "self"; }

// Whether other users of the host may connect, too.
bool admits_group(const na::Uri& uri) { return !uri.option("group").empty(); }

}  // namespace

std::string reachable_from(std::string_view from, std::string_view to) {
    const auto there = na::Uri::split(to);
    std::string result;
    for (const auto endpoint : na::Uri::split(from)) {
        const auto same = [&](std::string_view other) { return scheme_of(other) == scheme_of(endpoint); };
        if (std::ranges::none_of(there, same)) continue;
        if (!result.empty()) result += ',';
        result += endpoint;
    }
    return result.empty() ? std::string(from) : result;
}

bool means_contents(std::string_view path) {
    const auto leaf = files::leaf_of(path);
    return leaf.empty() || leaf == "." || leaf == "..";
}

std::string join_name(std::string_view folder, std::string_view leaf) {
    while (folder.ends_with('/')) folder.remove_suffix(1);
    if (folder.empty()) return std::string(leaf);
    if (leaf.empty()) return std::string(folder);
    return std::string(folder).append("/").append(leaf);
}

std::string join_path(std::string_view folder, std::string_view below) {
    std::string path;
    if (folder != ".") path = folder;
    if (!path.empty() && !path.ends_with('/')) path += '/';
    return path.append(below);
}

Result<bool> stays_on_host(std::string_view uri) {
    CINNABAR_TRY(const auto parsed, na::Uri::parse(uri));
    if (is_local_transport(parsed)) return !admits_group(parsed);
    if (parsed.host == "localhost") return true;
    const auto known = na::resolve_at_once(parsed, na::Purpose::listen);
    return known && *known && std::ranges::all_of(**known, &na::SocketAddress::is_loopback);
}

bool admits_own_user_only(std::string_view uri) {
    const auto parsed = na::Uri::parse(uri);
    return parsed && is_local_transport(*parsed) && !admits_group(*parsed);
}

bool dials_loopback(std::string_view uri) {
    auto parsed = na::Uri::parse(uri);
    if (!parsed || is_local_transport(*parsed)) return false;
    parsed->port = 1;  // any: only hosts are looked up
    const auto found = na::resolve(*parsed, na::Purpose::dial);
    return found && std::ranges::any_of(*found, [](const na::SocketAddress& address) {
               return address.is_loopback() || address.is_any();  // the kernel connects both to this host
           });
}

}  // namespace cinnabar::tools
