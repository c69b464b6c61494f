// SPDX-License-Identifier: BSD-3-Clause
// docs/guide.md, "Bulk".
#include <cinnabar/cinnabar.hpp>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

using namespace cinnabar;
using namespace std::chrono_literals;

struct ReadAt {
    std::uint64_t offset = 0;
    Bulk into;
};
inline constexpr Rpc<std::uint64_t(ReadAt)> read_at{"read_at"};

struct Append {
    Bulk bytes;
};
inline constexpr Rpc<std::uint64_t(Append)> append{"append"};

// A blob in memory that clients read and append to.
struct Blob {
    std::string bytes;

    Task<Result<std::uint64_t>> read(Request<ReadAt> request) {
        const auto from = std::min<std::uint64_t>(request->offset, bytes.size());
        const auto count = std::min<std::uint64_t>(bytes.size() - from, request->into.size());
        if (count == 0) co_return count;
        // Not from `bytes` itself: another call may append to it while this one waits.
        CINNABAR_CO_TRY(const Buffer buffer, request.node().buffers().take(count));
        std::memcpy(buffer.bytes().data(), bytes.data() + from, count);
        co_return co_await request->into.push(buffer);
    }

    Task<Result<std::uint64_t>> add(Request<Append> request) {
        if (request->bytes.size() > 1 << 20) co_return request.fail(1, "at most 1 MiB at a time");
        CINNABAR_CO_TRY(const auto more, co_await request->bytes.fetch<char>());
        bytes.append(more.begin(), more.end());
        co_return bytes.size();
    }
};

int main() {
    auto server = Node::listen("tcp://127.0.0.1:0").value();
    Blob blob;
    server.serve(read_at, [&blob](Request<ReadAt> request) { return blob.read(std::move(request)); }).value();
    server.serve(append, [&blob](Request<Append> request) { return blob.add(std::move(request)); }).value();
    auto [client, peer] = Node::connect(server.address()).value();

    // Memory that is read by others may be const; that which is written may not.
    const std::string text = "what is lent is not copied";
    const Region lent = client.expose(std::span<const char>(text)).value();
    std::cout << "size now: " << client.call(append, peer, {lent}).wait().value() << '\n';

    // A slice is a window of the same registration.
    std::cout << "size now: " << client.call(append, peer, {lent.slice(12, 14)}).wait().value() << '\n';

    std::vector<char> room(16);
    const Region target = client.expose(std::span(room)).value();
    const auto got = client.call(read_at, peer, {26, target}).wait().value();
    std::cout << "read " << got << ": " << std::string(room.data(), got) << '\n';

    // Two pieces of memory as one.
    std::string head = "HEAD", tail = "TAIL";
    const auto piece = [](std::string& of) { return na::Segment{reinterpret_cast<std::byte*>(of.data()), of.size()}; };
    const std::vector<na::Segment> pieces{piece(head), piece(tail)};
    const Region both = Region::expose(pieces, Access::read).value();
    std::cout << "size now: " << client.call(append, peer, {both}).wait().value() << '\n';
    std::cout << "ends with " << blob.bytes.substr(blob.bytes.size() - 8) << '\n';
}
