// SPDX-License-Identifier: BSD-3-Clause
#include "session/read_pack.hpp"

#include "file/journal.hpp"
#include "session/pack.hpp"

#include <cinnabar/files/name.hpp>
#include <cinnabar/files/source_file.hpp>

#include <cstring>
#include <utility>

namespace cinnabar::files {

ReadPack::ReadPack(const Root& root, const std::vector<WantedFile>& files, const ExtendedKinds& extended,
                   std::size_t text_bytes)
    : root_(root), files_(files), extended_(extended), text_bytes_(text_bytes) {
    out_.files.resize(files.size());
}

void ReadPack::refuse(std::size_t file, const Error& why) { out_.files[file].outcome = to_outcome(why); }

void ReadPack::read(std::size_t begin, std::size_t end, Bytes window) {
    std::size_t text_left = text_bytes_ * (end - begin) / files_.size();
    std::size_t at = 0;
    for (std::size_t i = 0; i < end; ++i) {
        const Bytes content = window.subspan(at, static_cast<std::size_t>(files_[i].bytes));
        at += content.size();
        if (i < begin || out_.files[i].outcome.code != Errc::ok) continue;
        if (const auto got = read_one(i, content, text_left); !got) refuse(i, got.error());
    }
}

Result<void> ReadPack::read_one(std::size_t file, Bytes content, std::size_t& text_left) {
    CINNABAR_TRY(const auto source, root_.open_source(files_[file].name));
    if (source.bytes() != content.size()) return Error{Errc::again, "its size is not the one that was listed"};
    CINNABAR_TRY(auto attributes, source.attributes(extended_));
    const auto text = extended_bytes(attributes.extended);
    if (text > text_left) return Error{Errc::again, "the answer has no room for its extended attributes"};
    CINNABAR_TRY_VOID(source.read(0, content));
    CINNABAR_TRY_VOID(source.settled());
    text_left -= text;
    out_.files[file] = {{}, block_checksum(content), std::move(attributes), source.sparse()};
    return {};
}

std::vector<ByteRange> ReadPack::ranges() const {
    std::vector<ByteRange> ranges;
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < files_.size(); ++i) {
        const auto bytes = files_[i].bytes;
        const bool follows = !ranges.empty() && ranges.back().offset + ranges.back().bytes == at;
        if (out_.files[i].outcome.code == Errc::ok && bytes > 0) {
            if (follows) {
                ranges.back().bytes += bytes;
            } else {
                ranges.push_back({at, bytes});
            }
        }
        at += bytes;
    }
    return ranges;
}

void ReadPack::leave_out_sparse() {
    for (std::size_t i = 0; i < files_.size(); ++i) {
        const auto& given = out_.files[i];
        if (given.outcome.code == Errc::ok && given.sparse) refuse(i, Error{Errc::again, "it is sparse"});
    }
}

std::size_t ReadPack::close_gaps(Bytes window) const {
    std::size_t at = 0;
    for (const auto& range : ranges()) {
        const auto bytes = static_cast<std::size_t>(range.bytes);
        if (range.offset != at)
            std::memmove(window.data() + at, window.data() + static_cast<std::size_t>(range.offset), bytes);
        at += bytes;
    }
    return at;
}

}  // namespace cinnabar::files
