/* SPDX-License-Identifier: BSD-3-Clause */
#include "check.h"

#include <mercury_request.h>
#include <mercury_thread.h>
#include <mercury_time.h>

/* A network whose callbacks become ready after that many rounds of progress. */
struct Network {
    int rounds_to_go;
    int callbacks; /* ready to be triggered */
    int triggered;
    unsigned int timeout_max;
    hg_request_t* request;
};

static int progress(unsigned int timeout, void* arg) {
    struct Network* network = (struct Network*)arg;
    if (timeout > network->timeout_max) network->timeout_max = timeout;
    if (network->rounds_to_go == 0 || --network->rounds_to_go > 0) return HG_UTIL_FAIL;
    network->callbacks = 3;
    return HG_UTIL_SUCCESS;
}

static int trigger(unsigned int timeout, unsigned int* flag, void* arg) {
    struct Network* network = (struct Network*)arg;
    CHECK(timeout == 0);
    *flag = network->callbacks > 0;
    if (*flag == 0) return HG_UTIL_FAIL;
    ++network->triggered;
    if (--network->callbacks == 0) hg_request_complete(network->request);
    return HG_UTIL_SUCCESS;
}

static void waits_until_the_callback_ran(void) {
    struct Network network = {5, 0, 0, 0, NULL};
    hg_request_class_t* requests = hg_request_init(progress, trigger, &network);
    hg_request_t* request = hg_request_create(requests);
    unsigned int flag = 7;
    void* arg = NULL;
    CHECK(requests != NULL && request != NULL);
    network.request = request;
    hg_request_set_data(request, &network);
    CHECK(hg_request_get_data(request) == &network);
    CHECK(hg_request_wait(request, 60000, &flag) == HG_UTIL_SUCCESS && flag == 1);
    CHECK(network.triggered == 3 && network.rounds_to_go == 0 && network.timeout_max <= 100);
    CHECK(hg_request_wait(request, 0, NULL) == HG_UTIL_SUCCESS);

    hg_request_reset(request);
    CHECK(hg_request_wait(request, 0, &flag) == HG_UTIL_SUCCESS && flag == 0);
    hg_request_destroy(request);
    hg_request_finalize(requests, &arg);
    CHECK(arg == &network);
    hg_request_finalize(NULL, &arg);
}

static void no_time_is_one_round(void) {
    struct Network network = {1, 0, 0, 0, NULL};
    hg_request_class_t* requests = hg_request_init(progress, trigger, &network);
    unsigned int flag = 0;
    network.request = hg_request_create(requests);
    CHECK(hg_request_wait(network.request, 0, &flag) == HG_UTIL_SUCCESS);
    CHECK(network.callbacks + network.triggered == 3 && network.timeout_max == 0);
    hg_request_destroy(network.request);
    hg_request_finalize(requests, NULL);
}

static void gives_up_in_time(void) {
    struct Network network = {0, 0, 0, 0, NULL};
    hg_request_class_t* requests = hg_request_init(progress, trigger, &network);
    hg_request_t* both[2];
    hg_time_t before, after;
    unsigned int flag = 7;
    both[0] = hg_request_create(requests);
    both[1] = hg_request_create(requests);
    CHECK(hg_time_get_current(&before) == HG_UTIL_SUCCESS);
    CHECK(hg_request_wait(both[0], 30, &flag) == HG_UTIL_SUCCESS && flag == 0);
    CHECK(hg_time_get_current(&after) == HG_UTIL_SUCCESS && hg_time_diff(after, before) >= 0.03);
    CHECK(network.timeout_max > 0 && network.timeout_max <= 30);
    hg_request_complete(both[0]);
    CHECK(hg_request_waitall(2, both, 1, &flag) == HG_UTIL_SUCCESS && flag == 0);
    hg_request_complete(both[1]);
    CHECK(hg_request_waitall(2, both, 1, &flag) == HG_UTIL_SUCCESS && flag == 1);
    hg_request_destroy(both[0]);
    hg_request_destroy(both[1]);
    hg_request_finalize(requests, NULL);
}

static void* complete(void* request) {
    hg_request_complete((hg_request_t*)request);
    return NULL;
}

static void other_threads_complete(void) {
    struct Network network = {0, 0, 0, 0, NULL};
    hg_request_class_t* requests = hg_request_init(progress, trigger, &network);
    hg_request_t* request = hg_request_create(requests);
    hg_thread_t thread;
    unsigned int flag = 0;
    CHECK(hg_thread_create(&thread, complete, request) == HG_UTIL_SUCCESS);
    CHECK(hg_request_wait(request, 60000, &flag) == HG_UTIL_SUCCESS && flag == 1);
    CHECK(hg_thread_join(thread) == HG_UTIL_SUCCESS);
    hg_request_destroy(request);
    hg_request_finalize(requests, NULL);
}

int main(void) {
    waits_until_the_callback_ran();
    no_time_is_one_round();
    gives_up_in_time();
    other_threads_complete();
    return EXIT_SUCCESS;
}
