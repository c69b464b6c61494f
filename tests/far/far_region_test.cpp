// SPDX-License-Identifier: BSD-3-Clause
// Regions of files and of other far memory, without a network: making, refusing, slicing, joining and copying them.
#include "far_fixture.hpp"
#include "support/os_limits.hpp"

#include <cinnabar/bulk/far_lender.hpp>
#include <cinnabar/bulk/lend.hpp>

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace cinnabar::bulk {
namespace {

using test::MadeUpFar;
using test::PatternFile;

// While it exists, each read and write of a file fails. Uses tests/crash/faults.cpp, which is linked into this program.
class DiskFails {
  public:
    DiskFails() { std::ofstream{switch_file()}; }
    ~DiskFails() { (void)::unlink(switch_file().c_str()); }
    DiskFails(const DiskFails&) = delete;
    DiskFails& operator=(const DiskFails&) = delete;
    // Call it before the first read or write of the program.
    static void prepare() {
        (void)::setenv("CINNABAR_FAULTS_ON", switch_file().c_str(), 1);
        (void)::setenv("CINNABAR_FAULT_RATE", "1000", 1);
        (void)::setenv("CINNABAR_FAULT_READS", "1", 1);
    }

  private:
    static std::string switch_file() {
        return testing::TempDir() + "cinnabar-far-faults-" + std::to_string(::getpid());
    }
};
const bool faults_prepared = (DiskFails::prepare(), true);

Errc refusal(int fd, std::uint64_t offset, std::uint64_t bytes, na::Access access) {
    return Region::of_file(fd, offset, bytes, access).code();
}

TEST(FileRegion, IsRefusedIfItCannotBeMoved) {
    const PatternFile file(100);
    EXPECT_EQ(refusal(file.fd(), 0, 0, na::Access::read), Errc::invalid_argument);
    EXPECT_EQ(refusal(file.fd(), 1, 100, na::Access::read), Errc::invalid_argument) << "longer than the file";
    EXPECT_EQ(refusal(file.fd(), 1, 100, na::Access::write), Errc::ok) << "which writing makes longer";
    EXPECT_EQ(refusal(file.fd(), ~std::uint64_t{0}, 2, na::Access::write), Errc::invalid_argument);
    EXPECT_EQ(refusal(-1, 0, 1, na::Access::read), Errc::invalid_argument);
    EXPECT_EQ(refusal(PatternFile(100, 1, O_RDONLY).fd(), 0, 1, na::Access::write), Errc::permission);
    EXPECT_EQ(refusal(PatternFile(100, 1, O_WRONLY).fd(), 0, 1, na::Access::read), Errc::permission);
    EXPECT_EQ(refusal(PatternFile(100, 1, O_RDWR | O_APPEND).fd(), 0, 1, na::Access::write), Errc::invalid_argument);
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const UniqueFd in(ends[0]);
    const UniqueFd out(ends[1]);
    EXPECT_EQ(refusal(in.get(), 0, 1, na::Access::read), Errc::invalid_argument);
}

TEST(FileRegion, HasADescriptorOfItsOwnAndNoAddress) {
    PatternFile file(100);
    const Region region = file.region(10, 80);
    file.close();
    EXPECT_TRUE(region.is_far());
    EXPECT_TRUE(region.contiguous().empty());
    std::vector<std::byte> got(20);
    EXPECT_EQ(region.slice(30, 20).load(0, got).code, Errc::ok);
    EXPECT_TRUE(support::holds_pattern(got, 1, 40));
    support::fill_pattern(got, 2);
    EXPECT_EQ(region.slice(30, 20).store(0, got).code, Errc::ok);
    EXPECT_TRUE(support::holds_pattern(ConstBytes(file.bytes()).subspan(40, 20), 2));
    EXPECT_TRUE(support::holds_pattern(ConstBytes(file.bytes()).first(40), 1));
}

TEST(FileRegion, AReadBehindTheEndIsStaleAndAWriteMakesTheFileLonger) {
    const PatternFile file(100);
    const Region region = file.region(0, 100);
    file.truncate(99);
    std::vector<std::byte> bytes(100);
    EXPECT_EQ(region.load(0, bytes).code, Errc::stale);
    EXPECT_EQ(region.load(0, Bytes(bytes).first(99)).code, Errc::ok);
    EXPECT_EQ(region.store(0, bytes).code, Errc::ok);
    EXPECT_EQ(file.bytes().size(), 100u);
}

TEST(FileRegion, FailuresOfTheDiskHaveTheirOwnCodes) {
    const PatternFile file(4000);
    const Region region = file.region(0, 4000);
    std::vector<std::byte> bytes(10);
    std::set<Errc> seen;
    std::set<int> errnos;
    {
        const DiskFails now;
        for (int i = 0; i < 64; ++i) {
            const FarEnd end = region.store(0, bytes);
            seen.insert(end.code);
            errnos.insert(end.os_errno);
        }
        EXPECT_EQ(region.load(0, bytes).code, Errc::io);
    }
    EXPECT_TRUE(seen.contains(Errc::io) && seen.contains(Errc::no_space));
    EXPECT_TRUE(errnos.contains(EIO) && errnos.contains(ENOSPC));
    EXPECT_EQ(region.load(0, bytes).code, Errc::ok);
}

TEST(FarRegion, PartsAreJoinedInTheirOrderAndCutAnywhere) {
    const PatternFile file(100, 1);
    std::vector<std::byte> host(50);
    support::fill_pattern(host, 2);
    const auto far = std::make_shared<MadeUpFar>(70, 3);
    const Region device = Region::of_far(far, na::Access::read_write).value();
    const std::array parts{file.region(0, 100).slice(20, 60),
                           Region::expose(Bytes(host), na::Access::read_write).value(), device};
    const Region all = Region::join(parts, na::Access::read_write).value();
    ASSERT_EQ(all.bytes(), 180u);
    std::vector<std::byte> wanted(180);
    support::fill_pattern(Bytes(wanted).first(60), 1, 20);
    support::fill_pattern(Bytes(wanted).subspan(60, 50), 2);
    support::fill_pattern(Bytes(wanted).subspan(110), 3);
    for (std::size_t begin = 0; begin < 180; begin += 7) {
        std::vector<std::byte> got(180 - begin);
        ASSERT_EQ(all.slice(begin, got.size()).load(0, got).code, Errc::ok);
        ASSERT_TRUE(std::equal(got.begin(), got.end(), wanted.begin() + static_cast<std::ptrdiff_t>(begin)));
    }
    support::fill_pattern(wanted, 4);
    ASSERT_EQ(all.store(0, wanted).code, Errc::ok);
    EXPECT_TRUE(support::holds_pattern(ConstBytes(file.bytes()).subspan(20, 60), 4));
    EXPECT_TRUE(support::holds_pattern(host, 4, 60));
    EXPECT_TRUE(support::holds_pattern(far->memory(), 4, 110));
}

TEST(FarRegion, JoinRefusesWhatItCannotHold) {
    std::vector<std::byte> host(50);
    const Region memory = Region::expose(Bytes(host), na::Access::read_write).value();
    const Region device = Region::of_far(std::make_shared<MadeUpFar>(10), na::Access::read).value();
    const std::array near{memory, memory};
    EXPECT_EQ(Region::join(near, na::Access::read).code(), Errc::invalid_argument);
    EXPECT_EQ(Region::join({}, na::Access::read).code(), Errc::invalid_argument);
    const std::array mixed{memory, device};
    EXPECT_EQ(Region::join(mixed, na::Access::write).code(), Errc::permission);
    EXPECT_EQ(Region::join(mixed, na::Access::read).code(), Errc::ok);
    const std::array empty{device, Region()};
    EXPECT_EQ(Region::join(empty, na::Access::read).code(), Errc::invalid_argument);
    EXPECT_EQ(Region::of_far(nullptr, na::Access::read).code(), Errc::invalid_argument);
}

TEST(FarRegion, TheQuarantineOfAJoinedRegionIsThatOfItsParts) {
    const auto of_bytes = [](std::size_t bytes) {
        return Region::of_far(std::make_shared<MadeUpFar>(bytes), na::Access::read_write).value();
    };
    const Region first = of_bytes(100);
    const Region second = of_bytes(100);
    const std::array parts{first.slice(50, 50), second};
    const Region joined = Region::join(parts, na::Access::read_write).value();
    joined.slice(60, 10).quarantine_for_good();
    EXPECT_TRUE(joined.quarantined());
    EXPECT_FALSE(first.quarantined());
    EXPECT_TRUE(second.slice(10, 10).quarantined());
    EXPECT_FALSE(second.slice(0, 10).quarantined() || second.slice(20, 80).quarantined());
    joined.slice(45, 10).quarantine_for_good();
    EXPECT_TRUE(first.slice(95, 5).quarantined() && second.slice(0, 5).quarantined());
    EXPECT_FALSE(first.slice(0, 95).quarantined());
}

TEST(FarRegion, ItsBlocksMakeARegion) {
    const auto far = std::make_shared<MadeUpFar>(100);
    const Region device = Region::of_far(far, na::Access::read_write).value();
    const std::vector<std::byte> before(far->memory().begin(), far->memory().end());
    const std::vector<std::uint32_t> numbers{7, 1, 3, 4};  // the last two are adjacent
    const auto list = Blocks::indexed(10, numbers).value();
    const Region blocks = device.slice(10, 90).select(list, na::Access::read_write).value();
    EXPECT_TRUE(blocks.is_far());
    EXPECT_EQ(blocks.bytes(), 40u);
    EXPECT_EQ(blocks.segments().size(), 3u);
    std::vector<std::byte> loaded(40);
    EXPECT_EQ(blocks.load(0, loaded).code, Errc::ok);
    for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(loaded[i], before[10 + 10 * numbers[i / 10] + i % 10]) << i;
    const std::vector<std::byte> stored(10, std::byte{9});
    EXPECT_EQ(blocks.slice(5, 10).store(0, stored).code, Errc::ok);
    for (std::size_t i = 0; i < 100; ++i)
        EXPECT_EQ(far->memory()[i], (i >= 85 && i < 90) || (i >= 20 && i < 25) ? std::byte{9} : before[i]) << i;
    const auto beyond = Blocks::strided(0, 10, 20, 6).value();
    EXPECT_EQ(device.select(beyond, na::Access::read).code(), Errc::invalid_argument);
}

// Blocks are in quarantine with what they are of, and with its parts.
TEST(FarRegion, AQuarantineOfItsBlocksIsOneOfItsParts) {
    const Region first = Region::of_far(std::make_shared<MadeUpFar>(100), na::Access::read).value();
    const Region second = Region::of_far(std::make_shared<MadeUpFar>(100), na::Access::read).value();
    const Region joined = Region::join(std::array{first, second}, na::Access::read).value();
    const Region blocks = joined.select(Blocks::strided(0, 10, 20, 10).value(), na::Access::read).value();
    EXPECT_FALSE(blocks.quarantined() || first.quarantined());
    blocks.slice(0, 10).quarantine_for_good();
    EXPECT_TRUE(blocks.quarantined() && joined.quarantined() && first.quarantined() && second.quarantined());
}

// --- the lender of far memory

class LenderTest : public testing::Test {
  protected:
    LenderTest() {
        lend.fenced.run = [](WorkItem& work) noexcept { static_cast<Fenced&>(Lend::of(work)).over = true; };
    }
    struct Fenced : Lend {
        bool over = false;
    };
    [[nodiscard]] std::uint64_t key() {
        std::array<std::byte, far_key_bytes> bytes{};
        ByteWriter writer(bytes);
        lender->describe(lend.lease(), writer);
        ByteReader reader(bytes);
        return reader.u64();
    }
    [[nodiscard]] FarLender::Use use() {
        FarLender::Use made;
        made.stop = [](FarLender::Use& stopped) noexcept { stopped.key = ~stopped.key; };
        return made;
    }
    std::shared_ptr<FarLender> lender = std::make_shared<FarLender>();
    Region region = Region::of_far(std::make_shared<MadeUpFar>(100), na::Access::read_write).value();
    Fenced lend;
};

TEST_F(LenderTest, AKeyIsGoodForItsWindowAndAccessOnly) {
    ASSERT_EQ(lend.grant(region.slice(20, 50), na::Access::read, lender), Errc::ok);
    FarLender::Use one = use();
    EXPECT_EQ(lender->begin(key() + 1, 0, 1, na::Access::read, one), Errc::permission);
    EXPECT_EQ(lender->begin(key(), 0, 1, na::Access::write, one), Errc::permission);
    EXPECT_EQ(lender->begin(key(), 50, 1, na::Access::read, one), Errc::too_large);
    EXPECT_EQ(lender->begin(key(), ~std::uint64_t{0}, 2, na::Access::read, one), Errc::too_large);
    ASSERT_EQ(lender->begin(key(), 10, 40, na::Access::read, one), Errc::ok);
    EXPECT_EQ(one.memory.offset(), 30u);
    EXPECT_EQ(one.memory.bytes(), 40u);
    lender->end(one);
    EXPECT_EQ(lend.revoke(), Errc::ok);
}

TEST_F(LenderTest, TakingALeaseBackStopsItsTransfersAndEndsWithTheLast) {
    ASSERT_EQ(lend.grant(region, na::Access::read_write, lender), Errc::ok);
    const std::uint64_t known = key();
    FarLender::Use one = use();
    FarLender::Use two = use();
    ASSERT_EQ(lender->begin(known, 0, 10, na::Access::read, one), Errc::ok);
    ASSERT_EQ(lender->begin(known, 0, 10, na::Access::write, two), Errc::ok);
    EXPECT_EQ(lend.revoke(), Errc::again);
    EXPECT_EQ(one.key, ~known) << "both were asked to stop";
    EXPECT_EQ(two.key, ~known);
    FarLender::Use late = use();
    EXPECT_EQ(lender->begin(known, 0, 1, na::Access::read, late), Errc::permission);
    one.key = two.key = known;
    lender->end(two);
    EXPECT_FALSE(lend.over);
    lender->end(one);
    EXPECT_TRUE(lend.over);
    EXPECT_FALSE(lend.granted());
    lender->give_up(lend.lease());
    EXPECT_FALSE(lend.quarantined()) << "the fence was over";
}

TEST_F(LenderTest, AFenceThatIsGivenUpFailsAndTheMemoryIsInUseUntilTheLastTransferHasEnded) {
    ASSERT_EQ(lend.grant(region, na::Access::read_write, lender), Errc::ok);
    const std::uint64_t known = key();
    FarLender::Use one = use();
    ASSERT_EQ(lender->begin(known, 0, 10, na::Access::read, one), Errc::ok);
    EXPECT_EQ(lend.revoke(), Errc::again);
    EXPECT_FALSE(lend.over);
    lender->give_up(lend.lease());
    EXPECT_TRUE(lend.over);
    EXPECT_TRUE(lend.quarantined() && region.quarantined());
    EXPECT_TRUE(lend.is_accessed());
    FarLender::Use late = use();
    EXPECT_EQ(lender->begin(known, 0, 1, na::Access::read, late), Errc::permission);
    one.key = known;
    lender->end(one);
    EXPECT_FALSE(lend.is_accessed());
    lend.forget();
    EXPECT_FALSE(region.quarantined());
}

}  // namespace
}  // namespace cinnabar::bulk
