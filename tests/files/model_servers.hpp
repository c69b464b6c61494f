// SPDX-License-Identifier: BSD-3-Clause
// The servers of the model test, and the clients that give them the commands.
#pragma once

#include "support/content.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/key.hpp>
#include <cinnabar/files/server.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/sync_wait.hpp>

#include <gtest/gtest.h>
#include <sys/xattr.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace cinnabar::files {

inline constexpr std::size_t window_bytes = 64u << 10;

// Servers connect to others only for clients that prove it.
inline Key model_key() { return Key::from("a key of at least 16 bytes").value(); }

// The server and the model, and a second server that files are copied from. The nodes are reused for all walks.
class Both {
  public:
    Both() {
        std::filesystem::create_directories(folder_.at("root"));
        std::filesystem::create_directories(folder_.at("lender"));
        keeps_attributes_ = ::setxattr(folder_.at("root").c_str(), "user.try", "x", 1, 0) == 0;
        begin();
    }
    ~Both() { end(); }
    void restart() {
        end();
        begin();
    }
    // The server's connections end, whatever is in progress, and it serves nothing until restart(). Any thread.
    void kill_server() { there_.reset(); }
    [[nodiscard]] Client& client() { return *client_; }
    [[nodiscard]] Client& lender() { return *lender_client_; }
    [[nodiscard]] const support::Folder& folder() const { return folder_; }
    [[nodiscard]] bool keeps_attributes() const { return keeps_attributes_; }
    // How often a command has succeeded and has been refused.
    struct Count {
        unsigned done = 0;
        unsigned refused = 0;
    };
    std::map<std::string, Count> counts;
    unsigned resumed = 0;  // saves that went on from what an interrupted one had left

  private:
    void begin() {
        ServerOptions options;
        options.window_bytes = window_bytes;
        options.buffers = 8;
        options.disk_threads = 2;
        server_ = Server::make(Root::serve(folder_.at("root")).value(), model_key(), options).value();
        there_ = hl::Node::listen("tcp://127.0.0.1:0").value();
        ASSERT_TRUE(server_->serve_on(*there_).ok());
        lender_ = Server::make(Root::serve(folder_.at("lender")).value(), model_key(), options).value();
        lender_there_ = hl::Node::listen("tcp://127.0.0.1:0").value();
        ASSERT_TRUE(lender_->serve_on(*lender_there_).ok());
        here_ = hl::Node::open("tcp://", {.progress_thread = false}).value();
        client_.emplace(*here_, here_->lookup(there_->endpoints().front()).value(), &key_);
        ASSERT_TRUE(hl::sync_wait(client_->open()).ok());
        lender_client_.emplace(*here_, here_->lookup(lender_there_->endpoints().front()).value(), &key_);
        ASSERT_TRUE(hl::sync_wait(lender_client_->open()).ok());
    }
    void end() {
        EXPECT_TRUE(hl::sync_wait(lender_client_->close()).ok());
        EXPECT_TRUE(hl::sync_wait(client_->close()).ok());
        lender_client_.reset();
        client_.reset();
        here_.reset();
        there_.reset();
        lender_there_.reset();
        server_.reset();
        lender_.reset();
    }

    support::Folder folder_{support::memory_folder()};
    bool keeps_attributes_ = false;
    const Key key_ = model_key();
    std::unique_ptr<Server> server_;
    std::unique_ptr<Server> lender_;
    std::optional<hl::Node> there_;
    std::optional<hl::Node> lender_there_;
    std::optional<hl::Node> here_;
    std::optional<Client> client_;
    std::optional<Client> lender_client_;
};

}  // namespace cinnabar::files
