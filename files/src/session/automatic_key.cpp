// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/printable.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/files/automatic_key.hpp>
#include <cinnabar/files/file_error.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/root.hpp>
#include <cinnabar/na/addr.hpp>
#include <cinnabar/na/uri.hpp>

#include <fcntl.h>
#include <openssl/crypto.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <utility>

namespace cinnabar::files {
namespace {

bool is_own_folder(const std::string& path, mode_t forbidden) {
    const UniqueFd folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat status {};
    return folder && ::fstat(folder.get(), &status) == 0 && status.st_uid == ::geteuid() &&
           (status.st_mode & forbidden) == 0;
}

std::string home() {
    if (const char* set = ::secure_getenv("HOME"); set && *set == '/') return set;
    std::array<char, 4096> buffer{};
    passwd entry{};
    passwd* found = nullptr;
    if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || !found) return {};
    return found->pw_dir;
}

// The existing folders of this user in which keys may be stored. A server may have been started without the environment
// of a login session, so clients search all these folders.
std::vector<std::string> own_folders() {
    std::vector<std::string> folders;
    const auto add = [&](std::string path) {
        if (path.starts_with('/') && is_own_folder(path, 0) && std::ranges::find(folders, path) == folders.end())
            folders.push_back(std::move(path));
    };
    const char* const runtime = ::secure_getenv("XDG_RUNTIME_DIR");
    add(runtime ? runtime : "");
    add("/run/user/" + std::to_string(::geteuid()));
    const char* const cache = ::secure_getenv("XDG_CACHE_HOME");
    add(cache ? cache : "");
    add(home() + "/.cache");
    return folders;
}

// Returns the name of a key file, for example "HOST-tcp-127.0.0.1-5000.key". The name includes the host because several
// hosts may share a home directory.
std::string file_name(const na::Uri& endpoint, std::string_view host) {
    std::array<char, 256> own_host{};
    (void)::gethostname(own_host.data(), own_host.size() - 1);
    auto name = std::string(own_host.data()) + "-" + endpoint.scheme + "-" + std::string(host);
    if (endpoint.port) name.append("-").append(std::to_string(*endpoint.port));
    for (char& byte : name) {
        const bool plain = std::isalnum(static_cast<unsigned char>(byte)) != 0 || byte == '.' || byte == '-';
        if (!plain) byte = '_';
    }
    return name.substr(0, component_bytes_max - 4) + ".key";
}

// A server prints its address in numeric form, so "localhost" is replaced by both numeric addresses.
std::vector<std::string> file_names(std::string_view text) {
    const auto endpoint = na::Uri::parse(text);
    if (!endpoint) return {};
    if (endpoint->host != "localhost") return {file_name(*endpoint, endpoint->host)};
    return {file_name(*endpoint, "127.0.0.1"), file_name(*endpoint, "::1")};
}

}  // namespace

AutomaticKey AutomaticKey::make() {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const auto byte : make_nonce()) text.append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    return AutomaticKey(std::move(text));
}

AutomaticKey::~AutomaticKey() {
    for (const auto& path : paths_) (void)::unlink(path.c_str());
    OPENSSL_cleanse(text_.data(), text_.size());
}

Result<void> AutomaticKey::publish(std::string_view endpoint) {
    const auto names = file_names(endpoint);
    if (names.empty()) return Error{Errc::bad_address, "no key can be made for that address", printable(endpoint)};
    forget_automatic_key(endpoint);
    if (const auto own = home(); is_own_folder(own, 0)) (void)::mkdir((own + "/.cache").c_str(), 0700);
    Error failure{Errc::not_found, "there is no folder of this user for the key: give --key-file, or --insecure"};
    for (const auto& parent : own_folders()) {
        const auto folder = parent + "/cinnabar";
        if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
            failure = file_error(errno, "cannot make a folder for the key: give --key-file, or --insecure", folder);
            continue;
        }
        if (!is_own_folder(folder, 077)) {
            failure = {Errc::permission, "the folder for keys is not this user's alone: chmod 700 it", folder};
            continue;
        }
        CINNABAR_TRY(const auto root, Root::open(folder));
        CINNABAR_TRY(auto file, root.create(names.front(), text_.size() + 1, 0600, Existing::replace));
        const std::string line = text_ + "\n";
        CINNABAR_TRY_VOID(file.write(0, as_bytes(line)));
        CINNABAR_TRY_VOID(file.commit());
        paths_.push_back(folder + "/" + names.front());
        return {};
    }
    return failure;
}

void forget_automatic_key(std::string_view endpoint) noexcept {
    for (const auto& parent : own_folders()) {
        for (const auto& name : file_names(endpoint)) (void)::unlink((parent + "/cinnabar/" + name).c_str());
    }
}

Result<std::optional<Key>> find_automatic_key(std::string_view server) {
    CINNABAR_TRY(const auto address, na::Addr::parse(server));
    for (const auto& endpoint : address.body().endpoints) {
        for (const auto& parent : own_folders()) {
            for (const auto& name : file_names(endpoint)) {
                auto key = Key::load(parent + "/cinnabar/" + name);
                if (key) return std::optional<Key>(*std::move(key));
                if (key.code() != Errc::not_found) return std::move(key).error();
            }
        }
    }
    return std::optional<Key>();
}

}  // namespace cinnabar::files
