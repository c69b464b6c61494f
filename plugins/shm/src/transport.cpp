// SPDX-License-Identifier: BSD-3-Clause
#include "transport.hpp"

#include "port.hpp"

#include <cinnabar/base/random.hpp>

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <new>

namespace cinnabar::shm {
namespace {

// Copies run one after the other, so more operations in flight gain nothing.
constexpr std::uint32_t rma_inflight_max = 16;
// A ring holds three of the largest messages, so this limits its size.
constexpr std::size_t message_bytes_limit = 4 * 1024 * 1024;
// The least room for data in a record.
constexpr std::size_t data_bytes = 8 * 1024;

}  // namespace

ShmMemory::ShmMemory(na::Transport& transport, std::span<const na::Segment> segments, na::Access access,
                     const SharedMemory& shared, std::shared_ptr<na::Registrations> count)
    : CountedMemory(transport, segments, access, std::move(count)) {
    const auto own = this->segments();
    if (own.size() == 1) file_position_ = shared.find(own.front().base, own.front().bytes);
    if (own.size() < 2) return;
    pieces_.reserve(own.size());
    std::uint64_t end = 0;
    for (const na::Segment& segment : own) {
        pieces_.push_back({reinterpret_cast<std::uintptr_t>(segment.base), end += segment.bytes});
    }
}

ShmTransport::ShmTransport(const na::TransportOptions& options) : SessionTransport(options), probe_word_(secret_u64()) {
    caps_.same_host_only = true;
    limits_.message_bytes_max = std::min(options.message_bytes_max, message_bytes_limit);
    limits_.lease_key_bytes_max = key_bytes;
    limits_.rma_inflight_max = rma_inflight_max;
    let_receive_slots_grow();
    record_bytes_max_ = static_cast<std::uint32_t>(std::max(limits_.message_bytes_max, data_bytes + 64));
    ring_bytes_ = static_cast<std::uint32_t>(ring_bytes_for(record_bytes_max_));
}

ShmTransport::~ShmTransport() {
    CINNABAR_ASSERT(ports_.empty());
    fences_.clear([this](std::uint32_t slot) noexcept { board_.give_back(slot); });
}

Result<std::unique_ptr<na::Transport>> ShmTransport::open(const na::Uri& uri, const na::TransportOptions& options) {
    if (uri.port || (!uri.host.empty() && !good_name(uri.host))) {
        return Error(Errc::bad_address, "a name in shared memory is at most 63 letters, digits, '.', '-' and '_'",
                     uri.to_string());
    }
    const std::string_view copy = uri.option("copy");
    if (!copy.empty() && copy != "across" && copy != "buffers") {
        return Error(Errc::bad_address, "copy must be 'across' (address spaces) or 'buffers'", uri.to_string());
    }
    CINNABAR_TRY(AllowedUsers allowed, AllowedUsers::of(uri));
    std::unique_ptr<ShmTransport> transport(new ShmTransport(options));
    transport->copies_across_ = transport->caps_.views = copy != "buffers";
    transport->caps_.confines = transport->caps_.admits_guests = !transport->copies_across_;
    // With Yama's ptrace_scope 1, only a parent may access the memory of a process, unless the process allows others
    // to. The option "?copy=across" asks for that.
    if (copy == "across") (void)::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    if (const Errc why = transport->board_.open(); why != Errc::ok) {
        return Error(why, "making shared memory: memfd_create", {}, errno);
    }
    transport->directory_.emplace(std::move(allowed));
    if (options.listen) {
        CINNABAR_TRY(transport->holder_, transport->directory_->listen(uri.host));
    }
    return std::unique_ptr<na::Transport>(std::move(transport));
}

std::vector<std::string> ShmTransport::endpoints() const {
    if (!holder_) return {};
    const std::string& group = directory_->allowed().group_name;
    std::string endpoint = "shm://" + holder_.name() + "?place=" + directory_->tag();
    if (!group.empty()) endpoint += "&group=" + group;
    return {std::move(endpoint)};
}

// The endpoints of a process have the option `place`, which identifies its folder. Without it, any name is tried.
bool ShmTransport::reaches(std::string_view endpoint) const noexcept {
    if (!endpoint.starts_with("shm://")) return false;
    try {
        const auto uri = na::Uri::parse(endpoint);
        const std::string_view place = uri ? uri->option("place") : std::string_view();
        if (place.empty()) return true;
        auto allowed = AllowedUsers::of_known(*uri);
        if (!allowed) return false;
        const Directory directory(*std::move(allowed));
        return directory.tag() == place && directory.has(uri->host);
    } catch (const std::bad_alloc&) {
        return false;
    }
}

// The board contains the keys of all leases, and whoever can write to it can make this side's peers access any address
// in this process. So the board is given only to processes that could copy across address spaces anyway, and to no
// process if this side has chosen not to copy across.
Terms ShmTransport::terms(const Credentials& peer) const noexcept {
    Terms terms;
    terms.ring_bytes = ring_bytes_;
    terms.record_bytes_max = record_bytes_max_;
    terms.name = TransportName(name());
    if (!is_own_user(peer) || !copies_across_) return terms;
    terms.lease_slots = board_.slots();
    terms.probe_address = reinterpret_cast<std::uintptr_t>(&probe_word_);
    terms.probe_value = probe_word_;
    return terms;
}

bool ShmTransport::welcome(int fd, const Credentials& sender) const noexcept {
    return may_be_peer(fd, sender, directory_->allowed().group);
}

Result<std::unique_ptr<na::Port>> ShmTransport::open_port(na::PortHost& host) {
    auto port = std::make_unique<ShmPort>(*this, host);
    CINNABAR_TRY_VOID(ports_.add(*port, options_));
    if (!port->open()) return Error(errc_from_errno(errno), "opening the descriptors of a port", {}, errno);
    return std::unique_ptr<na::Port>(std::move(port));
}

Result<std::unique_ptr<na::Memory>> ShmTransport::register_memory(std::span<const na::Segment> segments,
                                                                  na::Access access) {
    CINNABAR_TRY_VOID(registrations_->admit(segments, segments_max));
    return std::unique_ptr<na::Memory>(std::make_unique<ShmMemory>(*this, segments, access, shared_, registrations_));
}

std::string ShmTransport::diagnosis() const {
    std::string text = holder_ ? "listens at " + endpoints().front() : std::string("does not listen");
    text += "; sockets in " + directory_->path();
    unsigned alive = 0;
    unsigned dead = 0;
    for (const Directory::Entry& entry : directory_->entries()) ++(entry.alive ? alive : dead);
    text += ", names in use: " + std::to_string(alive);
    if (dead > 0) {
        text += "; left by dead processes: " + std::to_string(dead) + ", which the next process that listens removes";
    }
    if (directory_->swept() > 0) {
        text += "; removed what " + std::to_string(directory_->swept()) + " dead processes left";
    }
    std::ifstream scope("/proc/sys/kernel/yama/ptrace_scope");
    if (int value = 0; scope >> value && value > 0) {
        text += "; ptrace_scope is " + std::to_string(value) + ": copies go through buffers";
        if (value == 1) text += " unless the peer was opened with ?copy=across";
    }
    if (!copies_across_) text += "; copies go through buffers, as asked for";
    const auto copying = copying_sessions_.load(std::memory_order_relaxed);
    const auto buffered = buffered_sessions_.load(std::memory_order_relaxed);
    if (copying + buffered > 0) {
        text += "; sessions so far: " + std::to_string(copying) + " with cross-memory copy, " +
                std::to_string(buffered) + " through buffers";
    }
    return text;
}

}  // namespace cinnabar::shm
