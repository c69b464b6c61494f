// SPDX-License-Identifier: BSD-3-Clause
#include "ours.hpp"
#include "rpc_endpoint.hpp"

#include <cstring>
#include <stdexcept>
#include <string>

namespace cinnabar::bench {
namespace {

constexpr Microseconds no_wait{0};
constexpr Microseconds long_wait{5'000'000};

rpc::Options options_of(const RpcShape& shape) {
    rpc::Options options;
    if (shape.sleep) options.context.spin_max = no_wait;
    return options;
}

class OurRpc : public Subject {
  public:
    OurRpc(Cores cores, const RpcShape& shape)
        : shape_(shape),
          partner_(cores.server, [&](PartnerSide& side) { serve(side, shape); }),
          endpoint_(false, options_of(shape), shape.wire),
          peer_(na::Addr::parse(partner_.announced()).value()) {}

    Slice run_slice(std::chrono::milliseconds duration) override {
        return measure(
            partner_, [&] { return call_for(duration); },
            [&] {
                if (!shape_.sleep) return 0;
                endpoint_.call_once(peer_, shape_.payload_bytes);
                return 1;
            });
    }

  private:
    static void serve(PartnerSide& side, const RpcShape& shape) {
        RpcEndpoint endpoint{true, options_of(shape), shape.wire};
        endpoint.serve_echo();
        side.announce(endpoint.address());
        if (shape.sleep) {
            endpoint.serve_slices(side, long_wait, RpcEndpoint::Until::called);
        } else {
            endpoint.serve_slices(side, no_wait);
        }
    }

    double call_for(std::chrono::milliseconds duration) {
        auto& context = endpoint_.context();
        calls_ = 0;
        more_ = true;
        const auto end = seconds_now() + std::chrono::duration<double>(duration).count();
        for (std::size_t i = 0; i < shape_.in_flight; ++i) start();
        const auto wait = shape_.sleep ? long_wait : no_wait;
        std::uint64_t look_at = calls_ + 8;
        while (busy_ > 0) {
            context.progress(wait);
            context.trigger(64);
            if (calls_ < look_at) continue;
            look_at = calls_ + 8;
            if (seconds_now() >= end) more_ = false;
        }
        if (failure_ != Errc::ok) throw std::runtime_error{"a call ended with " + std::string{to_string(failure_)}};
        return static_cast<double>(calls_);
    }

    void start() noexcept {
        auto* call = endpoint_.context().make_call(peer_, failure_);
        if (call == nullptr) {
            more_ = false;
            return;
        }
        call->args.rpc = echo_id;
        call->args.deadline = endpoint_.context().deadline_in(long_wait);
        std::memset(call->input_room().data(), 0x5a, shape_.payload_bytes);
        const auto taken = call->forward(shape_.payload_bytes, &done, this);
        if (taken == Errc::ok) {
            ++busy_;
        } else {
            failure_ = taken;
            more_ = false;
            call->release();
        }
    }
    static void done(rpc::Call& call, void* user) noexcept {
        auto& self = *static_cast<OurRpc*>(user);
        --self.busy_;
        ++self.calls_;
        if (call.result() != Errc::ok) self.failure_ = call.result();
        if (call.output().size() != self.shape_.payload_bytes && self.failure_ == Errc::ok)
            self.failure_ = Errc::protocol;
        if (self.failure_ != Errc::ok) self.more_ = false;
        call.release();
        if (self.more_) self.start();
    }

    RpcShape shape_;
    Partner partner_;
    RpcEndpoint endpoint_;
    na::Addr peer_;
    std::uint64_t calls_ = 0;
    std::size_t busy_ = 0;
    bool more_ = false;
    Errc failure_ = Errc::ok;
};

}  // namespace

std::unique_ptr<Subject> make_our_rpc(Cores cores, const RpcShape& shape) {
    return std::make_unique<OurRpc>(cores, shape);
}

}  // namespace cinnabar::bench
