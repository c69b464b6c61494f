// SPDX-License-Identifier: BSD-3-Clause
// A program in Mercury's manner, both sides in one process: forward, respond, bulk pull, reset, cancel.
#include "mercury_slice.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace {

struct SumIn {
    int32_t a;
    int32_t b;
};
hg_return_t proc_sum_in(hg_proc_t proc, void* data) { return hg_proc_bytes(proc, data, sizeof(SumIn)); }
hg_return_t proc_int(hg_proc_t proc, void* data) { return hg_proc_bytes(proc, data, sizeof(int32_t)); }
hg_return_t proc_bulk(hg_proc_t proc, void* data) { return hg_proc_hg_bulk_t(proc, data); }

hg_return_t serve_sum(hg_handle_t handle) {
    SumIn in{};
    EXPECT_EQ(HG_Get_input(handle, &in), HG_SUCCESS);
    int32_t out = in.a + in.b;
    EXPECT_EQ(HG_Respond(handle, nullptr, nullptr, &out), HG_SUCCESS);
    return HG_Destroy(handle);
}

struct Pull {
    hg_handle_t handle = nullptr;
    hg_bulk_t origin = nullptr;
    hg_bulk_t local = nullptr;
    std::vector<char> memory;
};
hg_return_t pulled(const hg_cb_info* info) {
    auto* pull = static_cast<Pull*>(info->arg);
    int32_t sum = info->ret == HG_SUCCESS ? 0 : -1;
    for (const char byte : pull->memory) sum += byte;
    EXPECT_EQ(HG_Respond(pull->handle, nullptr, nullptr, &sum), HG_SUCCESS);
    HG_Bulk_free(pull->origin);
    HG_Bulk_free(pull->local);
    HG_Destroy(pull->handle);
    delete pull;
    return HG_SUCCESS;
}
hg_return_t serve_pull(hg_handle_t handle) {
    auto* pull = new Pull;
    pull->handle = handle;
    EXPECT_EQ(HG_Get_input(handle, &pull->origin), HG_SUCCESS);
    pull->memory.resize(HG_Bulk_get_size(pull->origin));
    void* buffer = pull->memory.data();
    const hg_size_t bytes = pull->memory.size();
    const hg_info* info = HG_Get_info(handle);
    EXPECT_EQ(HG_Bulk_create(info->hg_class, 1, &buffer, &bytes, HG_BULK_WRITE_ONLY, &pull->local), HG_SUCCESS);
    return HG_Bulk_transfer(info->context, pulled, pull, HG_BULK_PULL, info->addr, pull->origin, 0, pull->local, 0,
                            bytes);
}

hg_handle_t held_handle = nullptr;
hg_return_t serve_never(hg_handle_t handle) {
    held_handle = handle;
    return HG_SUCCESS;
}

struct Seen {
    int count = 0;
    hg_return_t result = HG_OTHER_ERROR;
    int32_t out = 0;
};
hg_return_t take_int(const hg_cb_info* info) {
    auto* seen = static_cast<Seen*>(info->arg);
    ++seen->count;
    seen->result = info->ret;
    if (info->ret == HG_SUCCESS) {
        EXPECT_EQ(HG_Get_output(info->handle, &seen->out), HG_SUCCESS);
    }
    return HG_SUCCESS;
}

class MercurySlice : public ::testing::Test {
  protected:
    void SetUp() override {
        server_ = HG_Init("tcp://127.0.0.1:0", 1);
        client_ = HG_Init("tcp://127.0.0.1:0", 0);
        ASSERT_TRUE(server_ && client_);
        server_context_ = HG_Context_create(server_);
        client_context_ = HG_Context_create(client_);
        for (hg_class_t* each : {server_, client_}) {
            sum_ = HG_Register_name(each, "sum", proc_sum_in, proc_int, each == server_ ? serve_sum : nullptr);
            pull_ = HG_Register_name(each, "pull", proc_bulk, proc_int, each == server_ ? serve_pull : nullptr);
            never_ = HG_Register_name(each, "never", nullptr, nullptr, each == server_ ? serve_never : nullptr);
        }
        hg_addr_t self = nullptr;
        ASSERT_EQ(HG_Addr_self(server_, &self), HG_SUCCESS);
        char text[256];
        hg_size_t bytes = sizeof text;
        ASSERT_EQ(HG_Addr_to_string(server_, text, &bytes, self), HG_SUCCESS);
        HG_Addr_free(server_, self);
        ASSERT_EQ(HG_Addr_lookup2(client_, text, &to_), HG_SUCCESS);
    }
    void TearDown() override {
        HG_Addr_free(client_, to_);
        EXPECT_EQ(HG_Finalize(client_), HG_BUSY);
        HG_Context_destroy(client_context_);
        HG_Context_destroy(server_context_);
        EXPECT_EQ(HG_Finalize(client_), HG_SUCCESS);
        EXPECT_EQ(HG_Finalize(server_), HG_SUCCESS);
    }
    bool until(const std::function<bool()>& done) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!done() && std::chrono::steady_clock::now() < end) {
            for (hg_context_t* context : {client_context_, server_context_}) {
                unsigned count = 0;
                (void)HG_Progress(context, 0);
                while (HG_Trigger(context, 0, 1, &count) == HG_SUCCESS && count != 0) {
                }
            }
        }
        return done();
    }
    hg_class_t* server_ = nullptr;
    hg_class_t* client_ = nullptr;
    hg_context_t* server_context_ = nullptr;
    hg_context_t* client_context_ = nullptr;
    hg_addr_t to_ = nullptr;
    hg_id_t sum_ = 0;
    hg_id_t pull_ = 0;
    hg_id_t never_ = 0;
};

TEST_F(MercurySlice, ForwardsRespondsAndResets) {
    hg_handle_t handle = nullptr;
    ASSERT_EQ(HG_Create(client_context_, nullptr, 0, &handle), HG_SUCCESS) << "an address may come with the reset";
    ASSERT_EQ(HG_Reset(handle, to_, sum_), HG_SUCCESS);
    for (int32_t i = 0; i < 3; ++i) {
        Seen seen;
        SumIn in{i, 40};
        ASSERT_EQ(HG_Forward(handle, take_int, &seen, &in), HG_SUCCESS);
        ASSERT_TRUE(until([&] { return seen.count == 1; }));
        EXPECT_EQ(seen.result, HG_SUCCESS);
        EXPECT_EQ(seen.out, 40 + i);
        ASSERT_EQ(HG_Reset(handle, to_, sum_), HG_SUCCESS);
    }
    HG_Destroy(handle);
}

TEST_F(MercurySlice, PullsABulkHandleOfManySegments) {
    std::vector<char> first(100'000, 1);
    std::vector<char> second(30'000, 2);
    void* buffers[] = {first.data(), second.data()};
    const hg_size_t sizes[] = {first.size(), second.size()};
    hg_bulk_t bulk = nullptr;
    ASSERT_EQ(HG_Bulk_create(client_, 2, buffers, sizes, HG_BULK_READ_ONLY, &bulk), HG_SUCCESS);
    ASSERT_EQ(HG_Bulk_bind(bulk, client_context_), HG_SUCCESS);
    hg_handle_t handle = nullptr;
    ASSERT_EQ(HG_Create(client_context_, to_, pull_, &handle), HG_SUCCESS);
    Seen seen;
    ASSERT_EQ(HG_Forward(handle, take_int, &seen, &bulk), HG_SUCCESS);
    ASSERT_TRUE(until([&] { return seen.count == 1; }));
    EXPECT_EQ(seen.out, 100'000 + 60'000);
    HG_Bulk_free(bulk);
    HG_Destroy(handle);
}

TEST_F(MercurySlice, CancelEndsOnceAndDestroyInFlightIsSafe) {
    hg_handle_t handle = nullptr;
    ASSERT_EQ(HG_Create(client_context_, to_, never_, &handle), HG_SUCCESS);
    Seen seen;
    ASSERT_EQ(HG_Forward(handle, take_int, &seen, nullptr), HG_SUCCESS);
    ASSERT_TRUE(until([&] { return held_handle != nullptr; }));
    EXPECT_EQ(HG_Reset(handle, to_, never_), HG_BUSY);
    ASSERT_EQ(HG_Cancel(handle), HG_SUCCESS);
    HG_Destroy(handle);
    ASSERT_TRUE(until([&] { return seen.count == 1; }));
    EXPECT_EQ(seen.result, HG_CANCELED);
    HG_Destroy(held_handle);
    held_handle = nullptr;
}

}  // namespace
