// SPDX-License-Identifier: BSD-3-Clause
#include "liar.hpp"

#include "mesh.hpp"

namespace cinnabar::seeds {

namespace {

template <typename F>
void serve_by(rpc::Engine& engine, const char* name, F function) {
    rpc::Handler handler;
    handler.name = name;
    handler.target = std::make_shared<F>(std::move(function));
    handler.run = [](rpc::Request& request, void* target) noexcept { (*static_cast<F*>(target))(request); };
    engine.serve(rpc::rpc_id(name), 0, std::move(handler)).value();
}

}  // namespace

void LiarService::serve(rpc::Engine& engine) {
    serve_by(engine, "answered", [](rpc::Request& request) {
        request.respond(0);
        request.release();
    });
    serve_by(engine, "held", [this](rpc::Request& request) { held_.push_back(&request); });
    serve_by(engine, "large result", [](rpc::Request& request) {
        Bytes room;
        if (const Errc failed = request.grow_output(100'000, room); failed != Errc::ok) {
            request.respond_error(failed);
        } else {
            request.respond(room.size());
        }
        request.release();
    });
}

bool LiarService::answer_one() {
    if (held_.empty()) return false;
    rpc::Request& request = *held_.back();
    held_.pop_back();
    request.respond(0);
    request.release();
    return true;
}

Liar::Liar(Mesh& mesh) : mesh_(mesh) {}
Liar::~Liar() = default;

void Liar::act() {
    Process& target = mesh_.any_process();
    if (!target.listens()) return;
    auto& end = ends_[target.name()];
    if (!end || mesh_.random().chance(50)) {  // it comes back as somebody else
        end.reset();
        na::TransportOptions options = mesh_.climate().transport;
        options.listen = false;
        end = std::make_unique<hostile::RudePeer>(mesh_.world().open("liar-" + target.name(), options).value(),
                                                  na::ContextId{0});
        if (mesh_.climate().strict()) end->keep_to_slots();
        end->meet(target.addr());
        (void)end->request(hostile::answered, {});
        return;
    }
    if (!end->connected()) return;
    const auto all = hostile::behaviours();
    const hostile::Behaviour& behaviour = all[mesh_.random().below(all.size())];
    if (!behaviour.lends) behaviour.step(*end, ++step_);
}

void Liar::look() {
    for (auto& [name, end] : ends_) {
        if (!mesh_.random().chance(4)) end->look();
    }
}

}  // namespace cinnabar::seeds
