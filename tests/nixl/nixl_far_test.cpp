// SPDX-License-Identifier: BSD-3-Clause
// Files and the memory of a device as memory of agents, with a driver that is made up.
#include "far/far_fixture.hpp"
#include "far/gpu_device.hpp"
#include "nixl/src/engine.hpp"
#include "support/patterns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace cinnabar::nixl {
namespace {

using test::Gpu;
using test::GpuMemory;
using test::PatternFile;

constexpr std::size_t bytes_each = std::size_t{1} << 20;

class NixlFar : public testing::TestWithParam<std::string> {
  protected:
    using Pieces = std::vector<std::array<std::size_t, 3>>;  // offset here, offset there, bytes

    // Memory that the first agent uses, or that the second one shows to the first.
    struct Memory {
        Memory(Engine& registers, Engine& uses, nixl_mem_t of, std::uintptr_t address, std::uint64_t device)
            : owner(registers), user(uses), kind(of) {
            desc.addr = address;
            desc.len = bytes_each;
            desc.devId = device;
            EXPECT_EQ(owner.registerMem(desc, kind, local), NIXL_SUCCESS);
            EXPECT_EQ(owner.getPublicData(local, desc.metaInfo), NIXL_SUCCESS);
            if (&owner != &user) {
                EXPECT_EQ(user.loadRemoteMD(desc, kind, "second", remote), NIXL_SUCCESS);
            }
        }
        ~Memory() {
            if (remote) {
                EXPECT_EQ(user.unloadMD(remote), NIXL_SUCCESS);
            }
            EXPECT_EQ(owner.deregisterMem(local), NIXL_SUCCESS);
        }
        Memory(const Memory&) = delete;
        Memory& operator=(const Memory&) = delete;

        [[nodiscard]] nixlMetaDesc piece(std::size_t offset, std::size_t bytes) const {
            nixlMetaDesc made;
            made.addr = desc.addr + offset;
            made.len = bytes;
            made.devId = desc.devId;
            made.metadataP = remote ? remote : local;
            return made;
        }
        Engine& owner;
        Engine& user;
        const nixl_mem_t kind;
        nixlBlobDesc desc;
        nixlBackendMD* local = nullptr;
        nixlBackendMD* remote = nullptr;
    };

    void SetUp() override {
        std::string address;
        ASSERT_EQ(second_->getConnInfo(address), NIXL_SUCCESS);
        ASSERT_EQ(first_->loadRemoteConnInfo("second", address), NIXL_SUCCESS);
    }
    [[nodiscard]] std::unique_ptr<Memory> host(std::vector<std::byte>& memory, bool of_first) {
        return made(DRAM_SEG, reinterpret_cast<std::uintptr_t>(memory.data()), 0, of_first);
    }
    [[nodiscard]] std::unique_ptr<Memory> file(const PatternFile& file, bool of_first) {
        return made(FILE_SEG, 0, static_cast<std::uint64_t>(file.fd()), of_first);
    }
    [[nodiscard]] std::unique_ptr<Memory> device(const GpuMemory& memory, bool of_first) {
        return made(VRAM_SEG, reinterpret_cast<std::uintptr_t>(memory.address()), 0, of_first);
    }
    nixl_status_t move(nixl_xfer_op_t op, const Memory& here, const Memory& there, const Pieces& pieces) {
        nixl_meta_dlist_t local(here.kind);
        nixl_meta_dlist_t remote(there.kind);
        for (const auto& [at, from, bytes] : pieces) {
            local.addDesc(here.piece(at, bytes));
            remote.addDesc(there.piece(from, bytes));
        }
        nixlBackendReqH* handle = nullptr;
        const nixl_status_t prepared = first_->prepXfer(op, local, remote, "second", handle, nullptr);
        if (prepared != NIXL_SUCCESS) return prepared;
        EXPECT_EQ(first_->postXfer(op, local, remote, "second", handle, nullptr), NIXL_IN_PROG);
        const auto end = std::chrono::steady_clock::now() + 30s;  // for as long as a busy machine may take
        while (first_->checkXfer(handle) == NIXL_IN_PROG && std::chrono::steady_clock::now() < end)
            std::this_thread::yield();
        const nixl_status_t status = first_->checkXfer(handle);
        EXPECT_EQ(first_->releaseReqH(handle), NIXL_SUCCESS);
        return status;
    }
    // Blocks of one size, and pieces of all sizes.
    static const std::vector<Pieces>& lists() {
        static const std::vector<Pieces> both{
            Pieces{{4096, 0, 4096}, {16384, 8192, 4096}, {40960, 4096, 4096}},
            Pieces{{7, 100'000, 1}, {9, 200'000, 300'000}, {400'000, 17, 4096}},
        };
        return both;
    }
    // Whether the pieces are equal.
    static void expect_same(const std::vector<std::byte>& here, const std::vector<std::byte>& there,
                            const Pieces& pieces) {
        for (const auto& [at, from, bytes] : pieces)
            EXPECT_TRUE(std::ranges::equal(std::span(here).subspan(at, bytes), std::span(there).subspan(from, bytes)))
                << bytes;
    }

    static std::unique_ptr<Engine> agent(const std::string& name) {
        nixl_b_params_t options{{"listen", GetParam()}};
        nixlBackendInitParams params;
        params.localAgent = name;
        params.type = Engine::name;
        params.customParams = &options;
        auto made = std::make_unique<Engine>(&params);
        EXPECT_FALSE(made->getInitErr());
        return made;
    }

  private:
    [[nodiscard]] std::unique_ptr<Memory> made(nixl_mem_t kind, std::uintptr_t address, std::uint64_t device_or_file,
                                               bool of_first) {
        return std::make_unique<Memory>(of_first ? *first_ : *second_, *first_, kind, address, device_or_file);
    }
    std::unique_ptr<Engine> first_ = agent("first");
    std::unique_ptr<Engine> second_ = agent("second");
};

TEST_P(NixlFar, AFileOfTheOtherAgentIsReadAndWritten) {
    const PatternFile there(bytes_each, 1);
    std::vector<std::byte> memory(bytes_each);
    const auto here = host(memory, true), file = this->file(there, false);
    for (const Pieces& pieces : lists()) {
        support::fill_pattern(memory, 2);
        EXPECT_EQ(move(NIXL_READ, *here, *file, pieces), NIXL_SUCCESS);
        expect_same(memory, there.bytes(), pieces);
        support::fill_pattern(memory, 3);
        EXPECT_EQ(move(NIXL_WRITE, *here, *file, pieces), NIXL_SUCCESS);
        expect_same(memory, there.bytes(), pieces);
    }
}

TEST_P(NixlFar, AFileOfThisAgentIsReadIntoAndWrittenFrom) {
    const PatternFile here(bytes_each, 1);
    std::vector<std::byte> memory(bytes_each);
    const auto file = this->file(here, true), there = host(memory, false);
    for (const Pieces& pieces : lists()) {
        support::fill_pattern(memory, 2);
        EXPECT_EQ(move(NIXL_READ, *file, *there, pieces), NIXL_SUCCESS);
        expect_same(here.bytes(), memory, pieces);
        support::fill_pattern(memory, 3);
        EXPECT_EQ(move(NIXL_WRITE, *file, *there, pieces), NIXL_SUCCESS);
        expect_same(here.bytes(), memory, pieces);
    }
}

TEST_P(NixlFar, AFileThatIsOpenForReadingIsNotWritten) {
    const PatternFile there(bytes_each, 1, O_RDONLY);
    std::vector<std::byte> memory(bytes_each);
    const auto here = host(memory, true), file = this->file(there, false);
    EXPECT_EQ(move(NIXL_WRITE, *here, *file, {{0, 0, 4096}}), NIXL_ERR_NOT_ALLOWED);
    EXPECT_EQ(move(NIXL_READ, *here, *file, {{0, 0, 4096}}), NIXL_SUCCESS);
    expect_same(memory, there.bytes(), {{0, 0, 4096}});
}

TEST_P(NixlFar, WhatIsNoFileIsNotRegistered) {
    nixlBackendMD* out = nullptr;
    nixlBlobDesc desc;
    desc.len = bytes_each;
    desc.devId = ~std::uint64_t{0};
    const auto engine = agent("third");
    EXPECT_EQ(engine->registerMem(desc, FILE_SEG, out), NIXL_ERR_INVALID_PARAM);
    EXPECT_EQ(out, nullptr);
}

TEST_P(NixlFar, MemoryOfADeviceIsMovedOnEitherSide) {
    Gpu gpu;
    ASSERT_TRUE(gpu.is_here());
    GpuMemory on_device(gpu, bytes_each), of_other(gpu, bytes_each);
    std::vector<std::byte> content(bytes_each), memory(bytes_each);
    const auto here = device(on_device, true), there = device(of_other, false), near = host(memory, true);
    for (const Pieces& pieces : lists()) {
        support::fill_pattern(content, 4);
        of_other.write(content);
        EXPECT_EQ(move(NIXL_READ, *near, *there, pieces), NIXL_SUCCESS);
        expect_same(memory, content, pieces);
        EXPECT_EQ(move(NIXL_READ, *here, *there, pieces), NIXL_SUCCESS);
        expect_same(on_device.read(), content, pieces);
        support::fill_pattern(content, 5);
        on_device.write(content);
        EXPECT_EQ(move(NIXL_WRITE, *here, *there, pieces), NIXL_SUCCESS);
        expect_same(content, of_other.read(), pieces);
    }
}

INSTANTIATE_TEST_SUITE_P(Over, NixlFar, testing::Values("tcp://127.0.0.1:0", "shm://"),
                         [](const auto& each) { return each.param.substr(0, each.param.find(':')); });

}  // namespace
}  // namespace cinnabar::nixl
