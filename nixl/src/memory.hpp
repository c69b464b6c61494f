// SPDX-License-Identifier: BSD-3-Clause
// The metadata objects that NIXL keeps for memory of this agent and of others.
#pragma once

#include <cinnabar/hl/remote_memory.hpp>

#include <backend_engine.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

namespace cinnabar::nixl {

// Where registered memory is: its kind, its device or file, its address or its offset in the file, and its bytes.
using MemoryId = std::tuple<nixl_mem_t, std::uint64_t, std::uintptr_t, std::size_t>;

// Makes a region of the memory with that id. Host memory: the device is ignored. Memory of a CUDA device: the address
// determines the device. A file: the device is a file descriptor, which may be closed afterwards, and the address is an
// offset in the file; if the descriptor does not allow writing, the region is for reading only. unsupported: another
// kind of memory. Other errors: bulk::Region::of_file, bulk::device_memory.
[[nodiscard]] Result<bulk::Region> region_of(const MemoryId& id);
[[nodiscard]] inline bool is_supported(nixl_mem_t kind) noexcept {
    return kind == DRAM_SEG || kind == VRAM_SEG || kind == FILE_SEG;
}

// Memory that is shared, so that others can read and write it by tokens, and that transfers use as local memory.
struct Registered {
    Registered(const MemoryId& at, bulk::Region whole, SharedBytes bytes)
        : id(at),
          address(std::get<2>(at)),
          region(std::move(whole)),
          shared(std::move(bytes)),
          token(shared.token(Names::any_version)) {}
    const MemoryId id;
    const std::uintptr_t address;  // of a file: the offset
    const bulk::Region region;
    SharedBytes shared;
    const RemoteBytes token;        // for all of it
    int registrations = 0;          // guarded by the engine's lock
    std::atomic<int> moving{0};     // transfers of this agent in progress that use it as local memory
    std::atomic<bool> gone{false};  // deregistered, perhaps with an error: no transfer of this agent may begin
};

// NIXL may register the same memory several times, and expects the same public data each time.
class LocalMemory final : public nixlBackendMD {
  public:
    explicit LocalMemory(std::shared_ptr<Registered> registered)
        : nixlBackendMD(true), registered_(std::move(registered)) {}

    [[nodiscard]] std::uintptr_t address() const noexcept { return registered_->address; }
    [[nodiscard]] const bulk::Region& region() const noexcept { return registered_->region; }
    [[nodiscard]] const RemoteBytes& token() const noexcept { return registered_->token; }
    [[nodiscard]] const std::shared_ptr<Registered>& registered() const noexcept { return registered_; }

  private:
    std::shared_ptr<Registered> registered_;
};

// Memory of another agent, or of this one, that this agent reads and writes.
class RemoteMemory final : public nixlBackendMD {
  public:
    RemoteMemory(std::uintptr_t address, RemoteBytes token)
        : nixlBackendMD(false), address_(address), token_(std::move(token)) {}

    [[nodiscard]] std::uintptr_t address() const noexcept { return address_; }  // in the other process
    [[nodiscard]] const RemoteBytes& token() const noexcept { return token_; }

  private:
    std::uintptr_t address_;
    RemoteBytes token_;
};

// A token as bytes; empty if the token is empty.
[[nodiscard]] std::string encode_token(const RemoteBytes& token);
// protocol: `bytes` is not a token.
[[nodiscard]] Result<RemoteBytes> decode_token(const std::string& bytes);

[[nodiscard]] nixl_status_t status_of(Errc code) noexcept;

}  // namespace cinnabar::nixl
