// SPDX-License-Identifier: BSD-3-Clause
#include "session/pack.hpp"

#include "file/journal.hpp"

#include <cinnabar/files/name.hpp>

#include <algorithm>
#include <utility>

namespace cinnabar::files {
namespace {

// Fewer files per part are not worth another thread.
constexpr std::size_t part_files_min = 8;

}  // namespace

std::uint64_t pack_bytes(const PackIn& in) noexcept {
    std::uint64_t bytes = 0;
    for (const auto& file : in.files) bytes += file.bytes;
    return bytes;
}

Result<void> check_pack(const PackIn& in) {
    if (in.files.empty() || in.files.size() > pack_files_max)
        return Error{Errc::invalid_argument, "a pack has 1 to 64 files"};
    std::size_t text = 0;
    for (const auto& file : in.files) {
        if (file.bytes > packed_file_bytes_max) return Error{Errc::too_large, "a file of a pack is over 128 KiB"};
        text += file.name.size() + extended_bytes(file.attributes.extended);
    }
    if (text > pack_text_bytes_max)
        return Error{Errc::too_large, "the names and extended attributes of a pack are over 64 KiB"};
    if (in.window.size() != pack_bytes(in))
        return Error{Errc::invalid_argument, "the window is not as long as the files"};
    if (in.sync > Sync::none) return Error{Errc::invalid_argument, "there is no such way to sync"};
    return {};
}

std::size_t Pack::parts(std::size_t threads) const noexcept {
    return std::clamp<std::size_t>(files_.size() / part_files_min, 1, std::max<std::size_t>(threads, 1));
}

void Pack::save_part(std::size_t part, std::size_t of) {
    const auto begin = files_.size() * part / of;
    const auto end = files_.size() * (part + 1) / of;
    const auto files = std::span(files_).subspan(begin, end - begin);
    in_.sync == Sync::each ? save_one_by_one(files) : save_together(files);
}

Result<void> Pack::write(File& file, const NewFile* sibling) const {
    const auto& in = *file.in;
    if (in_.checked && block_checksum(file.content) != in.checksum)
        return Error{Errc::bad_checksum, "the checksum of the received data is wrong"};
    const auto existing = in_.replace ? Existing::replace : Existing::keep;
    CINNABAR_TRY(auto made, root_.create(in.name, in.bytes, in.attributes.mode, existing, {}, sibling));
    file.file.emplace(std::move(made));
    if (in_.exact) file.file->keep(in.attributes);
    if (in_.checked) file.file->keep_checksum(in.checksum);
    return file.file->write(0, file.content);
}

void Pack::save_one_by_one(std::span<File> files) const {
    const NewFile* sibling = nullptr;
    for (auto& file : files) {
        file.outcome = write(file, sibling);
        if (file.file) sibling = &*file.file;
        if (file.outcome) file.outcome = file.file->commit(file.before_naming, Sync::each);
    }
}

// A file that fails in any step is skipped in the following ones.
void Pack::save_together(std::span<File> files) const {
    const NewFile* sibling = nullptr;
    for (auto& file : files) {
        file.outcome = write(file, sibling);
        if (file.file) sibling = &*file.file;
    }
    for (auto& file : files) {
        if (file.outcome) file.outcome = file.file->settle(file.before_naming, in_.sync);
    }
    for (auto& file : files) {
        if (file.outcome) file.outcome = file.file->appear();
    }
    if (in_.sync == Sync::none) return;
    const NewFile* synced = nullptr;
    Result<void> outcome;
    for (auto& file : files) {
        if (!file.outcome) continue;
        if (!synced || !synced->is_beside(*file.file)) outcome = file.file->sync_folder();
        synced = &*file.file;
        file.outcome = outcome;
    }
}

}  // namespace cinnabar::files
