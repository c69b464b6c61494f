// SPDX-License-Identifier: BSD-3-Clause
#include "checked.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/chunk_sums.hpp>

#include <poll.h>

#include <stdexcept>
#include <string>

namespace cinnabar::bench {
namespace {

constexpr std::size_t lent_bytes = std::size_t{64} << 20;

struct Lent {
    Bulk data;
    ChunkSums sums;  // empty: nothing is compared
};
constexpr Rpc<std::uint64_t(Lent)> keep{"bench.keep"};
constexpr std::chrono::seconds call_time{30};

Task<Result<std::uint64_t>> pull(Request<Lent> request, bulk::Region into) {
    if (request->sums.bytes() > 0) co_return co_await pull_checked(request->data, into, request->sums);
    co_return co_await request->data.pull(into);
}

void serve(PartnerSide& side) {
    const auto node = Node::listen("tcp://127.0.0.1:0").value();
    const bulk::Region into = node.allocate(lent_bytes).value();
    node.serve(keep, [&into](Request<Lent> request) { return pull(std::move(request), into); }).value();
    side.announce(node.address());
    while (side.wait_slice()) {
        while (side.running()) (void)::poll(nullptr, 0, 1);
        side.end_slice();
    }
}

class Pulls final : public Subject {
  public:
    Pulls(Cores cores, bool with_sums)
        : with_sums_(with_sums),
          partner_(cores.server, &serve),
          node_(Node::open("tcp://").value()),
          peer_(node_.lookup(partner_.announced()).value()),
          memory_(node_.allocate(lent_bytes).value()) {}

    Slice run_slice(std::chrono::milliseconds duration) override {
        return measure(partner_, [&] {
            const auto end = seconds_now() + std::chrono::duration<double>(duration).count();
            double bytes = 0;
            do bytes += call();
            while (seconds_now() < end);
            return bytes;
        });
    }

  private:
    double call() {
        const Lent lent{memory_, with_sums_ ? ChunkSums::of(memory_) : ChunkSums()};
        const auto moved = node_.call(keep, peer_, lent, call_time).wait();
        if (!moved) throw std::runtime_error{"a pull ended with " + moved.error().message()};
        return static_cast<double>(*moved);
    }
    bool with_sums_;
    Partner partner_;
    Node node_;
    Addr peer_;
    bulk::Region memory_;
};

}  // namespace

std::unique_ptr<Subject> make_pulls(Cores cores, bool with_sums) { return std::make_unique<Pulls>(cores, with_sums); }

}  // namespace cinnabar::bench
