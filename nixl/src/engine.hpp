// SPDX-License-Identifier: BSD-3-Clause
// The backend: one node per agent. Registered memory is shared and is named by tokens; transfers are operations on
// remote memory (cinnabar/hl/remote_memory.hpp); notifications are calls. Thread-safe, because NIXL may call the
// backend from several threads. See docs/nixl.md.
#pragma once

#include "memory.hpp"
#include "notices.hpp"

#include <cinnabar/hl/node.hpp>

#include <backend_engine.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace cinnabar::nixl {

class Engine final : public nixlBackendEngine {
  public:
    static constexpr const char* name = "CINNABAR";
    // The parameters and their defaults.
    [[nodiscard]] static nixl_b_params_t options();
    [[nodiscard]] static nixl_mem_list_t memories() { return {DRAM_SEG, VRAM_SEG, FILE_SEG}; }

    // On failure getInitErr() is true, and a message is logged.
    explicit Engine(const nixlBackendInitParams* params);

    bool supportsRemote() const override { return true; }
    bool supportsLocal() const override { return true; }
    bool supportsNotif() const override { return true; }
    nixl_mem_list_t getSupportedMems() const override { return memories(); }

    nixl_status_t registerMem(const nixlBlobDesc& memory, const nixl_mem_t& kind, nixlBackendMD*& out) override;
    // Ends one registration of the memory. If it is the last registration of the memory, no peer can begin another
    // access afterwards, even if the function fails; the function can be called again. NIXL_ERR_NOT_ALLOWED: transfers
    // of this agent still use the memory; release them first. NIXL_ERR_BACKEND: another process was stopped in the
    // middle of an access, and may continue it.
    nixl_status_t deregisterMem(nixlBackendMD* memory) override;
    nixl_status_t unloadMD(nixlBackendMD* memory) override;
    nixl_status_t loadLocalMD(nixlBackendMD* memory, nixlBackendMD*& out) override;
    nixl_status_t getPublicData(const nixlBackendMD* memory, std::string& out) const override;
    nixl_status_t loadRemoteMD(const nixlBlobDesc& memory, const nixl_mem_t& kind, const std::string& agent,
                               nixlBackendMD*& out) override;

    nixl_status_t getConnInfo(std::string& out) const override;
    nixl_status_t loadRemoteConnInfo(const std::string& agent, const std::string& address) override;
    // Does not dial; the first transfer does.
    nixl_status_t connect(const std::string& agent) override;
    nixl_status_t disconnect(const std::string& agent) override;

    nixl_status_t prepXfer(const nixl_xfer_op_t& op, const nixl_meta_dlist_t& local, const nixl_meta_dlist_t& remote,
                           const std::string& agent, nixlBackendReqH*& handle,
                           const nixl_opt_b_args_t* options) const override;
    nixl_status_t postXfer(const nixl_xfer_op_t& op, const nixl_meta_dlist_t& local, const nixl_meta_dlist_t& remote,
                           const std::string& agent, nixlBackendReqH*& handle,
                           const nixl_opt_b_args_t* options) const override;  // NIXL_ERR_NOT_ALLOWED: see Transfer
    nixl_status_t checkXfer(nixlBackendReqH* handle) const override;
    // Frees the transfer. If the transfer is in progress, asks it to end; if it does not end at once, returns
    // NIXL_ERR_REPOST_ACTIVE, and the next call waits until nobody accesses the transfer's memory any more (usually 0.2
    // s, docs/nixl.md), and frees the transfer.
    nixl_status_t releaseReqH(nixlBackendReqH* handle) const override;

    nixl_status_t getNotifs(notif_list_t& out) override;
    // Does not wait for the other agent to receive it; a failure is logged.
    nixl_status_t genNotif(const std::string& agent, const std::string& message) const override;

  private:
    [[nodiscard]] Result<void> open();
    [[nodiscard]] Result<std::shared_ptr<Registered>> share(const MemoryId& id) const;
    [[nodiscard]] std::optional<na::Addr> address_of(const std::string& agent) const;

    Microseconds deadline_{0};
    std::shared_ptr<Notices> notices_ = std::make_shared<Notices>();  // shared with the node's handler
    mutable std::mutex mutex_;                                        // guards the two below
    std::map<std::string, na::Addr> agents_;
    std::map<MemoryId, std::shared_ptr<Registered>> registered_;
    std::optional<hl::Node> node_;  // last, so that its handlers end first
};

}  // namespace cinnabar::nixl
