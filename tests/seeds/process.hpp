// SPDX-License-Identifier: BSD-3-Clause
// A process of the simulated world: one transport, one engine, one context and its handlers. It may end and start
// again, each time with another incarnation.
#pragma once

#include "climate.hpp"
#include "server.hpp"

#include <cinnabar/rpc/engine.hpp>

#include <memory>
#include <string>

namespace cinnabar::seeds {

class Process {
  public:
    Process(Mesh& mesh, std::string name, bool listens);
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    ~Process();

    void start();
    // `killed`: its peers see a reset first. Requests that its handlers hold are released before or after the context
    // is closed.
    enum class How : std::uint8_t { closed, killed };
    void end(How how);

    [[nodiscard]] bool runs() const noexcept { return context_ != nullptr && !stopped; }
    [[nodiscard]] bool open() const noexcept { return context_ != nullptr; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] bool listens() const noexcept { return listens_; }
    [[nodiscard]] unsigned life() const noexcept { return life_; }
    [[nodiscard]] rpc::Context& context() const noexcept { return *current_; }
    [[nodiscard]] rpc::Engine& engine() const noexcept { return *engine_; }
    [[nodiscard]] Server& server() const noexcept { return *server_; }
    [[nodiscard]] Mesh& mesh() const noexcept { return mesh_; }
    [[nodiscard]] const na::Transport& transport() const noexcept { return *transport_; }
    // Without an incarnation, the address reaches the one that currently runs.
    [[nodiscard]] na::Addr addr(na::Incarnation incarnation = 0) const;

    void stop();
    void resume();
    bool stopped = false;
    bool draining = false;
    bool closing = false;
    TimeUs resumed_at = 0;

  private:
    Mesh& mesh_;
    const std::string name_;
    const bool listens_;
    unsigned life_ = 0;
    std::shared_ptr<na::Transport> transport_;
    std::unique_ptr<rpc::Engine> engine_;
    std::unique_ptr<Server> server_;
    std::unique_ptr<rpc::Context> context_;
    rpc::Context* current_ = nullptr;  // the same context, also valid while it is being closed
};

}  // namespace cinnabar::seeds
