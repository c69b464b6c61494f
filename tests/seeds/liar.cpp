// SPDX-License-Identifier: BSD-3-Clause
#include "liar.hpp"

#include "../hostile/pull_handler.hpp"
#include "mesh.hpp"

#include <gtest/gtest.h>

#include <iterator>

namespace cinnabar::seeds {

namespace {

constexpr std::size_t relics_max = 16;

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
    serve_by(engine, "pulled", rpc::begin_pull);
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
    End& end = ends_[target.name()];
    if (!end || mesh_.random().chance(50)) return come(end, target);  // comes back as another peer
    if (!end->connected()) return;
    const auto all = hostile::behaviours();
    const std::uint64_t what = mesh_.random().below(all.size() + 6);
    if (what < all.size()) return all[what].step(*end, ++step_);
    if (what < all.size() + 2) return replay(*end);
    if (what < all.size() + 4) return hold(*end, target);
    dig_up(*end, target);
}

// Half the time the liar claims to be a process that the target knows, possibly the target itself.
void Liar::come(End& end, const Process& target) {
    end.reset();
    const std::string name = "liar-" + target.name();
    na::TransportOptions options = mesh_.climate().transport;
    options.listen = false;
    const Process& other = mesh_.any_process();
    const na::Incarnation claimed = other.open() && mesh_.random().chance(2) ? other.transport().incarnation() : 0;
    end = std::make_unique<hostile::RudePeer>(mesh_.open(name, options, claimed), na::ContextId{0});
    end->remember();
    if (mesh_.climate().strict()) end->keep_to_slots();
    end->meet(target.addr());
    (void)end->request(hostile::answered, {});
}

void Liar::replay(hostile::RudePeer& end) {
    auto from = ends_.begin();
    std::advance(from, static_cast<std::ptrdiff_t>(mesh_.random().below(ends_.size())));
    if (!from->second || from->second->remembered().empty()) return;
    const auto& frames = from->second->remembered();
    (void)end.replay(frames[mesh_.random().below(frames.size())]);
}

void Liar::hold(hostile::RudePeer& end, const Process& target) {
    if (end.results().empty()) {
        if (end.credits() != 0) (void)end.request(hostile::large_result, {}, rpc::flag_wants_credits);
        return;
    }
    hostile::RudePeer::Result& result = end.results()[mesh_.random().below(end.results().size())];
    if (result.given_back) return;
    bury(target, result.descriptor);
    if (!end.awaits_ack() && mesh_.random().chance(4)) return (void)end.give_back(result);
    end.read(result.descriptor, [](Errc) {});
}

void Liar::bury(const Process& target, ConstBytes descriptor) {
    if (relics_.size() == relics_max) relics_.pop_front();
    relics_.push_back({target.name(), target.life(), {descriptor.begin(), descriptor.end()}});
}

void Liar::dig_up(hostile::RudePeer& end, const Process& target) {
    const auto is_refused = [](Errc result) { EXPECT_NE(result, Errc::ok) << "memory that is not lent"; };
    for (const auto& result : end.results()) {
        // It may take a device a moment to invalidate the memory.
        if (!result.given_back || end.awaits_ack() || mesh_.climate().strict()) continue;
        if (end.is_ambiguous(result.tag)) continue;
        return end.read(result.descriptor, is_refused);
    }
    if (relics_.empty()) return;
    const Relic& relic = relics_[mesh_.random().below(relics_.size())];
    if (relic.process == target.name() && relic.life == target.life()) return;
    end.read(relic.descriptor, is_refused);
}

void Liar::look() {
    for (auto& [name, end] : ends_) {
        if (!end) continue;
        if (!mesh_.random().chance(4)) end->look();
        EXPECT_EQ(end->calls_from_others(), 0u) << "a call to somebody else came to the liar";
    }
}

}  // namespace cinnabar::seeds
