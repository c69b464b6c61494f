// SPDX-License-Identifier: BSD-3-Clause
#include <mercury_request.h>
#include <mercury_time.h>

#include <algorithm>
#include <new>

struct hg_request_class {
    hg_request_progress_func_t progress;
    hg_request_trigger_func_t trigger;
    void* arg;
};

namespace {

// The longest time that one call of progress may wait. The time is short because another thread may run the callback
// that this thread waits for, without waking this thread.
constexpr unsigned progress_ms_max = 100;

void trigger_all(const hg_request_class& requests) {
    unsigned flag = 1;
    while (flag != 0) {
        flag = 0;
        if (requests.trigger(0, &flag, requests.arg) != HG_UTIL_SUCCESS) return;
    }
}

}  // namespace

hg_request_class_t* hg_request_init(hg_request_progress_func_t progress, hg_request_trigger_func_t trigger, void* arg) {
    return new (std::nothrow) hg_request_class{progress, trigger, arg};
}

void hg_request_finalize(hg_request_class_t* request_class, void** arg) {
    if (request_class != nullptr && arg != nullptr) *arg = request_class->arg;
    delete request_class;
}

hg_request_t* hg_request_create(hg_request_class_t* request_class) {
    return new (std::nothrow) hg_request{request_class, nullptr, 0};
}

void hg_request_destroy(hg_request_t* request) { delete request; }

int hg_request_wait(hg_request_t* request, unsigned int timeout, unsigned int* flag) {
    const hg_request_class& requests = *request->request_class;
    hg_time_t now;
    if (hg_time_get_current(&now) != HG_UTIL_SUCCESS) return HG_UTIL_FAIL;
    const hg_time_t deadline = hg_time_add(now, hg_time_from_ms(timeout));
    bool completed = false;
    for (bool last = false; !completed && !last;) {
        trigger_all(requests);
        completed = hg_atomic_get32(&request->completed) != 0;
        if (completed) break;
        last = !hg_time_less(now, deadline);
        const unsigned left_ms = last ? 0 : hg_time_to_ms(hg_time_subtract(deadline, now));
        (void)requests.progress(std::min(left_ms, progress_ms_max), requests.arg);
        (void)hg_time_get_current(&now);
    }
    if (flag != nullptr) *flag = completed ? 1 : 0;
    return HG_UTIL_SUCCESS;
}
