// SPDX-License-Identifier: BSD-3-Clause
// A server in a process of its own, which ends cleanly on SIGTERM: it refuses new calls and finishes running ones. With
// the argument "serve" this program is the server. Without arguments it starts a server, calls it, and stops it while a
// call is in progress.
#include <cinnabar/cinnabar.hpp>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string>

using namespace std::chrono_literals;

inline constexpr cinnabar::Rpc<std::string(std::string)> slow_echo{"slow_echo"};
inline constexpr cinnabar::Rpc<void()> hello{"hello"};

int serve() {
    // Blocked before the node starts its thread, which inherits the mask, so the signal stays pending until sigwait.
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigaddset(&stop, SIGINT);
    pthread_sigmask(SIG_BLOCK, &stop, nullptr);

    auto node = cinnabar::Node::listen("tcp://127.0.0.1:0");
    if (!node) {
        std::cerr << node.error().message() << '\n';
        return 1;
    }
    node->serve(hello, [] {}).value();
    node->serve(slow_echo,
                [](cinnabar::Request<std::string> request) -> cinnabar::Task<std::string> {
                    (void)co_await request.node().sleep_for(1s);
                    co_return *request;
                })
        .value();
    std::cout << node->address() << std::endl;  // the node's thread does the work from here on

    int signal = 0;
    sigwait(&stop, &signal);
    return node->drain(10s) == cinnabar::Errc::ok ? 0 : 2;
}

int main(int count, char** words) {
    if (count > 1 && std::string(words[1]) == "serve") return serve();

    int out[2];
    if (pipe(out) != 0) return 1;
    const pid_t server = fork();
    if (server == 0) {
        dup2(out[1], STDOUT_FILENO);
        execl(words[0], words[0], "serve", nullptr);
        _exit(127);
    }
    close(out[1]);
    std::string address;
    for (char letter = 0; read(out[0], &letter, 1) == 1 && letter != '\n';) address += letter;

    auto [client, peer] = cinnabar::Node::connect(address).value();
    auto under_way = client.call(slow_echo, peer, "finished all the same").future();
    client.call(hello, peer).wait().value();  // tcp keeps the order, so the call before has arrived as well
    kill(server, SIGTERM);
    cinnabar::Result<void> late;
    while (late.ok()) late = client.call(hello, peer).wait();
    std::cout << "a late call: " << cinnabar::to_string(late.code()) << '\n';
    std::cout << "the one under way: " << under_way.get().value() << '\n';

    int status = 0;
    waitpid(server, &status, 0);
    std::cout << "the server's exit code: " << WEXITSTATUS(status) << '\n';
}
