// SPDX-License-Identifier: BSD-3-Clause
#include "many_callers.hpp"

#include "many_peers.hpp"

#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace cinnabar::bench {
namespace {

constexpr Microseconds no_wait{0};
constexpr Microseconds call_time{10'000'000};

class ManyCallers : public Subject {
  public:
    ManyCallers(Cores cores, const CallersShape& shape)
        : shape_(shape),
          partner_(cores.server, [&](PartnerSide& side) { serve(side, shape.wire); }),
          server_(na::Addr::parse(partner_.announced()).value()),
          peers_(partner_.announced(), shape.wire) {}

    Slice run_slice(std::chrono::milliseconds duration) override {
        return measure(partner_, [&] { return call_for(duration); });
    }

  private:
    struct Caller {
        ManyCallers& all;
        rpc::Context& context;
    };

    static void serve(PartnerSide& side, Wire wire) {
        RpcEndpoint endpoint{true, rpc::Options{}, wire};
        endpoint.serve_echo();
        side.announce(endpoint.address());
        endpoint.serve_slices(side, no_wait);
    }

    void connect() {
        peers_.add(shape_.clients);
        callers_.reserve(shape_.clients);  // calls refer to its elements
        for (const auto& peer : peers_.all()) callers_.push_back({*this, peer->context()});
    }

    double call_for(std::chrono::milliseconds duration) {
        if (callers_.empty()) connect();
        calls_ = 0;
        more_ = true;
        const auto end = seconds_now() + std::chrono::duration<double>(duration).count();
        for (Caller& caller : callers_) {
            for (std::size_t i = 0; i < shape_.in_flight; ++i) start(caller);
        }
        std::uint64_t look_at = calls_ + 8;
        while (busy_ > 0) {
            peers_.look();
            if (calls_ < look_at) continue;
            look_at = calls_ + 8;
            if (seconds_now() >= end) more_ = false;
        }
        if (failure_ != Errc::ok) throw std::runtime_error{"a call ended with " + std::string{to_string(failure_)}};
        return static_cast<double>(calls_);
    }

    void fail(Errc why) noexcept {
        failure_ = why;
        more_ = false;
    }

    void start(Caller& caller) noexcept {
        Errc why = Errc::ok;
        auto* call = caller.context.make_call(server_, why);
        if (call == nullptr) return fail(why);
        call->args.rpc = echo_id;
        call->args.deadline = caller.context.deadline_in(call_time);
        std::memset(call->input_room().data(), 0x5a, shape_.payload_bytes);
        const auto taken = call->forward(shape_.payload_bytes, &done, &caller);
        if (taken == Errc::ok) {
            ++busy_;
        } else {
            fail(taken);
            call->release();
        }
    }
    static void done(rpc::Call& call, void* user) noexcept {
        auto& caller = *static_cast<Caller*>(user);
        ManyCallers& self = caller.all;
        --self.busy_;
        ++self.calls_;
        if (call.result() != Errc::ok) {
            self.fail(call.result());
        } else if (call.output().size() != self.shape_.payload_bytes) {
            self.fail(Errc::protocol);
        }
        call.release();
        if (self.more_) self.start(caller);
    }

    const CallersShape shape_;
    Partner partner_;
    na::Addr server_;
    ManyPeers peers_;
    std::vector<Caller> callers_;
    std::uint64_t calls_ = 0;
    std::size_t busy_ = 0;
    bool more_ = false;
    Errc failure_ = Errc::ok;
};

}  // namespace

std::unique_ptr<Subject> make_many_callers(Cores cores, const CallersShape& shape) {
    return std::make_unique<ManyCallers>(cores, shape);
}

std::size_t descriptors_of_a_caller(Wire wire) noexcept { return wire == Wire::shm ? 10 : files_of_a_peer; }

}  // namespace cinnabar::bench
