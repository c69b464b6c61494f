// SPDX-License-Identifier: BSD-3-Clause
#include "exchange.hpp"

#include <pmix.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdlib>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

namespace cinnabar::group {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t processes_max = 65'536;
constexpr std::size_t address_bytes_max = 16'384;  // an address, or the line of an Announcement
constexpr std::string_view too_late = "not all processes of the job came in time: GroupOptions::join_time";

Error failed(std::string_view function, pmix_status_t status) {
    if (status == PMIX_ERR_TIMEOUT) return Error(Errc::timed_out, too_late, std::string(function));
    std::string what(function);
    what.append(": ").append(::PMIx_Error_string(status));
    return Error(Errc::io, "PMIx failed", std::move(what));
}

// The seconds from now until `end`. PMIx takes 0 as no limit.
int seconds_until(Clock::time_point end) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(end - Clock::now()).count();
    return static_cast<int>(std::clamp<decltype(left)>(left, 1, std::numeric_limits<int>::max()));
}

pmix_info_t info_of(std::string_view key) {
    pmix_info_t info{};
    (void)key.copy(info.key, PMIX_MAX_KEYLEN);
    return info;
}
pmix_info_t flag_of(std::string_view key) {
    pmix_info_t info = info_of(key);
    info.value.type = PMIX_BOOL;
    info.value.data.flag = true;
    return info;
}
pmix_info_t limit_of(Clock::time_point end) {
    pmix_info_t info = info_of(PMIX_TIMEOUT);
    info.value.type = PMIX_INT;
    info.value.data.integer = seconds_until(end);
    return info;
}

struct ReleaseValue {
    void operator()(pmix_value_t* value) const noexcept { PMIX_VALUE_RELEASE(value); }
};
using Value = std::unique_ptr<pmix_value_t, ReleaseValue>;

// The outcome of a fence. Shared, because PMIx may still report it when no call waits any longer.
struct Fence {
    std::mutex mutex;
    std::condition_variable ended;
    std::optional<pmix_status_t> status;
};

void on_fence(pmix_status_t status, void* user) noexcept {
    const std::unique_ptr<std::shared_ptr<Fence>> fence(static_cast<std::shared_ptr<Fence>*>(user));
    const std::lock_guard lock((*fence)->mutex);
    (*fence)->status = status;
    (*fence)->ended.notify_all();
}

// PMIx, initialized for as long as this object lives. PMIx counts how often it is initialized.
class Session {
  public:
    Session() = default;
    ~Session() {
        if (open_) (void)::PMIx_Finalize(nullptr, 0);
    }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    Result<void> open() {
        const bool launched = std::getenv("PMIX_NAMESPACE") != nullptr;
        const Error not_launched(Errc::not_found,
                                 "no PMIx launcher started this process: use mpirun, prun or srun --mpi=pmix");
        // Without a launcher a first PMIx_Init fails and leaves a thread behind.
        if (!launched && ::PMIx_Initialized() == 0) return not_launched;
        const pmix_status_t status = ::PMIx_Init(&self_, nullptr, 0);
        open_ = status == PMIX_SUCCESS;
        if (open_) return {};
        // Not finalized: libpmix 4.2 accesses freed memory if PMIx_Finalize follows a PMIx_Init that failed.
        return launched ? failed("PMIx_Init", status) : not_launched;
    }

    [[nodiscard]] std::string run() const { return self_.nspace; }
    [[nodiscard]] Rank rank() const noexcept { return self_.rank; }

    Result<std::uint32_t> size() const {
        CINNABAR_TRY(const Value value, get(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, {}));
        if (value->type != PMIX_UINT32) return failed("PMIX_JOB_SIZE", PMIX_ERR_TYPE_MISMATCH);
        if (value->data.uint32 <= self_.rank) return failed("PMIX_JOB_SIZE", PMIX_ERR_BAD_PARAM);
        if (value->data.uint32 > processes_max)
            return Error(Errc::too_large, "a group has at most 65,536 members from the start", run());
        return value->data.uint32;
    }

    static Result<void> put(const std::string& key, std::string text) {
        pmix_value_t value{};
        value.type = PMIX_STRING;
        value.data.string = text.data();
        if (const pmix_status_t status = ::PMIx_Put(PMIX_GLOBAL, key.c_str(), &value); status != PMIX_SUCCESS)
            return failed("PMIx_Put", status);
        if (const pmix_status_t status = ::PMIx_Commit(); status != PMIX_SUCCESS) return failed("PMIx_Commit", status);
        return {};
    }

    // Waits until all processes of the job have called fence(). A process may finalize PMIx after an earlier exchange
    // when others have begun this one already; the server then counts that process as gone, and ends the fence with a
    // partial success. So the fence is repeated.
    Result<void> fence(Clock::time_point end) const {
        for (;;) {
            const pmix_status_t status = fence_once(end);
            if (status == PMIX_SUCCESS) return {};
            if (status != PMIX_ERR_PARTIAL_SUCCESS || Clock::now() >= end) return failed("PMIx_Fence_nb", status);
        }
    }

    // Begins a fence and returns its PMIx status. The server is told to end the fence at `end`; if the server does not,
    // this side gives up a second later.
    pmix_status_t fence_once(Clock::time_point end) const {
        const pmix_proc_t everybody = process(PMIX_RANK_WILDCARD);
        const std::array<pmix_info_t, 2> wanted{flag_of(PMIX_COLLECT_DATA), limit_of(end)};
        auto fence = std::make_shared<Fence>();
        auto held = std::make_unique<std::shared_ptr<Fence>>(fence);
        const pmix_status_t status = ::PMIx_Fence_nb(&everybody, 1, wanted.data(), wanted.size(), on_fence, held.get());
        if (status == PMIX_OPERATION_SUCCEEDED) return PMIX_SUCCESS;
        if (status != PMIX_SUCCESS) return status;
        (void)held.release();
        std::unique_lock lock(fence->mutex);
        const auto until = std::max(end, Clock::now()) + std::chrono::seconds(1);
        if (!fence->ended.wait_until(lock, until, [&] { return fence->status.has_value(); })) return PMIX_ERR_TIMEOUT;
        // Processes that counted as left may be about to initialize PMIx again.
        if (*fence->status == PMIX_ERR_PARTIAL_SUCCESS)
            (void)fence->ended.wait_for(lock, std::chrono::milliseconds(10), [] { return false; });
        return *fence->status;
    }

    Result<std::string> address_of(Rank rank, const std::string& key, Clock::time_point end) const {
        Result<Value> value = get(rank, key, end);
        const bool sound = value && (*value)->type == PMIX_STRING && (*value)->data.string != nullptr;
        if (!value && value.code() != Errc::not_found) return std::move(value).error();
        if (!sound)
            return Error(
                Errc::invalid_argument,
                "a process has no address for this group: all must call with the same name, provider and order",
                "rank " + std::to_string(rank));
        std::string address = (*value)->data.string;
        if (!address.empty() && address.size() <= address_bytes_max) return address;
        return Error(Errc::protocol, "a process has put something that is no address", "rank " + std::to_string(rank));
    }

  private:
    [[nodiscard]] pmix_proc_t process(pmix_rank_t rank) const {
        pmix_proc_t process = self_;
        process.rank = rank;
        return process;
    }

    // not_found: there is no such value.
    Result<Value> get(pmix_rank_t rank, const std::string& key, std::optional<Clock::time_point> end) const {
        const pmix_proc_t from = process(rank);
        std::array<pmix_info_t, 2> wanted{flag_of(PMIX_IMMEDIATE), {}};
        if (end) wanted[1] = limit_of(*end);
        pmix_value_t* found = nullptr;
        const pmix_status_t status = ::PMIx_Get(&from, key.c_str(), wanted.data(), end ? 2 : 0, &found);
        Value value(found);
        if (status == PMIX_ERR_NOT_FOUND) return Error(Errc::not_found, "PMIx has no such value", key);
        if (status != PMIX_SUCCESS) return failed("PMIx_Get", status);
        if (!value) return failed("PMIx_Get", PMIX_ERR_BAD_PARAM);
        return value;
    }

    pmix_proc_t self_{};
    bool open_ = false;
};

Result<PmixJob> exchange_in(Session& session, const std::string& key, const std::string& address,
                            Clock::time_point end) {
    CINNABAR_TRY_VOID(session.open());
    PmixJob job;
    job.run = session.run();
    job.roster.self = session.rank();
    auto size = session.size();
    if (size.code() == Errc::not_found) return failed("PMIX_JOB_SIZE", PMIX_ERR_NOT_FOUND);
    if (!size) return std::move(size).error();
    CINNABAR_TRY_VOID(Session::put(key, address));
    CINNABAR_TRY_VOID(session.fence(end));
    job.roster.addresses.reserve(*size);
    for (Rank rank = 0; rank < *size; ++rank) {
        CINNABAR_TRY(std::string found, session.address_of(rank, key, end));
        job.roster.addresses.push_back(std::move(found));
    }
    return job;
}

}  // namespace

Result<PmixJob> exchange_addresses(const std::string& group, const std::string& address, std::chrono::seconds limit) {
    static std::mutex one_at_a_time;  // PMIx matches the fences of a job by their order
    static std::uint64_t exchanges = 0;
    const std::unique_lock lock(one_at_a_time, std::try_to_lock);
    if (!lock)
        return Error(Errc::busy,
                     "another exchange by PMIx has not ended: make them one after the other, in the same "
                     "order in all processes");
    // A separate key for each exchange: PMIx keeps earlier values, and may return them again.
    const std::string key = "cinnabar.group." + std::to_string(exchanges++) + '.' + group;
    Session session;
    return exchange_in(session, key, address, Clock::now() + limit);
}

}  // namespace cinnabar::group
