// A program with the file save service inside (docs/save-service.md), which decides who may save what.
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/files/client.hpp>
#include <cinnabar/files/server.hpp>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>

using namespace cinnabar;

Task<Result<files::Moved>> save(files::Client& client, std::string path, std::string name) {
    CINNABAR_CO_TRY_VOID(co_await client.open());
    auto moved = co_await client.save(path, name);
    co_await client.close();
    co_return moved;
}

int main() {
    const auto home = std::filesystem::temp_directory_path() / ("cinnabar-" + std::to_string(std::random_device{}()));
    std::filesystem::create_directories(home / "kept/reports");
    std::ofstream(home / "today") << "all is well\n";
    files::ServerHooks hooks;
    hooks.may_access = [](const files::AccessRequest& wish) -> Result<void> {
        if (wish.kind != files::AccessRequest::Kind::link && wish.name.starts_with("reports/")) return {};
        return Error{Errc::permission, "only reports are kept here, and no links"};
    };
    auto server = files::Server::make(files::Root::serve(home / "kept").value(), {}, {}, hooks).value();
    Node node = Node::listen("tcp://127.0.0.1:0").value();
    server->serve_on(node).value();
    auto [here, peer] = Node::connect(node.address(), {.progress_thread = false}).value();
    for (const char* name : {"reports/today", "letters/today"}) {
        files::Client client(here, peer, nullptr);
        const auto moved = sync_wait(save(client, home / "today", name));
        std::cout << name << ": " << (moved ? "saved" : moved.error().message()) << '\n';
    }
    std::cout << std::ifstream(home / "kept/reports/today").rdbuf();
    std::filesystem::remove_all(home);
}
