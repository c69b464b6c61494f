// SPDX-License-Identifier: BSD-3-Clause
// Echo through Mercury's API: `serve INFO,FILE`, `call INFO,FILE BYTES DEPTH SECONDS`. INFO is what HG_Init takes, FILE
// gets the address of the server. A reply has 64 bytes: those of the argument, or, if there are more, the first ones of
// the memory that the server pulls. Built against an installed Mercury (mercury/CMakeLists.txt), and for a test against
// the libraries of this repository that stand in for it. Both sides poll, as Mercury's own programs do with -b.
#include "echo.hpp"

#include <mercury.h>
#include <mercury_bulk.h>
#include <mercury_proc.h>
#include <mercury_proc_bulk.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <utility>

namespace {

using namespace cinnabar::compare;

struct Payload {
    char bytes[reply_bytes_max];
};

hg_return_t proc_payload(hg_proc_t proc, void* data) { return hg_proc_raw(proc, data, sizeof(Payload)); }

// Memory that Mercury knows.
class Memory {
  public:
    Memory(hg_class_t* of, std::string bytes) : bytes_(std::move(bytes)) {
        void* at = bytes_.data();
        const hg_size_t size = bytes_.size();
        if (HG_Bulk_create(of, 1, &at, &size, HG_BULK_READWRITE, &handle_) != HG_SUCCESS) handle_ = HG_BULK_NULL;
    }
    ~Memory() {
        if (handle_ != HG_BULK_NULL) (void)HG_Bulk_free(handle_);
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    [[nodiscard]] const std::string& bytes() const { return bytes_; }
    [[nodiscard]] hg_bulk_t handle() const { return handle_; }

  private:
    std::string bytes_;
    hg_bulk_t handle_ = HG_BULK_NULL;
};

hg_return_t serve_echo(hg_handle_t handle) {
    Payload payload{};
    hg_return_t ret = HG_Get_input(handle, &payload);
    if (ret == HG_SUCCESS) {
        (void)HG_Free_input(handle, &payload);
        ret = HG_Respond(handle, nullptr, nullptr, &payload);
    }
    (void)HG_Destroy(handle);
    return ret;
}

// A pull by the server, kept for the next one of the same size.
struct Pull {
    Pull(hg_class_t* of, std::size_t bytes) : memory(of, std::string(bytes, 0)) {}
    Memory memory;
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_bulk_t from = HG_BULK_NULL;
};

std::vector<std::unique_ptr<Pull>>& spare_pulls() {
    static std::vector<std::unique_ptr<Pull>> spare;
    return spare;
}

std::unique_ptr<Pull> take_pull(hg_class_t* of, std::size_t bytes) {
    auto& spare = spare_pulls();
    if (spare.empty() || spare.back()->memory.bytes().size() != bytes) return std::make_unique<Pull>(of, bytes);
    std::unique_ptr<Pull> pull = std::move(spare.back());
    spare.pop_back();
    return pull;
}

hg_return_t end_pull(std::unique_ptr<Pull> pull, hg_return_t ret) {
    Payload reply{};
    if (ret == HG_SUCCESS) {
        std::memcpy(reply.bytes, pull->memory.bytes().data(), sizeof reply.bytes);
        ret = HG_Respond(pull->handle, nullptr, nullptr, &reply);
    }
    (void)HG_Free_input(pull->handle, &pull->from);
    (void)HG_Destroy(pull->handle);
    spare_pulls().push_back(std::move(pull));
    return ret;
}

hg_return_t pulled(const struct hg_cb_info* info) {
    return end_pull(std::unique_ptr<Pull>(static_cast<Pull*>(info->arg)), info->ret);
}

hg_return_t serve_pull(hg_handle_t handle) {
    hg_bulk_t from = HG_BULK_NULL;
    const hg_return_t decoded = HG_Get_input(handle, &from);
    if (decoded != HG_SUCCESS) {
        (void)HG_Destroy(handle);
        return decoded;
    }
    const struct hg_info* info = HG_Get_info(handle);
    const hg_size_t bytes = HG_Bulk_get_size(from);
    std::unique_ptr<Pull> pull = take_pull(info->hg_class, bytes);
    pull->handle = handle;
    pull->from = from;
    if (bytes < reply_bytes_max) return end_pull(std::move(pull), HG_INVALID_ARG);
    Pull* const begun = pull.release();
    hg_op_id_t ignored;
    const hg_return_t ret = HG_Bulk_transfer(info->context, pulled, begun, HG_BULK_PULL, info->addr, from, 0,
                                             begun->memory.handle(), 0, bytes, &ignored);
    return ret == HG_SUCCESS ? ret : end_pull(std::unique_ptr<Pull>(begun), ret);
}

class Side {
  public:
    Side(const std::string& info, bool listen)
        : class_(HG_Init(info.c_str(), listen)), context_(class_ ? HG_Context_create(class_) : nullptr) {
        if (!context_) return;
        echo_ = HG_Register_name(class_, "compare.echo", proc_payload, proc_payload, serve_echo);
        pull_ = HG_Register_name(class_, "compare.pull", hg_proc_hg_bulk_t, proc_payload, serve_pull);
    }
    ~Side() {
        if (context_) (void)HG_Context_destroy(context_);
        if (class_) (void)HG_Finalize(class_);
    }
    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;

    [[nodiscard]] bool is_open() const { return context_ != nullptr; }
    [[nodiscard]] hg_class_t* hg_class() const { return class_; }
    [[nodiscard]] hg_context_t* context() const { return context_; }
    [[nodiscard]] hg_id_t echo() const { return echo_; }
    [[nodiscard]] hg_id_t pull() const { return pull_; }

    void round() const {
        unsigned int count = 0;
        (void)HG_Progress(context_, 0);
        (void)HG_Trigger(context_, 0, 64, &count);
    }
    // Empty: it has none.
    [[nodiscard]] std::string address() const {
        hg_addr_t self = HG_ADDR_NULL;
        char text[512];
        hg_size_t bytes = sizeof text;
        if (HG_Addr_self(class_, &self) != HG_SUCCESS) return {};
        const hg_return_t ret = HG_Addr_to_string(class_, text, &bytes, self);
        (void)HG_Addr_free(class_, self);
        return ret == HG_SUCCESS ? text : "";
    }

  private:
    hg_class_t* const class_;
    hg_context_t* const context_;
    hg_id_t echo_ = 0;
    hg_id_t pull_ = 0;
};

// One call in flight after the other.
class Lane {
  public:
    Lane(const Side& side, hg_addr_t to, const std::string& request, Count& count) : request_(request), count_(count) {
        if (request.size() > reply_bytes_max) memory_ = std::make_unique<Memory>(side.hg_class(), request);
        ret_ = HG_Create(side.context(), to, memory_ ? side.pull() : side.echo(), &handle_);
        if (ret_ == HG_SUCCESS) start();
    }
    ~Lane() {
        if (handle_ != HG_HANDLE_NULL) (void)HG_Destroy(handle_);
    }
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    [[nodiscard]] bool is_busy() const { return busy_; }
    [[nodiscard]] bool has_failed() const { return ret_ != HG_SUCCESS; }

  private:
    void start() {
        Payload payload{};
        hg_bulk_t lent = HG_BULK_NULL;
        void* argument = &payload;
        if (memory_) {
            lent = memory_->handle();
            argument = &lent;
        } else {
            std::memcpy(payload.bytes, request_.data(), sizeof payload.bytes);
        }
        ret_ = HG_Forward(handle_, &Lane::done, this, argument);
        busy_ = ret_ == HG_SUCCESS;
    }
    static hg_return_t done(const struct hg_cb_info* info) {
        static_cast<Lane*>(info->arg)->end(info->ret);
        return HG_SUCCESS;
    }
    void end(hg_return_t ret) {
        busy_ = false;
        Payload reply{};
        ret_ = ret == HG_SUCCESS ? HG_Get_output(handle_, &reply) : ret;
        if (ret_ != HG_SUCCESS) return;
        const bool right = is_reply({reply.bytes, sizeof reply.bytes}, request_);
        (void)HG_Free_output(handle_, &reply);
        if (!right) ret_ = HG_PROTOCOL_ERROR;
        if (!right) return;
        count_.add();
        if (count_.goes_on()) start();
    }

    const std::string& request_;
    Count& count_;
    std::unique_ptr<Memory> memory_;
    hg_handle_t handle_ = HG_HANDLE_NULL;
    hg_return_t ret_ = HG_SUCCESS;
    bool busy_ = false;
};

// "INFO,FILE"
struct Place {
    explicit Place(const std::string& text) {
        const std::size_t comma = text.rfind(',');
        if (comma == text.npos) return;
        info = text.substr(0, comma);
        file = text.substr(comma + 1);
    }
    std::string info;
    std::string file;
};

int serve(const std::string& at) {
    const Place place(at);
    const Side side(place.info, true);
    if (!side.is_open()) return fail("HG_Init", place.info.c_str());
    const std::string address = side.address();
    if (address.empty()) return fail("HG_Addr_self", "the server has no address");
    std::ofstream file(place.file);
    file << address << '\n';
    file.close();
    if (!file) return fail("write", place.file.c_str());
    tell_ready();
    for (;;) side.round();
}

int call(const std::string& at, const Calls& calls) {
    const Place place(at);
    if (calls.bytes < reply_bytes_max) return fail("usage", "a request has 64 bytes or more");
    std::string address;
    std::ifstream(place.file) >> address;
    const Side side(place.info, false);
    if (!side.is_open()) return fail("HG_Init", place.info.c_str());
    hg_addr_t to = HG_ADDR_NULL;
    if (HG_Addr_lookup2(side.hg_class(), address.c_str(), &to) != HG_SUCCESS) return fail("lookup", address.c_str());
    const std::string request = pattern(calls.bytes);
    Count count(calls.seconds);
    bool failed = false;
    {
        std::vector<std::unique_ptr<Lane>> lanes;
        for (unsigned i = 0; i < calls.depth; ++i) lanes.push_back(std::make_unique<Lane>(side, to, request, count));
        const auto is_busy = [](const std::unique_ptr<Lane>& lane) { return lane->is_busy(); };
        while (std::any_of(lanes.begin(), lanes.end(), is_busy)) side.round();
        for (const auto& lane : lanes) failed = failed || lane->has_failed();
    }
    (void)HG_Addr_free(side.hg_class(), to);
    return failed ? fail("call", "an error, or a wrong reply") : count.tell();
}

}  // namespace

int main(int argc, char** argv) { return run(argc, argv, serve, call); }
