// SPDX-License-Identifier: BSD-3-Clause
// Fetches many small files in one call.
#include "session/client_session.hpp"
#include "session/pack.hpp"
#include "session/pack_parts.hpp"
#include "session/remote_error.hpp"

#include <cinnabar/base/printable.hpp>
#include <cinnabar/files/name.hpp>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace cinnabar::files {
namespace {

// Marks a file that is not in the call, or that the server leaves out of it.
Error fetched_alone() { return {Errc::again, "it is fetched by itself"}; }

}  // namespace

// The fetch of many files: those that fit go into one call, the others are fetched by themselves.
struct ClientSession::Unpacking {
    ClientSession& client;
    const std::vector<ListedFile>& files;
    const Root& into;
    FetchMode mode;
    ReadPackIn in{};
    std::vector<std::size_t> numbers{};    // index of each entry of in.files in `files`
    std::vector<Result<Moved>> results{};  // one per file of `files`

    [[nodiscard]] std::string_view name_here(std::size_t index) const {
        const auto& file = files[index];
        return file.as.empty() ? leaf_of(file.name) : std::string_view(file.as);
    }
    // Chooses the files of this call: those that fit. With Existing::keep, a file whose name is taken on this side is
    // left to a call of its own, which fails before its content is sent. Runs on a disk thread.
    void choose();
    [[nodiscard]] hl::Task<Result<void>> receive();
    [[nodiscard]] hl::Task<void> write(ReadPackOut& out, ConstBytes window);
    [[nodiscard]] hl::Task<Result<Moved>> fetch_alone(std::size_t index) const;
};

void ClientSession::Unpacking::choose() {
    std::uint64_t left = client.window_bytes_;
    std::size_t text = 0;
    in.extended = mode.extended;
    for (std::size_t i = 0; i < files.size() && numbers.size() < pack_files_max; ++i) {
        const auto& file = files[i];
        const auto name = file.name.size();
        const bool fits = file.bytes <= std::min(left, packed_file_bytes_max) && name <= name_bytes_max &&
                          text + name <= pack_text_bytes_max;
        if (!fits || (mode.existing == Existing::keep && into.look(name_here(i), {}))) continue;
        left -= file.bytes;
        text += name;
        in.files.push_back({file.name, file.bytes});
        numbers.push_back(i);
    }
}

// The pass ends when the call does, so that the next files can arrive while these are being written.
hl::Task<Result<void>> ClientSession::Unpacking::receive() {
    Share share(*client.buffers_, client.part_);
    Result<Buffer> buffer = Buffer();
    Result<ReadPackOut> out = ReadPackOut{};
    {
        const Pace::Pass pass = co_await client.packs_.take();
        buffer = co_await client.buffers_->take(share);
        if (!buffer) co_return std::move(buffer).error();
        const std::uint64_t bytes = pack_bytes(in);
        const std::optional<Error> nothing_fails;
        if (const Errc paced = co_await client.keep_rate(bytes, nothing_fails); paced != Errc::ok) co_return paced;
        if (bytes > 0) in.window = hl::Bulk(buffer->region().slice(0, bytes), na::Access::write);
        client.seals_.stamp(in);
        out = co_await client.node_.call(read_pack_rpc, client.server_, in, window_deadline);
    }
    if (!out) co_return from_remote(std::move(out).error());
    if (out->files.size() != in.files.size())
        co_return Error{Errc::protocol, "the server answers for other files than it was asked for"};
    co_await write(*out, buffer->bytes());
    co_return Result<void>();
}

// Uses the names and sizes of the request, whatever the server answers.
hl::Task<void> ClientSession::Unpacking::write(ReadPackOut& out, ConstBytes window) {
    std::vector<PackedFile> arrived;
    arrived.reserve(in.files.size());  // the pack refers to its elements
    Pack pack(into, {mode.exact, mode.existing == Existing::replace, true, false, mode.sync});
    std::vector<std::size_t> indices;
    std::size_t at = 0;
    for (std::size_t i = 0; i < in.files.size(); ++i) {
        auto& given = out.files[i];
        const ConstBytes content = window.subspan(at, static_cast<std::size_t>(in.files[i].bytes));
        at += content.size();
        if (given.outcome.code != Errc::ok) {
            results[numbers[i]] = from_outcome(given.outcome);
        } else if (!can_be(given.attributes, mode.extended)) {
            results[numbers[i]] = Error{Errc::protocol, "the server's description of the file is impossible",
                                        printable(in.files[i].name)};
        } else {
            arrived.push_back(
                {std::string(name_here(numbers[i])), content.size(), given.checksum, std::move(given.attributes)});
            pack.add({&arrived.back(), content, {}, given.sparse, {}, {}});
            indices.push_back(numbers[i]);
        }
    }
    const PackWork work = [&pack](std::size_t begin, std::size_t end) { pack.save(begin, end); };
    co_await run_in_parts(client.disk_, pack.files().size(), work);
    for (std::size_t i = 0; i < indices.size(); ++i) {
        const auto& saved = pack.files()[i];
        auto& result = results[indices[i]];
        if (saved.outcome) {
            result = Moved{saved.in->bytes, 0, saved.in->bytes, saved.in->checksum};
        } else {
            result = saved.outcome.error();
        }
    }
}

// Not a coroutine, because g++ 12 destroys a temporary of an awaited expression twice if it owns memory.
hl::Task<Result<Moved>> ClientSession::Unpacking::fetch_alone(std::size_t index) const {
    auto alone = mode;
    alone.as = name_here(index);
    alone.listed_bytes = files[index].bytes;
    return client.fetch(files[index].name, into, alone, {}, {});
}

hl::Task<std::vector<Result<Moved>>> ClientSession::fetch_small(const std::vector<ListedFile>& files, const Root& into,
                                                                FetchMode mode) {
    Unpacking pack{*this, files, into, mode};
    pack.results.assign(files.size(), fetched_alone());
    (void)co_await disk_.run([&pack] {
        pack.choose();
        return true;
    });
    Result<void> received;
    if (!pack.numbers.empty()) received = co_await pack.receive();
    const Errc code = received.code();
    if (!received && code != Errc::overloaded) {
        for (const auto number : pack.numbers) pack.results[number] = received.error();
    }
    // If the server did not answer, do not wait for it again for each file.
    std::optional<Error> late;
    if (code == Errc::timed_out) late = received.error();
    for (std::size_t i = 0; i < files.size(); ++i) {
        auto& result = pack.results[i];
        if (result.code() != Errc::again) continue;
        if (late) {
            result = *late;
        } else {
            result = co_await pack.fetch_alone(i);
        }
        if (result.code() == Errc::timed_out) late = result.error();
    }
    co_return std::move(pack.results);
}

}  // namespace cinnabar::files
