// SPDX-License-Identifier: BSD-3-Clause
#include "process.hpp"

#include "mesh.hpp"

namespace cinnabar::seeds {

Process::Process(Mesh& mesh, std::string name, bool listens) : mesh_(mesh), name_(std::move(name)), listens_(listens) {}

Process::~Process() {
    if (open()) end(How::closed);
}

void Process::start() {
    const Climate& climate = mesh_.climate();
    na::TransportOptions network = climate.transport;
    network.listen = listens_;
    network.message_bytes_max = std::size_t{1024} << mesh_.random().below(5);
    transport_ = mesh_.open(name_, network);
    engine_ = rpc::Engine::open({transport_}).value();
    server_ = std::make_unique<Server>(*this);
    context_ = engine_->open_context(climate.rpc).value();
    current_ = context_.get();
    stopped = draining = closing = false;
    resumed_at = 0;
    ++life_;
}

void Process::end(How how) {
    closing = true;
    if (how == How::killed) mesh_.world().kill(name_);
    if (mesh_.random().chance(2)) server_->let_go();
    mesh_.ledger().before_end(*this);
    context_.reset();
    server_->let_go();
    mesh_.ledger().after_end(*this);
    server_.reset();
    engine_.reset();
    transport_.reset();
}

void Process::stop() {
    mesh_.world().stop(name_);
    stopped = true;
}

void Process::resume() {
    mesh_.world().resume(name_);
    stopped = false;
    resumed_at = mesh_.now_us();
}

na::Addr Process::addr(na::Incarnation incarnation) const {
    if (mesh_.is_real()) return na::Addr::make(transport_->endpoints(), 0, incarnation);
    return na::Addr::make({"sim://" + name_}, 0, incarnation);
}

}  // namespace cinnabar::seeds
