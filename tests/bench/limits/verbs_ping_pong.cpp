// SPDX-License-Identifier: BSD-3-Clause
#include "verbs.hpp"
#include "verbs_end.hpp"

#include <algorithm>
#include <vector>

namespace cinnabar::bench {
namespace {

VerbsShape shape_of(FrameBytes frame) { return {std::max(frame.request, frame.reply), 16}; }

class VerbsPingPong : public Subject {
  public:
    VerbsPingPong(Cores cores, const std::string& host, FrameBytes frame)
        : request_(frame.request), partner_(cores.server, [&](PartnerSide& side) { serve(side, host, frame); }) {
        const auto port = static_cast<std::uint16_t>(std::stoul(partner_.announced()));
        end_ = std::make_unique<VerbsEnd>(host, port, shape_of(frame));
    }

    Slice run_slice(std::chrono::milliseconds duration) override {
        return measure(partner_, [&] {
            return repeat_for(duration, [&] {
                end_->send(request_);
                while (end_->next(Wait::spin).what != VerbsEnd::What::received) continue;
            });
        });
    }

  private:
    static void serve(PartnerSide& side, const std::string& host, FrameBytes frame) {
        const std::vector<std::byte> reply(frame.reply);
        const VerbsListener listener{host};
        side.announce(std::to_string(listener.port()));
        VerbsEnd end{listener, shape_of(frame)};
        while (side.wait_slice()) {
            while (side.running()) {
                if (end.next(Wait::spin).what == VerbsEnd::What::received) end.send(reply);
            }
            side.end_slice();
        }
    }

    const std::vector<std::byte> request_;
    Partner partner_;
    std::unique_ptr<VerbsEnd> end_;
};

}  // namespace

std::unique_ptr<Subject> make_verbs_ping_pong(Cores cores, const std::string& host, FrameBytes frame) {
    return std::make_unique<VerbsPingPong>(cores, host, frame);
}

}  // namespace cinnabar::bench
