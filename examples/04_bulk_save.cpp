// A bulk file save: the client maps a file and lends it, the server pulls it window by window and writes it down. (The
// `cinnabar` command does this with checksums, renames, many clients and resource limits: docs/save-service.md.)
#include <cinnabar/cinnabar.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

struct SaveIn {
    std::string name;
    cinnabar::Bulk data;
};
inline constexpr cinnabar::Rpc<std::uint64_t(SaveIn)> save{"save"};
constexpr std::uint64_t window = 1 << 20;

cinnabar::Task<cinnabar::Result<std::uint64_t>> write_down(cinnabar::Request<SaveIn> request,
                                                           std::filesystem::path root) {
    std::ofstream file(root / std::filesystem::path(request->name).filename(), std::ios::binary);
    std::vector<char> buffer(window);
    std::uint64_t at = 0;
    while (at < request->data.size()) {
        const auto bytes = std::min(window, request->data.size() - at);
        cinnabar::TransferOptions part;
        part.offset = at;
        part.bytes = bytes;
        auto moved = co_await request->data.pull(std::as_writable_bytes(std::span(buffer)), part);
        if (!moved) co_return moved.error();
        if (!file.write(buffer.data(), static_cast<std::streamsize>(bytes))) co_return cinnabar::Errc::io;
        at += bytes;
    }
    co_return at;
}

int main() {
    const auto root = std::filesystem::temp_directory_path() / ("cinnabar-example-" + std::to_string(::getpid()));
    std::filesystem::create_directory(root);
    auto server = cinnabar::Node::listen("tcp://127.0.0.1:0").value();
    auto pool = server.make_pool().value();  // file writes block: not on the loop
    server
        .serve(
            save, [root](cinnabar::Request<SaveIn> r) { return write_down(std::move(r), root); }, on(pool))
        .value();

    std::vector<char> content(3'000'000, 'x');
    auto client = cinnabar::Node::open("tcp://").value();
    auto peer = client.lookup(server.address()).value();
    auto lent = client.expose(std::span(std::as_const(content))).value();
    std::cout << "saved " << client.call_sync(save, peer, {"letter.txt", cinnabar::Bulk(lent)}).value() << " bytes\n";
    std::cout << "on disk " << std::filesystem::file_size(root / "letter.txt") << " bytes\n";
    std::filesystem::remove_all(root);
}
