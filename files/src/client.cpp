// SPDX-License-Identifier: BSD-3-Clause
#include "session/client_session.hpp"

#include <cinnabar/files/client.hpp>

#include <utility>

namespace cinnabar::files {

Client::Client(const hl::NodeRef& node, na::Addr server, const Key* key)
    : session_(std::make_unique<ClientSession>(node, std::move(server), key)) {}

Client::~Client() = default;

hl::Task<Result<void>> Client::open() { return session_->open(); }

hl::Task<void> Client::close() { return session_->close(); }

hl::Task<Result<Moved>> Client::save(const std::string& path, const std::string& name, SaveMode mode,
                                     BytesMoved progress) {
    return session_->save(path, name, mode, std::move(progress));
}

hl::Task<Result<Moved>> Client::fetch(const std::string& name, const Root& into, Existing existing, BytesMoved progress,
                                      std::function<void(std::uint64_t)> announced) {
    return session_->fetch(name, into, existing, std::move(progress), std::move(announced));
}

}  // namespace cinnabar::files
