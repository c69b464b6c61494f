// SPDX-License-Identifier: BSD-3-Clause
#include "node_core.hpp"

#include <cinnabar/hl/node.hpp>

#include <algorithm>

namespace cinnabar::hl {
namespace {

std::vector<std::string_view> views_of(std::span<const std::string> texts) { return {texts.begin(), texts.end()}; }

}  // namespace

Result<na::Addr> NodeRef::lookup(std::string_view uri) const {
    CINNABAR_TRY(na::Addr addr, na::Addr::parse(uri));
    if (core_->loops().front()->context()->na().route(addr)) return addr;
    return Error(Errc::unreachable,
                 "this node has not opened a transport for that kind of address: name it in Node::open or listen",
                 std::string(uri));
}

Result<Pool> NodeRef::make_pool(PoolOptions options) const { return core_->make_pool(std::move(options)); }
Errc NodeRef::withdraw_id(rpc::RpcId id, rpc::ProviderId provider) const {
    return core_->engine().withdraw(id, provider);
}
ScopeCore& NodeRef::node_scope() const noexcept { return core_->scope(); }
Buffers& NodeRef::buffers() const { return core_->buffers(); }
void NodeRef::set_policy(const std::shared_ptr<const rpc::Policy>& policy) const {
    for (Loop* loop : core_->loops()) loop->context()->set_policy(policy);
    NodeCore::side_loop_of(*this).set_policy(policy);
}
na::Addr NodeRef::self_addr() const { return core_->engine().self_addr(); }

std::vector<std::string> NodeRef::endpoints() const {
    std::vector<std::string> all;
    for (const auto& transport : core_->engine().transports()) {
        for (std::string& endpoint : transport->endpoints()) all.push_back(std::move(endpoint));
    }
    return all;
}

std::string NodeRef::address() const {
    const std::vector<std::string> all = endpoints();
    std::string text;
    for (const std::string& endpoint : all) {
        // A node's endpoint for calls to itself is useless to others.
        if (endpoint.starts_with("self://")) continue;
        if (!text.empty()) text += ',';
        text += endpoint;
    }
    return text.empty() && core_->engine().transports().size() == 1 && !all.empty() ? all.front() : text;
}

std::string_view NodeRef::transport_to(const na::Addr& addr) const {
    const na::Context& context = core_->loops().front()->context()->na();
    const na::Port* port = context.route(addr);
    return port ? context.transport_of(*port).scheme() : std::string_view();
}

Result<bulk::Region> NodeRef::allocate(std::size_t bytes, na::Access access) const {
    const auto& transports = core_->engine().transports();
    const auto shared = std::find_if(transports.begin(), transports.end(),
                                     [](const auto& transport) { return transport->caps().views; });
    return bulk::Region::allocate(bytes, access, shared == transports.end() ? nullptr : *shared);
}

TransferOp NodeRef::pull(const bulk::RemoteRegion& remote, const na::Addr& peer, bulk::Region local,
                         TransferOptions options) const {
    return TransferOp(bulk::Direction::pull, remote, std::move(local), options).with(*core_, peer);
}

TransferOp NodeRef::push(const bulk::RemoteRegion& remote, const na::Addr& peer, bulk::Region local,
                         TransferOptions options) const {
    return TransferOp(bulk::Direction::push, remote, std::move(local), options).with(*core_, peer);
}

Errc NodeRef::run_for(Microseconds span) const { return core_->run_for(span, true); }
Errc NodeRef::run() const { return core_->run_for(Microseconds::max(), true); }
void NodeRef::stop_running() const noexcept { core_->stop_running(); }
void NodeRef::poll() const noexcept {
    for (Loop* loop : core_->loops()) loop->poll();
}
Errc NodeRef::drain(Microseconds span) const { return core_->drain(span); }
std::vector<RpcCounts> NodeRef::stats() const { return core_->stats(); }

std::optional<rpc::PeerTimes> NodeRef::peer_times(const na::Addr& to) const {
    std::optional<rpc::PeerTimes> all;
    for (Loop* loop : core_->loops()) {
        rpc::PeerTimes times;
        if (!loop->context() || !loop->context()->peer_times(to, times)) continue;
        if (!all) all.emplace();
        all->add(times);
    }
    return all;
}
rpc::Context& NodeRef::rpc_context(unsigned index) const noexcept { return *core_->loops().at(index)->context(); }

Result<Node> Node::listen(std::string_view uri, Options options) {
    CINNABAR_TRY(NodeCore * core, NodeCore::open(std::span(&uri, 1), std::move(options), Purpose::listen));
    return Node(core);
}
Result<Node> Node::listen(std::initializer_list<std::string_view> uris, Options options) {
    CINNABAR_TRY(NodeCore * core, NodeCore::open(uris, std::move(options), Purpose::listen));
    return Node(core);
}
Result<Node> Node::listen(std::span<const std::string> uris, Options options) {
    CINNABAR_TRY(NodeCore * core, NodeCore::open(views_of(uris), std::move(options), Purpose::listen));
    return Node(core);
}
Result<Node> Node::open(std::string_view uri, Options options) {
    CINNABAR_TRY(NodeCore * core, NodeCore::open(std::span(&uri, 1), std::move(options), Purpose::open));
    return Node(core);
}
Result<Node> Node::open(std::initializer_list<std::string_view> uris, Options options) {
    CINNABAR_TRY(NodeCore * core, NodeCore::open(uris, std::move(options), Purpose::open));
    return Node(core);
}
Result<Node> Node::open(std::span<const std::string> uris, Options options) {
    CINNABAR_TRY(NodeCore * core, NodeCore::open(views_of(uris), std::move(options), Purpose::open));
    return Node(core);
}

Node::~Node() {
    if (core_) core_->close();
}

}  // namespace cinnabar::hl
