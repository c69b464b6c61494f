// SPDX-License-Identifier: BSD-3-Clause
#include "session/read_pack.hpp"

#include "file/journal.hpp"
#include "session/pack.hpp"

#include <cinnabar/files/name.hpp>
#include <cinnabar/files/source_file.hpp>

#include <utility>

namespace cinnabar::files {

ReadPack::ReadPack(const Root& root, const ReadPackIn& in) : root_(root), in_(in) {
    out_.files.resize(in.files.size());
}

void ReadPack::refuse(std::size_t file, const Error& why) { out_.files[file].outcome = to_outcome(why); }

void ReadPack::read(std::size_t begin, std::size_t end, Bytes window) {
    std::size_t text_left = pack_text_bytes_max * (end - begin) / in_.files.size();
    std::size_t at = 0;
    for (std::size_t i = 0; i < end; ++i) {
        const Bytes content = window.subspan(at, static_cast<std::size_t>(in_.files[i].bytes));
        at += content.size();
        if (i < begin || out_.files[i].outcome.code != Errc::ok) continue;
        if (const auto got = read_one(i, content, text_left); !got) refuse(i, got.error());
    }
}

Result<void> ReadPack::read_one(std::size_t file, Bytes content, std::size_t& text_left) {
    CINNABAR_TRY(const auto source, root_.open_source(in_.files[file].name));
    if (source.bytes() != content.size()) return Error{Errc::again, "its size is not the one that was listed"};
    CINNABAR_TRY(auto attributes, source.attributes(in_.extended));
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
    for (std::size_t i = 0; i < in_.files.size(); ++i) {
        const auto bytes = in_.files[i].bytes;
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

}  // namespace cinnabar::files
