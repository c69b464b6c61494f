// SPDX-License-Identifier: BSD-3-Clause
#include <mercury_thread.h>
#include <mercury_thread_condition.h>
#include <mercury_thread_mutex.h>
#include <mercury_thread_rwlock.h>
#include <mercury_thread_spin.h>

#include <ctime>

namespace {

// Converts an error number of pthreads to Mercury's return value.
int result(int error) { return error == 0 ? HG_UTIL_SUCCESS : HG_UTIL_FAIL; }

int init_mutex(hg_thread_mutex_t* mutex, int type) {
    pthread_mutexattr_t attributes;
    if (pthread_mutexattr_init(&attributes) != 0) return HG_UTIL_FAIL;
    const bool typed = pthread_mutexattr_settype(&attributes, type) == 0;
    const int error = typed ? pthread_mutex_init(mutex, &attributes) : -1;
    (void)pthread_mutexattr_destroy(&attributes);
    return result(error);
}

}  // namespace

void hg_thread_init(hg_thread_t* thread) { *thread = 0; }

int hg_thread_create(hg_thread_t* thread, hg_thread_func_t f, void* data) {
    return result(pthread_create(thread, nullptr, f, data));
}

void hg_thread_exit(hg_thread_ret_t ret) { pthread_exit(ret); }

int hg_thread_join(hg_thread_t thread) { return result(pthread_join(thread, nullptr)); }

int hg_thread_cancel(hg_thread_t thread) { return result(pthread_cancel(thread)); }

int hg_thread_yield(void) { return result(sched_yield()); }

int hg_thread_key_create(hg_thread_key_t* key) { return result(pthread_key_create(key, nullptr)); }

int hg_thread_key_delete(hg_thread_key_t key) { return result(pthread_key_delete(key)); }

int hg_thread_getaffinity(hg_thread_t thread, hg_cpu_set_t* cpu_mask) {
    return result(pthread_getaffinity_np(thread, sizeof(*cpu_mask), cpu_mask));
}

int hg_thread_setaffinity(hg_thread_t thread, const hg_cpu_set_t* cpu_mask) {
    return result(pthread_setaffinity_np(thread, sizeof(*cpu_mask), cpu_mask));
}

int hg_thread_mutex_init(hg_thread_mutex_t* mutex) { return init_mutex(mutex, PTHREAD_MUTEX_NORMAL); }

int hg_thread_mutex_init_fast(hg_thread_mutex_t* mutex) { return init_mutex(mutex, PTHREAD_MUTEX_ADAPTIVE_NP); }

int hg_thread_mutex_destroy(hg_thread_mutex_t* mutex) { return result(pthread_mutex_destroy(mutex)); }

int hg_thread_cond_init(hg_thread_cond_t* cond) {
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0) return HG_UTIL_FAIL;
    const bool clocked = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0;
    const int error = clocked ? pthread_cond_init(cond, &attributes) : -1;
    (void)pthread_condattr_destroy(&attributes);
    return result(error);
}

int hg_thread_cond_destroy(hg_thread_cond_t* cond) { return result(pthread_cond_destroy(cond)); }

int hg_thread_rwlock_init(hg_thread_rwlock_t* rwlock) { return result(pthread_rwlock_init(rwlock, nullptr)); }

int hg_thread_rwlock_destroy(hg_thread_rwlock_t* rwlock) { return result(pthread_rwlock_destroy(rwlock)); }

int hg_thread_spin_init(hg_thread_spin_t* lock) { return result(pthread_spin_init(lock, PTHREAD_PROCESS_PRIVATE)); }

int hg_thread_spin_destroy(hg_thread_spin_t* lock) { return result(pthread_spin_destroy(lock)); }
