// SPDX-License-Identifier: BSD-3-Clause
#include "gpu_ipc.hpp"

#include <cinnabar/base/log.hpp>

#include <cstring>
#include <new>

namespace cinnabar::bulk {
namespace {

using gpu::Code;
using gpu::Driver;

// The copy then goes through staging buffers, which only costs time.
FarEnd staged_instead(const Driver& driver, const char* what, Code code) noexcept {
    static constinit LogLimit lines;
    log_limited(lines, LogLevel::info, "bulk", "memory of a device goes through the host: %s: %s", what,
                driver.name_of(code));
    return {Errc::unsupported, 0};
}

}  // namespace

FarEnd gpu_ipc_handle(const Driver& driver, gpu::Context context, gpu::DeviceAddress address, IpcHandle& out) noexcept {
    if (!driver.has_ipc()) return {Errc::unsupported, 0};
    const gpu::Current current(driver, context);
    gpu::DeviceAddress start = 0;
    std::size_t size = 0;
    gpu::IpcBytes bytes{};
    Code code = current.code();
    if (code == gpu::success) code = driver.address_range(&start, &size, address);
    if (code == gpu::success) code = driver.ipc_get_handle(&bytes, start);
    if (code != gpu::success) return staged_instead(driver, "it has no handle", code);
    out.kind = driver.kind;
    std::memcpy(out.driver.data(), bytes.reserved, sizeof bytes.reserved);
    out.offset = address - start;
    return {};
}

FarEnd GpuIpc::map(const IpcHandle& handle, std::uint64_t bytes) noexcept {
    gpu::IpcBytes reserved{};
    std::memcpy(reserved.reserved, handle.driver.data(), sizeof reserved.reserved);
    if (const Code code = driver_.ipc_open_handle(&base_, reserved, gpu::ipc_lazy_peer_access); code != gpu::success) {
        base_ = 0;
        return staged_instead(driver_, "that of another process cannot be opened", code);
    }
    gpu::DeviceAddress start = 0;
    std::size_t size = 0;
    if (const Code code = driver_.address_range(&start, &size, base_); code != gpu::success)
        return staged_instead(driver_, "that of another process has no known size", code);
    const std::uint64_t left = base_ - start < size ? size - (base_ - start) : 0;
    if (handle.offset > left || bytes > left - handle.offset) return {Errc::too_large, 0};
    offset_ = handle.offset;
    return {};
}

std::unique_ptr<IpcMemory> GpuIpc::open(const Driver& driver, gpu::Context context, const IpcHandle& handle,
                                        std::uint64_t bytes, FarEnd& end) noexcept {
    end = {Errc::unsupported, 0};
    if (!driver.has_ipc() || handle.kind != driver.kind) return nullptr;
    std::unique_ptr<GpuIpc> opened(new (std::nothrow) GpuIpc(driver, context));
    if (!opened) return nullptr;
    const gpu::Current current(driver, context);
    end = current.code() == gpu::success ? opened->map(handle, bytes)
                                         : staged_instead(driver, "its context is gone", current.code());
    if (end.code == Errc::ok) return opened;
    if (opened->base_ != 0) (void)opened->close();
    return nullptr;
}

FarEnd GpuIpc::close() noexcept {
    const gpu::Current current(driver_, context_);
    Code code = current.code();
    if (code == gpu::success) code = driver_.ipc_close_handle(base_);
    if (code == gpu::success) return {};
    static constinit LogLimit lines;
    log_limited(lines, LogLevel::warning, "bulk",
                "memory of another process stays open: %s; end this process before that one frees it",
                driver_.name_of(code));
    return {Errc::io, 0};
}

}  // namespace cinnabar::bulk
