// SPDX-License-Identifier: BSD-3-Clause
#include "engine.hpp"

#include "transfer.hpp"

#include <cinnabar/base/log.hpp>
#include <cinnabar/na/uri.hpp>

#include <charconv>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace cinnabar::nixl {
namespace {

constexpr const char* listen_option = "listen";
constexpr const char* deadline_option = "deadline_seconds";
constexpr std::uint64_t seconds_max = 1'000'000'000;

std::string option_of(const nixl_b_params_t& given, const std::string& key) {
    const auto found = given.find(key);
    return found != given.end() ? found->second : Engine::options().at(key);
}

Result<Microseconds> deadline_from(const std::string& text) {
    std::uint64_t seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc{} || end != text.data() + text.size() || seconds == 0 || seconds > seconds_max)
        return Error(Errc::invalid_argument, "deadline_seconds is a number of seconds, at least 1", text);
    return Microseconds(static_cast<std::int64_t>(seconds) * 1'000'000);
}

Transfer* transfer_of(nixlBackendReqH* handle) { return dynamic_cast<Transfer*>(handle); }

}  // namespace

nixl_b_params_t Engine::options() { return {{listen_option, "tcp://:0,shm://"}, {deadline_option, "600"}}; }

Engine::Engine(const nixlBackendInitParams* params) : nixlBackendEngine(params) {
    const Result<void> opened = open();
    if (opened.ok()) return;
    log(LogLevel::error, "nixl", "the backend of agent '%s' does not start: %s", localAgent.c_str(),
        opened.error().message().c_str());
    initErr = true;
}

Result<void> Engine::open() {
    CINNABAR_TRY(deadline_, deadline_from(option_of(getCustomParams(), deadline_option)));
    const std::string listed = option_of(getCustomParams(), listen_option);
    const auto addresses = na::Uri::split(listed);
    const std::vector<std::string> uris(addresses.begin(), addresses.end());
    CINNABAR_TRY(hl::Node node, hl::Node::listen(std::span<const std::string>(uris)));
    node_.emplace(std::move(node));
    const auto told = [notices = notices_](const std::string& agent, const std::string& message) -> Result<void> {
        if (const Errc refused = notices->add(agent, message); refused != Errc::ok) return refused;
        return {};
    };
    return node_->serve(notify, told);
}

std::optional<na::Addr> Engine::address_of(const std::string& agent) const {
    if (agent == localAgent) return node_->self_addr();
    const std::lock_guard lock(mutex_);
    const auto found = agents_.find(agent);
    if (found == agents_.end()) return {};
    return found->second;
}

Result<std::shared_ptr<Registered>> Engine::share(const MemoryId& id) const {
    CINNABAR_TRY(bulk::Region region, region_of(id));
    CINNABAR_TRY(SharedBytes shared, hl::share_bytes(*node_, region, region.access()));
    return std::make_shared<Registered>(id, std::move(region), std::move(shared));
}

nixl_status_t Engine::registerMem(const nixlBlobDesc& memory, const nixl_mem_t& kind, nixlBackendMD*& out) {
    if (!is_supported(kind)) return NIXL_ERR_NOT_SUPPORTED;
    const std::lock_guard lock(mutex_);
    const MemoryId id(kind, kind == DRAM_SEG ? 0 : memory.devId, memory.addr, memory.len);
    if (const auto known = registered_.find(id); known == registered_.end()) {
        auto shared = share(id);
        if (!shared) return status_of(shared.code());
        registered_[id] = *std::move(shared);
    }
    const auto& registered = registered_[id];
    ++registered->registrations;
    out = new LocalMemory(registered);
    return NIXL_SUCCESS;
}

nixl_status_t Engine::deregisterMem(nixlBackendMD* memory) {
    auto* const local = dynamic_cast<LocalMemory*>(memory);
    if (!local) return NIXL_ERR_INVALID_PARAM;
    const std::lock_guard lock(mutex_);
    const std::shared_ptr<Registered> registered = local->registered();
    if (registered->registrations == 1) {
        // NIXL does not report an error of this function to its program. So even if deregistering fails, nobody can
        // begin to use the memory any more, and the same addresses can be registered again.
        const auto known = registered_.find(registered->id);
        if (known != registered_.end() && known->second == registered) registered_.erase(known);
        registered->gone.store(true);
        const Errc withdrawn = registered->shared.withdraw();
        if (registered->moving.load() != 0) return NIXL_ERR_NOT_ALLOWED;
        if (withdrawn != Errc::ok) return status_of(withdrawn);
        if (registered->region.quarantined()) return NIXL_ERR_BACKEND;
    }
    --registered->registrations;
    delete local;
    return NIXL_SUCCESS;
}

nixl_status_t Engine::unloadMD(nixlBackendMD* memory) {
    auto* const remote = dynamic_cast<RemoteMemory*>(memory);
    if (!remote) return NIXL_ERR_INVALID_PARAM;
    delete remote;
    return NIXL_SUCCESS;
}

nixl_status_t Engine::loadLocalMD(nixlBackendMD* memory, nixlBackendMD*& out) {
    const auto* const local = dynamic_cast<LocalMemory*>(memory);
    if (!local) return NIXL_ERR_INVALID_PARAM;
    out = new RemoteMemory(local->address(), local->token());
    return NIXL_SUCCESS;
}

nixl_status_t Engine::getPublicData(const nixlBackendMD* memory, std::string& out) const {
    const auto* const local = dynamic_cast<const LocalMemory*>(memory);
    if (!local) return NIXL_ERR_INVALID_PARAM;
    out = encode_token(local->token());
    return out.empty() ? NIXL_ERR_BACKEND : NIXL_SUCCESS;
}

nixl_status_t Engine::loadRemoteMD(const nixlBlobDesc& memory, const nixl_mem_t& kind, const std::string& agent,
                                   nixlBackendMD*& out) {
    if (!is_supported(kind)) return NIXL_ERR_NOT_SUPPORTED;
    const std::optional<na::Addr> to = address_of(agent);
    if (!to) return NIXL_ERR_NOT_FOUND;
    const auto token = decode_token(memory.metaInfo);
    if (!token || token->bytes() != memory.len) return NIXL_ERR_MISMATCH;
    out = new RemoteMemory(memory.addr, token->at(*to));
    return NIXL_SUCCESS;
}

nixl_status_t Engine::getConnInfo(std::string& out) const {
    out = node_->address();
    return NIXL_SUCCESS;
}

nixl_status_t Engine::loadRemoteConnInfo(const std::string& agent, const std::string& address) {
    auto to = node_->lookup(address);
    if (!to) return status_of(to.code());
    const std::lock_guard lock(mutex_);
    agents_.insert_or_assign(agent, *std::move(to));
    return NIXL_SUCCESS;
}

nixl_status_t Engine::connect(const std::string& agent) {
    return address_of(agent) ? NIXL_SUCCESS : NIXL_ERR_NOT_FOUND;
}

nixl_status_t Engine::disconnect(const std::string& agent) {
    const std::lock_guard lock(mutex_);
    return agents_.erase(agent) == 1 || agent == localAgent ? NIXL_SUCCESS : NIXL_ERR_NOT_FOUND;
}

nixl_status_t Engine::prepXfer(const nixl_xfer_op_t& op, const nixl_meta_dlist_t& local,
                               const nixl_meta_dlist_t& remote, const std::string& agent, nixlBackendReqH*& handle,
                               const nixl_opt_b_args_t*) const {
    if (!address_of(agent)) return NIXL_ERR_NOT_FOUND;
    auto made = Transfer::make(*node_, localAgent, op, local, remote);
    if (!made) return status_of(made.code());
    handle = made->release();
    return NIXL_SUCCESS;
}

nixl_status_t Engine::postXfer(const nixl_xfer_op_t&, const nixl_meta_dlist_t&, const nixl_meta_dlist_t&,
                               const std::string& agent, nixlBackendReqH*& handle,
                               const nixl_opt_b_args_t* options) const {
    Transfer* const transfer = transfer_of(handle);
    if (!transfer) return NIXL_ERR_INVALID_PARAM;
    std::optional<Transfer::Notification> notification;
    if (options && options->hasNotif) {
        auto to = address_of(agent);
        if (!to) return NIXL_ERR_NOT_FOUND;
        notification = {*std::move(to), options->notifMsg};
    }
    return transfer->post(deadline_, std::move(notification));
}

nixl_status_t Engine::checkXfer(nixlBackendReqH* handle) const {
    const Transfer* const transfer = transfer_of(handle);
    return transfer ? transfer->status() : NIXL_ERR_INVALID_PARAM;
}

nixl_status_t Engine::releaseReqH(nixlBackendReqH* handle) const {
    Transfer* const transfer = transfer_of(handle);
    if (!transfer) return NIXL_ERR_INVALID_PARAM;
    const bool is_asked_now = transfer->status() == NIXL_IN_PROG && transfer->cancel();
    if (is_asked_now && transfer->status() == NIXL_IN_PROG) return NIXL_ERR_REPOST_ACTIVE;
    transfer->wait();
    delete transfer;
    return NIXL_SUCCESS;
}

nixl_status_t Engine::getNotifs(notif_list_t& out) {
    if (!out.empty()) return NIXL_ERR_INVALID_PARAM;
    notices_->take(out);
    return NIXL_SUCCESS;
}

nixl_status_t Engine::genNotif(const std::string& agent, const std::string& message) const {
    const std::optional<na::Addr> to = address_of(agent);
    if (!to) return NIXL_ERR_NOT_FOUND;
    node_->call(notify, *to, localAgent, message, deadline_).then([agent](const Result<void>& told) {
        if (!told)
            log(LogLevel::warning, "nixl", "a notification did not reach '%s': %s", agent.c_str(),
                told.error().message().c_str());
    });
    return NIXL_SUCCESS;
}

}  // namespace cinnabar::nixl
