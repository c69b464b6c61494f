// SPDX-License-Identifier: BSD-3-Clause
// The ways in which providers require local memory to be registered. Providers that bind memory to an endpoint need
// hardware: a fake domain that records its calls stands in for them.
#include "registrar.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

namespace cinnabar::ofi {
namespace {

constexpr std::uint64_t providers_key = 0x5eed;

class HandMadeDomain {
  public:
    HandMadeDomain() {
        domain_.self = this;
        domain_.mr = &registering_;
        registering_.size = sizeof registering_;
        registering_.reg = &HandMadeDomain::add;
        of_memory_.size = sizeof of_memory_;
        of_memory_.close = [](fid* it) {
            auto* const memory = reinterpret_cast<Memory*>(it);
            --memory->self->open;
            delete memory;
            return 0;
        };
        of_memory_.bind = [](fid* it, fid* to, std::uint64_t) {
            auto* const memory = reinterpret_cast<Memory*>(it);
            memory->self->bound_to = to;
            return memory->self->binding_fails;
        };
        of_memory_.control = &HandMadeDomain::control_memory;
        endpoint.fid.fclass = FI_CLASS_EP;
    }
    [[nodiscard]] Registrar registrar(int mode, std::size_t key_bytes = 8) {
        fi_domain_attr attributes{};
        attributes.mr_mode = mode;
        attributes.mr_key_size = key_bytes;
        mode_ = mode;
        return Registrar(domain_, endpoint, attributes);
    }

    fid_ep endpoint{};
    std::vector<std::uint64_t> access;
    std::set<std::uint64_t> refused_keys;
    std::vector<std::uint64_t> asked_keys;
    fid* bound_to = nullptr;
    unsigned enabled = 0;
    int binding_fails = 0;
    int open = 0;  // registrations

  private:
    struct Domain : fid_domain {
        HandMadeDomain* self = nullptr;
    };
    struct Memory : fid_mr {
        HandMadeDomain* self = nullptr;
    };

    static int add(fid* it, const void*, std::size_t, std::uint64_t access, std::uint64_t, std::uint64_t key,
                   std::uint64_t, fid_mr** out, void*) {
        HandMadeDomain& self = *reinterpret_cast<Domain*>(it)->self;
        self.access.push_back(access);
        self.asked_keys.push_back(key);
        if (self.refused_keys.contains(key) || (self.refuse_once && self.asked_keys.size() == 1)) return -FI_ENOKEY;
        auto* const memory = new Memory;
        memory->self = &self;
        memory->fid.ops = &self.of_memory_;
        memory->key = (self.mode_ & FI_MR_PROV_KEY) != 0 ? providers_key : key;
        ++self.open;
        *out = memory;
        return 0;
    }
    static int control_memory(fid* it, int command, void*) {
        EXPECT_EQ(command, FI_ENABLE);
        ++reinterpret_cast<Memory*>(it)->self->enabled;
        return 0;
    }

    Domain domain_{};
    fi_ops_mr registering_{};
    fi_ops of_memory_{};
    int mode_ = 0;

  public:
    bool refuse_once = false;
};

class RegistrarTest : public testing::Test {
  protected:
    HandMadeDomain domain_;
    std::array<std::byte, 64> bytes_{};
    iovec memory_{bytes_.data(), bytes_.size()};
};

TEST_F(RegistrarTest, OwnKeysAreRandomAndFit) {
    const Registrar registrar = domain_.registrar(FI_MR_LOCAL, 2);
    std::vector<Registration> made(100);
    for (Registration& each : made) ASSERT_EQ(registrar.local(memory_, each), Errc::ok);
    for (const std::uint64_t key : domain_.asked_keys) EXPECT_LE(key, 0xffffu);
    EXPECT_GT(std::set(domain_.asked_keys.begin(), domain_.asked_keys.end()).size(), 90u);
    made.clear();
    EXPECT_EQ(domain_.open, 0);
}

TEST_F(RegistrarTest, AUsedKeyIsNotTriedAgain) {
    domain_.refuse_once = true;
    Registration made;
    EXPECT_EQ(domain_.registrar(FI_MR_LOCAL).local(memory_, made), Errc::ok);
    EXPECT_EQ(domain_.asked_keys.size(), 2u);
}

TEST_F(RegistrarTest, RunningOutOfKeysIsReported) {
    for (std::uint64_t key = 0; key < 256; ++key) domain_.refused_keys.insert(key);
    Registration made;
    EXPECT_NE(domain_.registrar(FI_MR_LOCAL, 1).local(memory_, made), Errc::ok);
    EXPECT_FALSE(made);
}

TEST_F(RegistrarTest, TheProvidersKeyIsUsedIfItChoosesKeys) {
    Registration made;
    EXPECT_EQ(domain_.registrar(FI_MR_LOCAL | FI_MR_PROV_KEY).local(memory_, made), Errc::ok);
    EXPECT_EQ(domain_.asked_keys, std::vector<std::uint64_t>{0});
}

TEST_F(RegistrarTest, MemoryIsBoundToTheEndpointIfNecessary) {
    Registration made;
    ASSERT_EQ(domain_.registrar(FI_MR_LOCAL).local(memory_, made), Errc::ok);
    EXPECT_EQ(domain_.bound_to, nullptr);
    EXPECT_EQ(domain_.enabled, 0u);
    ASSERT_EQ(domain_.registrar(FI_MR_LOCAL | FI_MR_ENDPOINT).local(memory_, made), Errc::ok);
    EXPECT_EQ(domain_.bound_to, &domain_.endpoint.fid);
    EXPECT_EQ(domain_.enabled, 1u);
}

TEST_F(RegistrarTest, MemoryThatCannotBeBoundIsNotRegistered) {
    domain_.binding_fails = -FI_EINVAL;
    Registration made;
    EXPECT_EQ(domain_.registrar(FI_MR_ENDPOINT).local(memory_, made), Errc::invalid_argument);
    EXPECT_FALSE(made);
    EXPECT_EQ(domain_.open, 0);
}

TEST_F(RegistrarTest, MemoryIsOnlyForSendingAndReceiving) {
    Registration made;
    ASSERT_EQ(domain_.registrar(FI_MR_LOCAL).local(memory_, made), Errc::ok);
    EXPECT_EQ(domain_.access, std::vector<std::uint64_t>{FI_SEND | FI_RECV});
    EXPECT_TRUE(domain_.registrar(FI_MR_LOCAL).wants_local());
    EXPECT_FALSE(domain_.registrar(FI_MR_VIRT_ADDR).wants_local());
}

}  // namespace
}  // namespace cinnabar::ofi
