// SPDX-License-Identifier: BSD-3-Clause
#include <cinnabar/base/background.hpp>

#include <pthread.h>
#include <signal.h>

namespace cinnabar {

bool run_in_background(void* (*body)(void* user), void* user) noexcept {
    sigset_t all;
    sigset_t before;
    (void)::sigfillset(&all);
    (void)::pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread{};
    const bool runs = ::pthread_create(&thread, nullptr, body, user) == 0;
    (void)::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (runs) (void)::pthread_detach(thread);
    return runs;
}

}  // namespace cinnabar
