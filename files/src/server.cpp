// SPDX-License-Identifier: BSD-3-Clause
#include "session/service.hpp"

#include <cinnabar/files/server.hpp>

#include <utility>

namespace cinnabar::files {

Result<std::unique_ptr<Server>> Server::make(Root root, std::optional<Key> key, const ServerOptions& options,
                                             ServerHooks hooks) {
    CINNABAR_TRY(auto service, Service::make(std::move(root), std::move(key), options, std::move(hooks)));
    return std::unique_ptr<Server>(new Server(std::move(service)));
}

Server::Server(std::unique_ptr<Service> service) noexcept : service_(std::move(service)) {}

Server::~Server() = default;

Result<void> Server::serve_on(const hl::NodeRef& node) { return service_->serve_on(node); }

void Server::replace_policy(std::shared_ptr<const AccessPolicy> policy) { service_->replace_policy(std::move(policy)); }

bool Server::drain(std::chrono::duration<double> span) { return service_->drain(span); }

}  // namespace cinnabar::files
