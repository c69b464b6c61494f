// SPDX-License-Identifier: BSD-3-Clause
// Reads lent memory in place.
#include "context_core.hpp"

#include <cinnabar/rpc/request.hpp>

namespace cinnabar::rpc {
namespace {

// Memory that travelled inside the descriptor.
class EagerView final : public na::View {
  public:
    explicit EagerView(ConstBytes bytes) noexcept : View(bytes) {}
    [[nodiscard]] bool valid() const noexcept override { return true; }
};

}  // namespace

Result<std::unique_ptr<na::View>> Request::view(const bulk::RemoteRegion& remote, std::uint64_t offset,
                                                std::uint64_t bytes) {
    if (offset > remote.bytes() || bytes > remote.bytes() - offset) {
        return Error(Errc::too_large, "the view is not within the memory that was lent");
    }
    if (!na::allows(remote.access(), na::Access::read)) return Error(Errc::permission, "it is not lent for reading");
    if (!remote.owner().empty()) {
        return Error(Errc::permission, "a view is only of the origin's own memory: pull that of a third party");
    }
    if (!remote.eager().empty()) {
        const auto part = remote.eager().subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(bytes));
        return std::unique_ptr<na::View>(std::make_unique<EagerView>(part));
    }
    Result<std::unique_ptr<na::View>> made = Error(Errc::canceled, "nobody waits for the answer any more");
    core_->owned([&] {
        if (canceled_.load(std::memory_order_relaxed) || core_->closed_) return;
        na::Peer& origin = *book_->peer;
        const na::RemoteMemory memory{remote.key_for(core_->transport_of(origin.port())->scheme()), remote.bytes()};
        if (memory.key.empty()) {
            made = Error(Errc::unreachable, "the memory was not lent on the transport that the request came by");
            return;
        }
        made = core_->na->view(origin, memory, offset, bytes);
    });
    return made;
}

}  // namespace cinnabar::rpc
