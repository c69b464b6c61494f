// SPDX-License-Identifier: BSD-3-Clause
// The ways in which providers want memory made known to them. Those with long keys, and those that bind memory to an
// endpoint, are hardware: a domain made by hand stands for them and writes down what it is asked.
#include "registrar.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <vector>

namespace cinnabar::ofi {
namespace {

constexpr std::uint64_t providers_key = 0x5eed;
constexpr std::uint64_t mapped_key = 0x77;
constexpr std::uint64_t raw_base = 0x1000;

class HandMadeDomain {
  public:
    HandMadeDomain() {
        domain_.self = this;
        domain_.fid.ops = &ops_;
        domain_.mr = &registering_;
        ops_.size = sizeof ops_;
        ops_.control = &HandMadeDomain::control_domain;
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
    [[nodiscard]] Registrar registrar(int mode, std::size_t key_bytes = 8, bool reads = true) {
        fi_domain_attr attributes{};
        attributes.mr_mode = mode;
        attributes.mr_key_size = key_bytes;
        mode_ = mode;
        return Registrar(domain_, endpoint, attributes, reads);
    }

    fid_ep endpoint{};
    std::vector<std::uint64_t> access;
    std::set<std::uint64_t> refused_keys;
    std::vector<std::uint64_t> asked_keys;
    fid* bound_to = nullptr;
    unsigned enabled = 0;
    int binding_fails = 0;
    std::size_t raw_key_bytes = 24;
    std::vector<std::byte> mapped;
    std::uint64_t mapped_base = 0;
    std::vector<std::uint64_t> unmapped;
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
    static int control_memory(fid* it, int command, void* argument) {
        HandMadeDomain& self = *reinterpret_cast<Memory*>(it)->self;
        if (command == FI_ENABLE) {
            ++self.enabled;
            return 0;
        }
        EXPECT_EQ(command, FI_GET_RAW_MR);
        auto& asked = *static_cast<struct fi_mr_raw_attr*>(argument);
        const bool fits = self.raw_key_bytes <= *asked.key_size;
        *asked.key_size = self.raw_key_bytes;
        if (!fits) return -FI_ETOOSMALL;
        *asked.base_addr = raw_base;
        for (std::size_t i = 0; i < self.raw_key_bytes; ++i) asked.raw_key[i] = static_cast<std::uint8_t>(i + 1);
        return 0;
    }
    static int control_domain(fid* it, int command, void* argument) {
        HandMadeDomain& self = *reinterpret_cast<Domain*>(it)->self;
        if (command == FI_UNMAP_KEY) {
            self.unmapped.push_back(*static_cast<std::uint64_t*>(argument));
            return 0;
        }
        EXPECT_EQ(command, FI_MAP_RAW_MR);
        const auto& asked = *static_cast<const struct fi_mr_map_raw*>(argument);
        const auto* const key = reinterpret_cast<const std::byte*>(asked.raw_key);
        self.mapped.assign(key, key + asked.key_size);
        self.mapped_base = asked.base_addr;
        *asked.key = mapped_key;
        return 0;
    }

    Domain domain_{};
    fi_ops ops_{};
    fi_ops_mr registering_{};
    fi_ops of_memory_{};
    int mode_ = 0;

  public:
    bool refuse_once = false;
};

class RegistrarTest : public testing::Test {
  protected:
    // Registered by one side, learnt by another of the same kind.
    RemoteKey across(int mode) {
        const Registrar registrar = domain_.registrar(mode);
        Registration made;
        PieceName name;
        EXPECT_EQ(registrar.readable(memory_, made, name), Errc::ok);
        RemoteKey learnt;
        EXPECT_EQ(registrar.learn(name, learnt), Errc::ok);
        registrar.forget(learnt);
        return learnt;
    }
    [[nodiscard]] std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(bytes_.data()); }

    HandMadeDomain domain_;
    std::array<std::byte, 64> bytes_{};
    iovec memory_{bytes_.data(), bytes_.size()};
};

TEST_F(RegistrarTest, OwnKeysAreRandomAndFit) {
    const Registrar registrar = domain_.registrar(0, 2);
    std::vector<Registration> made(100);
    std::set<std::uint64_t> keys;
    for (Registration& each : made) {
        PieceName name;
        ASSERT_EQ(registrar.readable(memory_, each, name), Errc::ok);
        std::uint64_t key = 0;
        ASSERT_TRUE(name.plain_key(key));
        EXPECT_LE(key, 0xffffu);
        keys.insert(key);
    }
    EXPECT_GT(keys.size(), 90u);
    made.clear();
    EXPECT_EQ(domain_.open, 0);
}

TEST_F(RegistrarTest, AKeyThatIsTakenIsNotTakenAgain) {
    domain_.refuse_once = true;
    Registration made;
    PieceName name;
    EXPECT_EQ(domain_.registrar(0).readable(memory_, made, name), Errc::ok);
    EXPECT_EQ(domain_.asked_keys.size(), 2u);
}

TEST_F(RegistrarTest, ThatNoKeyIsLeftIsSaid) {
    for (std::uint64_t key = 0; key < 256; ++key) domain_.refused_keys.insert(key);
    Registration made;
    PieceName name;
    EXPECT_NE(domain_.registrar(0, 1).readable(memory_, made, name), Errc::ok);
    EXPECT_FALSE(made);
}

TEST_F(RegistrarTest, AddressesAreVirtualOrOffsets) {
    EXPECT_EQ(across(0).address, 0u);
    EXPECT_EQ(across(FI_MR_VIRT_ADDR).address, address());
}

TEST_F(RegistrarTest, TheProvidersKeyIsTakenWhereItPicksThem) {
    EXPECT_EQ(across(FI_MR_PROV_KEY).key, providers_key);
    EXPECT_EQ(domain_.asked_keys.front(), 0u);
}

TEST_F(RegistrarTest, MemoryIsBoundToTheEndpointAndEnabledWhereItHasToBe) {
    (void)across(0);
    EXPECT_EQ(domain_.bound_to, nullptr);
    EXPECT_EQ(domain_.enabled, 0u);
    (void)across(FI_MR_ENDPOINT);
    EXPECT_EQ(domain_.bound_to, &domain_.endpoint.fid);
    EXPECT_EQ(domain_.enabled, 1u);
}

TEST_F(RegistrarTest, MemoryThatIsNotBoundIsNotRegistered) {
    domain_.binding_fails = -FI_EINVAL;
    Registration made;
    EXPECT_EQ(domain_.registrar(FI_MR_ENDPOINT).local(memory_, made), Errc::invalid_argument);
    EXPECT_FALSE(made);
    EXPECT_EQ(domain_.open, 0);
}

TEST_F(RegistrarTest, LongKeysAreMappedAndUnmapped) {
    const RemoteKey by_offset = across(FI_MR_RAW);
    EXPECT_EQ(by_offset.key, mapped_key);
    EXPECT_EQ(by_offset.address, 0u);
    ASSERT_EQ(domain_.mapped.size(), domain_.raw_key_bytes);
    EXPECT_EQ(domain_.mapped.front(), std::byte{1});
    EXPECT_EQ(domain_.mapped.back(), std::byte{24});
    EXPECT_EQ(domain_.mapped_base, raw_base);
    EXPECT_EQ(domain_.unmapped, std::vector<std::uint64_t>{mapped_key});
    EXPECT_EQ(across(FI_MR_RAW | FI_MR_VIRT_ADDR).address, raw_base);
}

TEST_F(RegistrarTest, AKeyThatIsLongerThanAnyIsRefused) {
    domain_.raw_key_bytes = key_bytes_max + 1;
    Registration made;
    PieceName name;
    EXPECT_EQ(domain_.registrar(FI_MR_RAW).readable(memory_, made, name), Errc::too_large);
    EXPECT_FALSE(made);
    EXPECT_EQ(domain_.open, 0);
}

TEST_F(RegistrarTest, ALongKeyIsNoneWhereTheyAreShort) {
    PieceName name;
    name.key_bytes = 24;
    RemoteKey learnt;
    EXPECT_EQ(domain_.registrar(0).learn(name, learnt), Errc::protocol);
}

TEST_F(RegistrarTest, PeersMayReadAndNothingElse) {
    Registration local;
    Registration readable;
    PieceName name;
    ASSERT_EQ(domain_.registrar(FI_MR_LOCAL).local(memory_, local), Errc::ok);
    ASSERT_EQ(domain_.registrar(0).readable(memory_, readable, name), Errc::ok);
    ASSERT_EQ(domain_.registrar(FI_MR_LOCAL, 8, false).local(memory_, local), Errc::ok);
    EXPECT_EQ(domain_.access,
              (std::vector<std::uint64_t>{FI_SEND | FI_RECV | FI_READ, FI_REMOTE_READ, FI_SEND | FI_RECV}));
    EXPECT_TRUE(domain_.registrar(FI_MR_LOCAL).wants_local());
    EXPECT_FALSE(domain_.registrar(FI_MR_VIRT_ADDR).wants_local());
}

TEST(OfiPiece, ComesBackAsItWas) {
    for (const std::uint32_t key_bytes : {1u, 8u, 24u, static_cast<std::uint32_t>(key_bytes_max)}) {
        Piece piece;
        piece.bytes = 4096;
        piece.name.address = 77;
        piece.name.key_bytes = key_bytes;
        std::fill_n(piece.name.key.begin(), key_bytes, std::byte{9});
        std::array<std::byte, 512> bytes{};
        Writer writer(bytes);
        piece.encode(writer);
        ASSERT_TRUE(writer.ok());
        EXPECT_EQ(writer.size() % 8, 0u);
        Reader reader(writer.written());
        Piece same;
        ASSERT_TRUE(Piece::decode(reader, same));
        EXPECT_EQ(reader.left(), 0u);
        EXPECT_EQ(same.bytes, 4096u);
        EXPECT_EQ(same.name.address, 77u);
        EXPECT_EQ(same.name.key_bytes, key_bytes);
        EXPECT_EQ(same.name.key, piece.name.key);
        for (std::size_t cut = 0; cut < writer.size(); ++cut) {
            Reader less(writer.written().first(cut));
            EXPECT_FALSE(Piece::decode(less, same)) << cut;
        }
    }
}

TEST(OfiPiece, WhatMakesNoSenseIsRefused) {
    const auto decodes = [](std::uint64_t bytes, std::uint32_t key_bytes) {
        std::array<std::byte, 1024> room{};
        Writer writer(room);
        writer.u64(0);
        writer.u64(bytes);
        writer.u32(key_bytes);
        Reader reader(room);
        Piece piece;
        return Piece::decode(reader, piece);
    };
    EXPECT_TRUE(decodes(1, 8));
    EXPECT_FALSE(decodes(0, 8));
    EXPECT_FALSE(decodes(1, 0));
    EXPECT_FALSE(decodes(1, key_bytes_max + 1));
}

}  // namespace
}  // namespace cinnabar::ofi
