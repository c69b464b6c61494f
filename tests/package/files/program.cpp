// SPDX-License-Identifier: BSD-3-Clause
// A program from outside that embeds the file save service.
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/files/client.hpp>
#include <cinnabar/files/server.hpp>

#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

cinnabar::Task<cinnabar::Result<cinnabar::files::Moved>> save(cinnabar::files::Client& client, std::string path) {
    CINNABAR_CO_TRY_VOID(co_await client.open());
    auto moved = co_await client.save(path, "saved");
    co_await client.close();
    co_return moved;
}

}  // namespace

int main() {
    auto place = (std::filesystem::temp_directory_path() / "cinnabar-package-XXXXXX").string();
    if (!::mkdtemp(place.data())) return 1;
    std::ofstream(place + "/file") << "content";
    auto server = cinnabar::files::Server::make(cinnabar::files::Root::serve(place).value(), std::nullopt).value();
    auto node = cinnabar::Node::listen("tcp://127.0.0.1:0").value();
    server->serve_on(node).value();
    auto [here, peer] = cinnabar::Node::connect(node.address(), {.progress_thread = false}).value();
    cinnabar::files::Client client(here, peer, nullptr);
    const auto moved = cinnabar::sync_wait(save(client, place + "/file")).value();
    std::string content;
    std::ifstream(place + "/saved") >> content;
    std::filesystem::remove_all(place);
    std::printf("saved %u bytes: %s\n", static_cast<unsigned>(moved.bytes), content.c_str());
    return content == "content" ? 0 : 1;
}
