// SPDX-License-Identifier: BSD-3-Clause
#include "mercury_api.hpp"

#include <mercury.h>
#include <mercury_proc.h>

#include <cstring>
#include <stdexcept>
#include <string>

namespace cinnabar::bench {
namespace {

struct Payload {
    char bytes[mercury_api_payload_bytes];
};

hg_return_t proc_payload(hg_proc_t proc, void* data) { return hg_proc_raw(proc, data, sizeof(Payload)); }

void require(hg_return_t ret, const char* what) {
    if (ret != HG_SUCCESS) throw std::runtime_error{std::string{what} + ": " + HG_Error_to_string(ret)};
}

hg_return_t echo(hg_handle_t handle) {
    Payload payload;
    if (const hg_return_t ret = HG_Get_input(handle, &payload); ret != HG_SUCCESS) return ret;
    (void)HG_Free_input(handle, &payload);
    const hg_return_t ret = HG_Respond(handle, nullptr, nullptr, &payload);
    (void)HG_Destroy(handle);
    return ret;
}

class Side {
  public:
    explicit Side(bool listen)
        : class_(HG_Init("na+sm", listen)), context_(class_ ? HG_Context_create(class_) : nullptr) {
        if (!context_) throw std::runtime_error{"HG_Init(\"na+sm\") failed"};
        id_ = HG_Register_name(class_, "bench.echo", proc_payload, proc_payload, echo);
    }
    ~Side() {
        (void)HG_Context_destroy(context_);
        (void)HG_Finalize(class_);
    }
    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;

    [[nodiscard]] hg_class_t* hg_class() const noexcept { return class_; }
    [[nodiscard]] hg_context_t* context() const noexcept { return context_; }
    [[nodiscard]] hg_id_t id() const noexcept { return id_; }

    void round() const noexcept {
        (void)HG_Progress(context_, 0);
        unsigned count = 0;
        (void)HG_Trigger(context_, 0, 64, &count);
    }

    [[nodiscard]] std::string address() const {
        hg_addr_t self = HG_ADDR_NULL;
        char text[256];
        hg_size_t bytes = sizeof text;
        require(HG_Addr_self(class_, &self), "HG_Addr_self");
        require(HG_Addr_to_string(class_, text, &bytes, self), "HG_Addr_to_string");
        require(HG_Addr_free(class_, self), "HG_Addr_free");
        return text;
    }

  private:
    hg_class_t* class_;
    hg_context_t* context_;
    hg_id_t id_ = 0;
};

class MercuryApiRpc : public Subject {
  public:
    explicit MercuryApiRpc(Cores cores) : partner_(cores.server, serve), side_(false) {
        require(HG_Addr_lookup2(side_.hg_class(), partner_.announced().c_str(), &to_), "HG_Addr_lookup2");
        require(HG_Create(side_.context(), to_, side_.id(), &handle_), "HG_Create");
    }
    ~MercuryApiRpc() override {
        (void)HG_Destroy(handle_);
        (void)HG_Addr_free(side_.hg_class(), to_);
    }

    Slice run_slice(std::chrono::milliseconds duration) override {
        return measure(partner_, [&] { return call_for(duration); });
    }

  private:
    static void serve(PartnerSide& partner) {
        const Side side{true};
        partner.announce(side.address());
        while (partner.wait_slice()) {
            while (partner.running()) side.round();
            partner.end_slice();
        }
    }

    double call_for(std::chrono::milliseconds duration) {
        calls_ = 0;
        more_ = true;
        const auto end = seconds_now() + std::chrono::duration<double>(duration).count();
        start();
        std::uint64_t look_at = calls_ + 8;
        while (busy_) {
            side_.round();
            if (calls_ < look_at) continue;
            look_at = calls_ + 8;
            if (seconds_now() >= end) more_ = false;
        }
        require(failure_, "a call");
        return static_cast<double>(calls_);
    }

    void start() {
        Payload payload;
        std::memset(payload.bytes, 0x5a, sizeof payload.bytes);
        failure_ = HG_Forward(handle_, done, this, &payload);
        busy_ = failure_ == HG_SUCCESS;
    }

    static hg_return_t done(const hg_cb_info* info) {
        auto& self = *static_cast<MercuryApiRpc*>(info->arg);
        self.busy_ = false;
        ++self.calls_;
        Payload payload;
        self.failure_ = info->ret;
        if (info->ret == HG_SUCCESS) self.failure_ = HG_Get_output(info->info.forward.handle, &payload);
        if (self.failure_ == HG_SUCCESS) (void)HG_Free_output(info->info.forward.handle, &payload);
        if (self.more_ && self.failure_ == HG_SUCCESS) self.start();
        return HG_SUCCESS;
    }

    Partner partner_;
    Side side_;
    hg_addr_t to_ = HG_ADDR_NULL;
    hg_handle_t handle_ = HG_HANDLE_NULL;
    std::uint64_t calls_ = 0;
    bool busy_ = false;
    bool more_ = false;
    hg_return_t failure_ = HG_SUCCESS;
};

}  // namespace

std::unique_ptr<Subject> make_mercury_api_rpc(Cores cores) { return std::make_unique<MercuryApiRpc>(cores); }

}  // namespace cinnabar::bench
