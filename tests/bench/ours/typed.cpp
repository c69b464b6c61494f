// SPDX-License-Identifier: BSD-3-Clause
#include "typed.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/trace_file.hpp>

#include <poll.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

namespace cinnabar::bench {
namespace {

using Words = std::array<std::uint64_t, 8>;

constexpr Rpc<Words(Words)> plain_echo{"bench.plain"};
constexpr Rpc<Words(Words)> coroutine_echo{"bench.coroutine"};
constexpr Rpc<Words(Words)> pooled_echo{"bench.pooled"};
constexpr Rpc<std::string(std::string)> string_echo{"bench.strings"};
constexpr std::chrono::seconds call_time{5};

const char* scheme_of(Wire wire) { return wire == Wire::shm ? "shm://" : "tcp://"; }

NodeOptions traced(NodeOptions options, const hl::SpanExporterOptions& traces) {
    if (traces.one_in != 0) options.tracer = hl::TraceFile::make("/dev/null", traces).value();
    return options;
}

void serve(PartnerSide& side, Wire wire, const hl::SpanExporterOptions& traces) {
    const auto place = wire == Wire::shm ? "shm://" : "tcp://127.0.0.1:0";
    auto node = Node::listen(place, traced({}, traces)).value();
    node.serve(plain_echo, [](Words words) { return words; }).value();
    node.serve(coroutine_echo, [](Words words) -> Task<Words> { co_return words; }).value();
    const Pool pool = node.make_pool({.threads = 4}).value();
    node.serve(
            pooled_echo, [](Words words) { return words; }, on(pool))
        .value();
    node.serve(string_echo, [](std::string text) { return text; }).value();
    side.announce(node.address());
    while (side.wait_slice()) {
        while (side.running()) (void)::poll(nullptr, 0, 1);
        side.end_slice();
    }
}

class TypedCalls final : public Subject {
  public:
    TypedCalls(Cores cores, Wire wire, Handler handler, std::size_t in_flight, const hl::SpanExporterOptions& traces)
        : handler_(handler),
          in_flight_(in_flight),
          partner_(cores.server, [=](PartnerSide& side) { serve(side, wire, traces); }),
          node_(Node::open(scheme_of(wire), traced({.progress_thread = false}, traces)).value()),
          peer_(node_.lookup(partner_.announced()).value()) {}

    Slice run_slice(std::chrono::milliseconds duration) override {
        return measure(partner_, [&] { return call_for(duration); });
    }

  private:
    double call_for(std::chrono::milliseconds duration) {
        calls_ = 0;
        end_ = seconds_now() + std::chrono::duration<double>(duration).count();
        std::vector<Task<void>> tasks;
        for (std::size_t i = 0; i < in_flight_; ++i) tasks.push_back(one_after_the_other());
        sync_wait(wait_for(std::move(tasks))).value();
        if (failure_ != Errc::ok) throw std::runtime_error{"a call ended with " + std::string{to_string(failure_)}};
        return static_cast<double>(calls_);
    }

    static Task<void> wait_for(std::vector<Task<void>> tasks) { co_await when_all(std::move(tasks)); }

    [[nodiscard]] bool more() noexcept {
        ++calls_;
        return failure_ == Errc::ok && (calls_ % 8 != 0 || seconds_now() < end_);
    }

    Task<void> one_after_the_other() {
        if (handler_ == Handler::strings) {
            const std::string text(sizeof(Words), 'x');
            return repeat(string_echo, text);
        }
        const auto& rpc = handler_ == Handler::plain    ? plain_echo
                          : handler_ == Handler::pooled ? pooled_echo
                                                        : coroutine_echo;
        return repeat(rpc, Words{1, 2, 3, 4, 5, 6, 7, 8});
    }
    template <typename R, typename In>
    Task<void> repeat(R rpc, In input) {
        do {
            const auto output = co_await node_.call(rpc, peer_, input, call_time);
            if (!output) {
                failure_ = output.error().code;
            } else if (*output != input) {
                failure_ = Errc::protocol;
            }
        } while (more());
    }

    Handler handler_;
    std::size_t in_flight_;
    Partner partner_;
    Node node_;
    Addr peer_;
    std::uint64_t calls_ = 0;
    double end_ = 0;
    Errc failure_ = Errc::ok;
};

}  // namespace

std::unique_ptr<Subject> make_typed_calls(Cores cores, Wire wire, Handler handler, std::size_t in_flight,
                                          const hl::SpanExporterOptions& traces) {
    return std::make_unique<TypedCalls>(cores, wire, handler, in_flight, traces);
}

}  // namespace cinnabar::bench
