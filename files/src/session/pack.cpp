// SPDX-License-Identifier: BSD-3-Clause
#include "session/pack.hpp"

#include "file/journal.hpp"
#include "session/remote_error.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/file_error.hpp>
#include <cinnabar/files/name.hpp>

#include <string_view>
#include <utility>

namespace cinnabar::files {

namespace {

// `text_of(file)` returns the number of bytes of the file's description.
template <typename In, typename TextOf>
Result<void> check_files(const In& in, TextOf text_of, std::string_view too_much_text) {
    if (in.files.empty() || in.files.size() > pack_files_max)
        return Error{Errc::invalid_argument, "a pack has 1 to 64 files"};
    std::size_t text = 0;
    for (const auto& file : in.files) {
        if (file.bytes > packed_file_bytes_max) return Error{Errc::too_large, "a file of a pack is over 128 KiB"};
        text += text_of(file);
    }
    if (text > pack_text_bytes_max) return Error{Errc::too_large, too_much_text};
    return {};
}

template <typename In>
Result<void> check_window(const In& in) {
    if (in.window.size() != pack_bytes(in))
        return Error{Errc::invalid_argument, "the window is not as long as the files"};
    return {};
}

// `In`: ReadPackIn, LendPackIn.
template <typename In>
Result<void> check_wanted(const In& in) {
    const auto text_of = [](const WantedFile& file) { return file.name.size(); };
    CINNABAR_TRY_VOID(check_files(in, text_of, "the names of a pack are over 64 KiB"));
    for (const auto& file : in.files) {
        if (file.name.size() > name_bytes_max) return Error{Errc::too_large, "the name is over 4095 bytes"};
    }
    return {};
}

}  // namespace

Result<void> check_pack(const PackIn& in) {
    const auto text_of = [](const PackedFile& file) {
        return file.name.size() + extended_bytes(file.attributes.extended);
    };
    CINNABAR_TRY_VOID(check_files(in, text_of, "the names and extended attributes of a pack are over 64 KiB"));
    CINNABAR_TRY_VOID(check_window(in));
    if (in.sync > Sync::none) return Error{Errc::invalid_argument, "there is no such way to sync"};
    return {};
}

Result<void> check_pack(const ReadPackIn& in) {
    CINNABAR_TRY_VOID(check_wanted(in));
    return check_window(in);
}

Result<void> check_pack(const LendPackIn& in) {
    CINNABAR_TRY_VOID(check_wanted(in));
    if (in.text_bytes > pack_text_bytes_max)
        return Error{Errc::too_large, "the extended attributes of a pack may not be over 64 KiB"};
    return {};
}

Result<void> check_pack(const TakePackIn& in) {
    if (in.files.empty() || in.files.size() > pack_files_max)
        return Error{Errc::protocol, "the server lends another number of files than it was asked for"};
    std::size_t text = 0;
    for (const auto& file : in.files) text += extended_bytes(file.attributes.extended);
    if (text > pack_text_bytes_max)
        return Error{Errc::protocol, "the server lends files with more extended attributes than it was asked for"};
    return {};
}

PackedOutcome to_outcome(const Error& error) {
    const Error remote = to_remote(error);
    return {error.code, remote.subject};
}

Error from_outcome(const PackedOutcome& outcome) {
    const auto code = outcome.code != Errc::ok && is_known(outcome.code) ? outcome.code : Errc::protocol;
    return {code, server_says, printable(outcome.text)};
}

void Pack::save(std::size_t begin, std::size_t end) {
    const auto files = std::span(files_).subspan(begin, end - begin);
    mode_.sync == Sync::each ? save_one_by_one(files) : save_together(files);
    for (auto& file : files) file.file.reset();  // so that many packs do not keep many folders open
}

Result<void> Pack::write(File& file, const NewFile* sibling) const {
    const auto& in = *file.in;
    if (mode_.checked && block_checksum(file.content) != in.checksum)
        return Error{Errc::bad_checksum, "the checksum of the received data is wrong", printable(in.name)};
    const auto existing = mode_.replace ? Existing::replace : Existing::keep;
    Resumable resumable;
    resumable.sparse = file.sparse;
    CINNABAR_TRY(auto made, root_.create(in.name, in.bytes, in.attributes.mode, existing, resumable, sibling));
    file.file.emplace(std::move(made));
    if (mode_.exact) file.file->keep(in.attributes);
    if (mode_.marked) file.file->keep_checksum(in.checksum);
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
        if (file.outcome) file.outcome = file.file->settle(file.before_naming, mode_.sync);
    }
    for (auto& file : files) {
        if (file.outcome) file.outcome = file.file->appear();
    }
    if (mode_.sync == Sync::none) return;
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
