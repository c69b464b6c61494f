// SPDX-License-Identifier: BSD-3-Clause
#include "group_files/root_identity.hpp"

#include "commands/address.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/base/random.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/files/file_error.hpp>
#include <cinnabar/files/name.hpp>
#include <cinnabar/files/root.hpp>

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <span>

namespace cinnabar::tools::group_files {
namespace {

constexpr std::string_view identity_file = "server";  // in the staging folder, which clients do not see
constexpr std::size_t digits = 32;

Result<std::string> read_identity(const files::SourceFile& file, const std::string& path) {
    std::string text(digits, '\0');
    const auto read = file.read_some(0, std::as_writable_bytes(std::span(text)));
    if (read != digits || file.bytes() > digits + 1 || !is_identity(text))
        return Error{Errc::protocol, "not a server's identity: remove it to get a new one", printable(path)};
    return text;
}

Result<std::string> make_identity(const files::Root& folder) {
    auto text = fmt::format("{:016x}{:016x}", secret_u64(), secret_u64());
    const auto line = text + "\n";
    CINNABAR_TRY(auto file, folder.create(identity_file, line.size(), 0600, files::Existing::keep));
    CINNABAR_TRY_VOID(file.write(0, as_bytes(line)));
    CINNABAR_TRY_VOID(file.commit());
    return text;
}

}  // namespace

bool is_identity(std::string_view text) noexcept {
    return text.size() == digits && text.find_first_not_of("0123456789abcdef") == text.npos;
}

Result<std::string> identity_of_root(const std::string& path) {
    const auto folder_path = join_path(path, files::staging_folder);
    // Follows no link: a user who may write into the root must not choose where this process writes.
    const UniqueFd opened(::open(folder_path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!opened) return files::file_error(errno, "cannot open the folder for unfinished files", folder_path);
    CINNABAR_TRY(const auto folder, files::Root::open("/proc/self/fd/" + std::to_string(opened.get())));
    const auto known = folder.open_source(identity_file);
    if (known) return read_identity(*known, join_path(folder_path, identity_file));
    if (known.code() != Errc::not_found) return known.error();
    return make_identity(folder);
}

}  // namespace cinnabar::tools::group_files
