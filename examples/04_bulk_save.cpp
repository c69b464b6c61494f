// SPDX-License-Identifier: BSD-3-Clause
// Saves a file of any size with bounded memory: the client lends windows of the mapped file, the server writes each.
#include <cinnabar/cinnabar.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

using namespace cinnabar;

struct Window {
    std::string name;
    std::uint64_t offset = 0;
    Bulk data;
};
constexpr Rpc<std::uint64_t(Window)> save{"save"};
constexpr std::uint64_t window_bytes = 1 << 20;

struct Saver {
    std::filesystem::path root;
    Task<Result<std::uint64_t>> operator()(Request<Window> window) const {
        CINNABAR_CO_TRY(const auto data, co_await window->data.fetch<char>());
        std::ofstream file(root / std::filesystem::path(window->name).filename(),
                           std::ios::binary | (window->offset == 0 ? std::ios::trunc : std::ios::ate | std::ios::in));
        file.seekp(static_cast<std::streamoff>(window->offset));
        file.write(data.begin().base(), static_cast<std::streamsize>(data.size()));
        if (!file.flush()) co_return window.fail(1, "cannot write");
        co_return data.size();
    }
};

int main() {
    const auto root = std::filesystem::temp_directory_path() / ("cinnabar-" + std::to_string(getpid()));
    std::filesystem::create_directories(root / "saved");
    std::ofstream(root / "numbers") << std::string(5'000'000, '7');
    auto server = Node::listen("tcp://127.0.0.1:0").value();
    auto disk = server.make_pool({.threads = 1}).value();  // writing blocks: not on the loop
    server.serve(save, Saver{root / "saved"}, on(disk)).value();
    auto [client, peer] = Node::connect(server.address()).value();
    const int file = open((root / "numbers").c_str(), O_RDONLY);
    const std::uint64_t size = std::filesystem::file_size(root / "numbers");
    auto* map = static_cast<std::byte*>(mmap(nullptr, size, PROT_READ, MAP_SHARED, file, 0));  // until the end
    auto whole = client.expose(std::span<const std::byte>(map, size)).value();
    for (std::uint64_t at = 0; at < size; at += window_bytes) {
        auto window = whole.slice(at, std::min(window_bytes, size - at));
        (void)client.call(save, peer, {"numbers", at, window}).wait().value();
    }
    std::cout << "saved " << std::filesystem::file_size(root / "saved" / "numbers") << " of " << size << " bytes\n";
    std::filesystem::remove_all(root);
}
