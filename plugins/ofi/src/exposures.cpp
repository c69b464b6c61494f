// SPDX-License-Identifier: BSD-3-Clause
// The owner's side of reads by the fabric: leased memory is registered while a peer may read it.
#include "direct_reads.hpp"
#include "port.hpp"
#include "session.hpp"

#include <array>

namespace cinnabar::ofi {
namespace {

constexpr SessionName nobody{~std::uint32_t{0}, 0};

}  // namespace

// What is registered, and its names behind the head of the answer; false: something is missing, or there are too many.
bool Session::expose(Exposure& exposure, Writer& names) noexcept {
    const na::LeaseTable::Pin& pin = *exposure.pin;
    const Registrar& registrar = port_->endpoint().registrar();
    std::uint64_t at = pin.offset();
    std::uint64_t left = pin.bytes_left();
    while (left > 0) {
        if (exposure.parts_count == exposure.parts.size()) return false;
        iovec memory{};
        std::uint64_t covered = 0;
        (void)pin.memory().gather(at, left, &memory, 1, covered);
        Piece piece;
        piece.bytes = covered;
        Registration& made = exposure.parts[exposure.parts_count++];
        if (registrar.readable(memory, made, piece.name) != Errc::ok) return false;
        piece.encode(names);
        if (!names.ok()) return false;
        at += covered;
        left -= covered;
    }
    return exposure.parts_count > 0;
}

void Session::open_asked(const Frame& frame, const TransferBody& body) noexcept {
    Frame answer;
    answer.kind = FrameKind::opened;
    answer.id = frame.id;
    auto pin = port_->transport().leases().pin(body.key, 0, 0, na::Access::read);
    answer.status = port_->endpoint().reads() ? pin.why() : Errc::unsupported;
    std::array<std::byte, small_bytes_max> bytes;
    Writer names(bytes);
    if (answer.status == Errc::ok) {
        Exposure* const exposure = exposures_count_ < exposures_max ? port_->exposures().acquire() : nullptr;
        if (exposure) take_exposure(*exposure, frame.id, std::move(pin));
        if (exposure && expose(*exposure, names)) {
            exposures_.push_back(*exposure);
            port_->exposed(*exposure);
        } else {
            // In messages it goes all the same.
            answer.status = Errc::unsupported;
            if (exposure) release(*exposure);
        }
    }
    const ConstBytes payload = answer.status == Errc::ok ? names.written() : ConstBytes();
    if (Buffer* buffer = make_note(answer, {}, payload.size())) {
        std::copy(payload.begin(), payload.end(), buffer->storage + head_bytes(answer.kind));
    }
}

void Session::take_exposure(Exposure& exposure, std::uint64_t id, na::LeaseTable::Pin pin) noexcept {
    ++exposures_count_;
    exposure.session = this;
    exposure.id = id;
    exposure.wanted_back = false;
    exposure.pin.emplace(std::move(pin));
    exposure.done = [](FabricOp& op, const Done& done) noexcept {
        auto& self = static_cast<Exposure&>(op);
        self.session->marker_left(self, done);
    };
}

void Session::closed_came(const Frame& frame) noexcept {
    Exposure* exposure = exposures_.front();
    while (exposure && exposure->id != frame.id) exposure = Exposures::next(*exposure);
    if (!exposure) return fail(Errc::protocol);
    shut(*exposure);
}

// Nobody begins to read by these keys any more. What had begun has to leave before the lease ends: a reader that is
// gone, or says what is not so, has the provider's answers still wait.
void Session::shut(Exposure& exposure) noexcept {
    forget_parts(exposure);
    exposures_.remove(exposure);
    port_->unexposed(exposure);
    shut_.push_back(exposure);
    ++shut_count_;
    ++with_fabric_;
    port_->dirty(*this);
}

void Session::forget_parts(Exposure& exposure) noexcept {
    while (exposure.parts_count > 0) exposure.parts[--exposure.parts_count].reset();
}

Session::Sent Session::send_markers() noexcept {
    while (Exposure* exposure = shut_.front()) {
        const Errc why = port_->send_marker(address_, *exposure);
        if (why != Errc::ok) {
            if (why != Errc::again) fail(why);
            return Sent::stalled;
        }
        shut_.remove(*exposure);
        --shut_count_;
        marked_.push_back(*exposure);
    }
    return Sent::all;
}

// It has left, or its connection has ended, and with that all that was to be answered there.
void Session::marker_left(Exposure& exposure, const Done& done) noexcept {
    marked_.remove(exposure);
    release(exposure);
    if (done.result != Errc::ok) fail(reason(done));
    given_back();
}

// No marker finds a way to a peer that is gone.
void Session::leave_markers() noexcept {
    while (Exposure* exposure = shut_.pop_front()) {
        --shut_count_;
        release(*exposure);
        given_back();
    }
}

void Session::release(Exposure& exposure) noexcept {
    forget_parts(exposure);
    exposure.pin.reset();
    --exposures_count_;
    port_->exposures().release(exposure);
}

// Its lease is taken back.
void Session::want_back(Exposure& exposure) noexcept {
    exposure.wanted_back = true;
    Frame frame;
    frame.kind = FrameKind::close;
    frame.id = exposure.id;
    note(frame, {});
}

// A frame for no session.
Errc OfiPort::send_marker(fi_addr_t to, Exposure& exposure) noexcept {
    if (!marker_memory_ && endpoint_->registrar().wants_local()) {
        const Errc why = endpoint_->registrar().local({marker_.data(), marker_.size()}, marker_memory_);
        if (why != Errc::ok) return why;
    }
    Frame frame;
    frame.kind = FrameKind::marker;
    frame.session = nobody;
    encode(frame, {}, marker_);
    return endpoint_->send(marker_.data(), marker_.size(), marker_memory_, to, exposure);
}

void OfiPort::ask_back_exposures() noexcept {
    for (Exposure* exposure = exposed_.front(); exposure; exposure = Exposed::next(*exposure)) {
        if (exposure->pin->revoked() && !exposure->wanted_back) exposure->session->want_back(*exposure);
    }
}

}  // namespace cinnabar::ofi
