// SPDX-License-Identifier: BSD-3-Clause
#include "session/source_mark.hpp"

#include "session/secret.hpp"

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/base/whole_io.hpp>

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>

namespace cinnabar::files {
namespace {

// Reads the number that the kernel has chosen at random for this boot: 32 hexadecimal digits, with hyphens. Marks
// depend on it, because device numbers and times may be the same on another host, or on this host after its next boot.
std::optional<std::array<std::uint8_t, 32>> boot_number() noexcept {
    const UniqueFd file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    std::array<char, 64> text{};
    if (!file || read_at_most(file.get(), std::as_writable_bytes(std::span(text)), 0) <= 0) return std::nullopt;
    const auto end =
        std::remove_if(text.begin(), text.end(), [](char c) { return c == '-' || c == '\n' || c == '\0'; });
    std::array<std::uint8_t, 32> number{};
    if (end - text.begin() != static_cast<std::ptrdiff_t>(number.size())) return std::nullopt;
    std::copy(text.begin(), end, number.begin());
    return number;
}

}  // namespace

SourceMark mark_of(const SourceFile& source, std::string_view server, std::string_view name) {
    static const auto boot = boot_number();
    if (!boot || !source.tells_changes()) return {};
    const FileStamp& stamp = source.stamp();
    MacText text("cinnabar save 1 source");
    text.add(stamp.device).add(stamp.inode).add(stamp.bytes);
    text.add(static_cast<std::uint64_t>(stamp.modified_s)).add(static_cast<std::uint64_t>(stamp.modified_ns));
    text.add(static_cast<std::uint64_t>(stamp.changed_s)).add(static_cast<std::uint64_t>(stamp.changed_ns));
    text.add_text(server).add_text(name);
    return Secret(*boot).sign(text);
}

}  // namespace cinnabar::files
