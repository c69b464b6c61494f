// SPDX-License-Identifier: BSD-3-Clause
// The handlers of every process, one per kind of call, and the requests that they hold.
#pragma once

#include "calls.hpp"
#include "liar.hpp"

#include <cinnabar/rpc/engine.hpp>
#include <cinnabar/rpc/request.hpp>

#include <list>
#include <memory>
#include <vector>

namespace cinnabar::seeds {

// Replaces the number of windows if some of them are still being written.
inline constexpr unsigned still_writing = 255;

// Bytes that a handler has pushed into lent memory.
struct Pushed {
    std::uint8_t index;
    std::uint64_t offset;
    std::uint64_t bytes;
};

class Server {
  public:
    explicit Server(Process& process);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // Ends one of the held requests: answers it, fails it, or releases it unanswered. False: none is held.
    bool end_one();
    void end_all();
    void cancel_one_transfer();
    // Releases all held requests unanswered, because the process ends.
    void let_go();

  private:
    struct Task;      // a request that is held for any reason
    struct Movement;  // one transfer for a task

    void serve(Kind kind, void (Server::*handler)(Task&));
    [[nodiscard]] Task& take(rpc::Request& request);
    void echo(Task& task);
    void hold(Task& task);
    void relay(Task& task);
    void move(Task& task);
    void note(Task& task);
    void start(Task& task, Movement& movement);
    void moved(Movement& movement, Errc result);
    void moves_over(Task& task);
    void answer(Task& task);
    void fail(Task& task, Errc why);
    // Releases the request.
    void finish(Task& task);
    static void on_cancel(rpc::Request& request, void* user) noexcept;

    Process& process_;
    Mesh& mesh_;
    std::list<Task> tasks_;
    std::vector<Task*> held_;
    LiarService guests_;
};

}  // namespace cinnabar::seeds
