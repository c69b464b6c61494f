// SPDX-License-Identifier: BSD-3-Clause
// Stands in for NIXL's headers, which are not here: the declarations that the backend uses, of our own, after NIXL's
// backend guide and headers of August 2026 (plugin interface 1). Whoever has NIXL compiles against its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

enum nixl_mem_t { DRAM_SEG, VRAM_SEG, BLK_SEG, OBJ_SEG, FILE_SEG };
enum nixl_xfer_op_t { NIXL_READ, NIXL_WRITE };
enum nixl_status_t {
    NIXL_IN_PROG = 1,
    NIXL_SUCCESS = 0,
    NIXL_ERR_NOT_POSTED = -1,
    NIXL_ERR_INVALID_PARAM = -2,
    NIXL_ERR_BACKEND = -3,
    NIXL_ERR_NOT_FOUND = -4,
    NIXL_ERR_MISMATCH = -5,
    NIXL_ERR_NOT_ALLOWED = -6,
    NIXL_ERR_REPOST_ACTIVE = -7,
    NIXL_ERR_UNKNOWN = -8,
    NIXL_ERR_NOT_SUPPORTED = -9,
    NIXL_ERR_REMOTE_DISCONNECT = -10,
    NIXL_ERR_CANCELED = -11,
    NIXL_ERR_NO_TELEMETRY = -12
};
using nixl_b_params_t = std::unordered_map<std::string, std::string>;
using nixl_mem_list_t = std::vector<nixl_mem_t>;
using notif_list_t = std::vector<std::pair<std::string, std::string>>;

struct nixlBasicDesc {
    std::uintptr_t addr = 0;
    std::size_t len = 0;
    std::uint64_t devId = 0;
};
struct nixlBlobDesc : nixlBasicDesc {
    std::string metaInfo;
};

class nixlBackendMD {
  public:
    explicit nixlBackendMD(bool is_private) : isPrivateMD(is_private) {}
    virtual ~nixlBackendMD() = default;

  protected:
    bool isPrivateMD;
};
class nixlBackendReqH {
  public:
    virtual ~nixlBackendReqH() = default;
};

struct nixlMetaDesc : nixlBasicDesc {
    nixlBackendMD* metadataP = nullptr;
};

class nixl_meta_dlist_t {
  public:
    explicit nixl_meta_dlist_t(nixl_mem_t) {}
    void addDesc(const nixlMetaDesc& desc) { descs_.push_back(desc); }
    int descCount() const { return static_cast<int>(descs_.size()); }
    bool isEmpty() const { return descs_.empty(); }
    const nixlMetaDesc& operator[](std::size_t at) const { return descs_[at]; }
    auto begin() const { return descs_.begin(); }
    auto end() const { return descs_.end(); }

  private:
    std::vector<nixlMetaDesc> descs_;
};

struct nixl_opt_b_args_t {
    std::string notifMsg;
    bool hasNotif = false;
};

struct nixlBackendInitParams {
    std::string localAgent;
    std::string type;
    nixl_b_params_t* customParams = nullptr;
};

class nixlBackendEngine {
  public:
    explicit nixlBackendEngine(const nixlBackendInitParams* params)
        : localAgent(params->localAgent), params_(*params->customParams) {}
    virtual ~nixlBackendEngine() = default;
    nixlBackendEngine(const nixlBackendEngine&) = delete;
    nixlBackendEngine& operator=(const nixlBackendEngine&) = delete;

    bool getInitErr() const { return initErr; }
    const nixl_b_params_t& getCustomParams() const { return params_; }

    virtual bool supportsRemote() const = 0;
    virtual bool supportsLocal() const = 0;
    virtual bool supportsNotif() const = 0;
    virtual nixl_mem_list_t getSupportedMems() const = 0;
    virtual nixl_status_t registerMem(const nixlBlobDesc&, const nixl_mem_t&, nixlBackendMD*&) = 0;
    virtual nixl_status_t deregisterMem(nixlBackendMD*) = 0;
    virtual nixl_status_t unloadMD(nixlBackendMD*) = 0;
    virtual nixl_status_t loadLocalMD(nixlBackendMD*, nixlBackendMD*&) = 0;
    virtual nixl_status_t getPublicData(const nixlBackendMD*, std::string&) const = 0;
    virtual nixl_status_t loadRemoteMD(const nixlBlobDesc&, const nixl_mem_t&, const std::string&, nixlBackendMD*&) = 0;
    virtual nixl_status_t getConnInfo(std::string&) const = 0;
    virtual nixl_status_t loadRemoteConnInfo(const std::string&, const std::string&) = 0;
    virtual nixl_status_t connect(const std::string&) = 0;
    virtual nixl_status_t disconnect(const std::string&) = 0;
    virtual nixl_status_t prepXfer(const nixl_xfer_op_t&, const nixl_meta_dlist_t&, const nixl_meta_dlist_t&,
                                   const std::string&, nixlBackendReqH*&, const nixl_opt_b_args_t* = nullptr) const = 0;
    virtual nixl_status_t postXfer(const nixl_xfer_op_t&, const nixl_meta_dlist_t&, const nixl_meta_dlist_t&,
                                   const std::string&, nixlBackendReqH*&, const nixl_opt_b_args_t* = nullptr) const = 0;
    virtual nixl_status_t checkXfer(nixlBackendReqH*) const = 0;
    virtual nixl_status_t releaseReqH(nixlBackendReqH*) const = 0;
    virtual nixl_status_t getNotifs(notif_list_t&) = 0;
    virtual nixl_status_t genNotif(const std::string&, const std::string&) const = 0;

  protected:
    bool initErr = false;
    const std::string localAgent;

  private:
    nixl_b_params_t params_;
};
