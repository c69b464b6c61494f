// A program with the file save service inside: besides serving its own call it stores files, decides who may save what,
// inspects each file before it appears, and is notified afterwards. docs/save-service.md describes the guarantees.
#include <cinnabar/cinnabar.hpp>
#include <cinnabar/files/client.hpp>
#include <cinnabar/files/server.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>

using namespace cinnabar;

constexpr Rpc<int()> count{"count"};

Task<Result<files::Moved>> save(files::Client& client, std::string path, std::string name) {
    CINNABAR_CO_TRY_VOID(co_await client.open());
    auto moved = co_await client.save(path, name);
    co_await client.close();
    co_return moved;
}

int main() {
    const auto home = std::filesystem::temp_directory_path() / ("cinnabar-" + std::to_string(getpid()));
    std::filesystem::create_directories(home / "kept/reports");
    std::ofstream(home / "today") << "all is well\n";
    int saved = 0;
    files::ServerHooks hooks;
    hooks.may_access = [](const files::AccessRequest& wish) -> Result<void> {
        using Kind = files::AccessRequest::Kind;
        // A link in reports/ could lead out of it.
        if (wish.kind == Kind::link) return Error{Errc::permission, "no links are kept here"};
        if (wish.name.starts_with("reports/")) return {};
        return Error{Errc::permission, "only reports are kept here"};
    };
    hooks.before_naming = [](const files::StagedFile& file) -> Result<void> {
        if (file.bytes > 0) return {};
        return Error{Errc::invalid_argument, "an empty report"};
    };
    hooks.ended = [&](const files::ServerEvent& event) { saved += event.kind == files::ServerEvent::Kind::saved; };
    auto server = files::Server::make(files::Root::serve(home / "kept").value(), {}, {}, hooks).value();
    Node node = Node::listen("tcp://127.0.0.1:0").value();
    server->serve_on(node).value();
    node.serve(count, [&] { return saved; }).value();

    auto [here, peer] = Node::connect(node.address(), {.progress_thread = false}).value();
    for (const char* name : {"reports/today", "letters/today"}) {
        files::Client client(here, peer, nullptr);
        const auto moved = sync_wait(save(client, home / "today", name));
        std::cout << name << ": " << (moved ? "saved" : moved.error().message()) << '\n';
    }
    std::cout << here.call(count, peer).wait().value() << " saved, "
              << std::ifstream(home / "kept/reports/today").rdbuf();
    std::filesystem::remove_all(home);
}
