// SPDX-License-Identifier: BSD-3-Clause
// Saves many small files in one call.
#include "file/journal.hpp"
#include "session/client_session.hpp"
#include "session/pack.hpp"
#include "session/remote_error.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace cinnabar::files {
namespace {

// Marks a file that did not fit into the call, or that needs special treatment; it is saved individually.
Error saved_alone() { return {Errc::again, "it is saved by itself"}; }

}  // namespace

// The files that go into one call.
struct ClientSession::Packing {
    PackIn in;
    std::vector<std::size_t> numbers;    // index of each entry of in.files in the caller's list
    std::vector<Result<Moved>> results;  // one per file of the caller's list
    std::size_t text_bytes = 0;

    // Reads a file into the beginning of `to` and adds it to the call. Returns its size; an error becomes the file's
    // result.
    [[nodiscard]] Result<std::size_t> read(const SmallFile& file, const SaveMode& mode, Bytes to) {
        CINNABAR_TRY(const auto source, file.open());
        CINNABAR_TRY(auto attributes, source.attributes(mode.extended));
        const auto text = file.name.size() + extended_bytes(attributes.extended);
        const bool fits = source.bytes() <= std::min<std::uint64_t>(to.size(), packed_file_bytes_max) &&
                          !source.sparse() && text_bytes + text <= pack_text_bytes_max;
        if (!fits) return saved_alone();
        const auto content = to.first(static_cast<std::size_t>(source.bytes()));
        CINNABAR_TRY_VOID(source.read(0, content));
        CINNABAR_TRY_VOID(source.settled());
        text_bytes += text;
        const auto checksum = mode.checked ? block_checksum(content) : 0;
        in.files.push_back({file.name, content.size(), checksum, std::move(attributes)});
        return content.size();
    }
    // Reads all files that fit; returns the number of bytes used. Runs on a disk thread.
    [[nodiscard]] std::size_t read_all(const std::vector<SmallFile>& files, const SaveMode& mode, Bytes to) {
        std::size_t used = 0;
        for (std::size_t i = 0; i < files.size(); ++i) {
            auto got = in.files.size() < pack_files_max ? read(files[i], mode, to.subspan(used)) : saved_alone();
            if (!got) {
                results[i] = std::move(got).error();
                continue;
            }
            used += *got;
            numbers.push_back(i);
        }
        return used;
    }
    void take(const PackOut& out) {
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            const auto& file = in.files[i];
            Moved moved{file.bytes, 0, file.bytes, {}};
            if (in.checked) moved.checksum = file.checksum;
            const bool ok = out.outcomes[i].code == Errc::ok;
            results[numbers[i]] = ok ? Result<Moved>(moved) : Result<Moved>(from_outcome(out.outcomes[i]));
        }
    }
};

hl::Task<Result<void>> ClientSession::send_pack(Packing& pack, const std::vector<SmallFile>& files, SaveMode mode) {
    Share share(*buffers_, part_);
    Result<Buffer> buffer = co_await buffers_->take(share);
    if (!buffer) co_return std::move(buffer).error();
    const Bytes room = buffer->bytes();
    const auto used = co_await disk_.run([&pack, &files, &mode, room] { return pack.read_all(files, mode, room); });
    if (pack.in.files.empty()) co_return Result<void>();
    if (used > 0) pack.in.window = hl::Bulk(buffer->region().slice(0, used), na::Access::read);
    const std::optional<Error> nothing_fails;
    if (const Errc paced = co_await keep_rate(used, nothing_fails); paced != Errc::ok) co_return paced;
    seals_.stamp(pack.in);
    Result<PackOut> out = co_await node_.call(pack_rpc, server_, pack.in, commit_deadline);
    if (!out) co_return from_remote(std::move(out).error());
    if (out->outcomes.size() != pack.in.files.size())
        co_return Error{Errc::protocol, "the server has answered for another number of files than it was sent"};
    pack.take(*out);
    co_return Result<void>();
}

// Not a coroutine, because g++ 12 destroys a temporary of an awaited expression twice if it owns memory.
hl::Task<Result<Moved>> ClientSession::save_alone(const SmallFile& file, SaveMode mode) {
    return save(file.open, file.name, mode, {});
}

hl::Task<std::vector<Result<Moved>>> ClientSession::save_small(const std::vector<SmallFile>& files, SaveMode mode) {
    Packing pack;
    pack.in.exact = mode.exact;
    pack.in.replace = mode.existing == Existing::replace;
    pack.in.checked = mode.checked;
    pack.in.sync = mode.sync;
    pack.results.assign(files.size(), saved_alone());
    Result<void> sent;
    {
        const Pace::Pass pass = co_await packs_.take();
        sent = co_await send_pack(pack, files, mode);
    }
    for (std::size_t i = 0; i < files.size(); ++i) {
        auto& result = pack.results[i];
        const bool packed = std::ranges::find(pack.numbers, i) != pack.numbers.end();
        const bool refused = packed && !sent && sent.code() == Errc::overloaded;
        if (packed && !sent && !refused) {
            result = sent.error();
        } else if (refused || result.code() == Errc::again || (mode.again && result.code() == Errc::exists)) {
            result = co_await save_alone(files[i], mode);
        }
    }
    co_return std::move(pack.results);
}

}  // namespace cinnabar::files
