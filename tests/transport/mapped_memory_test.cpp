// SPDX-License-Identifier: BSD-3-Clause
// User memory that the kernel treats specially: huge pages, and memory that a forked child shares.
#include "contract.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

namespace cinnabar::contract {
namespace {

enum class Pages : std::uint8_t { common, huge };

// A mapping with reserved huge pages (vm.nr_hugepages, as in the machine of tests/vm), or with transparent huge pages
// if none are reserved.
class Mapping {
  public:
    Mapping(std::size_t bytes, Pages pages) : bytes_(bytes), room_(map(pages == Pages::huge ? MAP_HUGETLB : 0)) {
        if (room_ == MAP_FAILED && pages == Pages::huge) {
            room_ = map(0);
            (void)::madvise(room_, bytes, MADV_HUGEPAGE);
        }
    }
    ~Mapping() { (void)::munmap(room_, bytes_); }
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    [[nodiscard]] Bytes bytes() const noexcept { return {static_cast<std::byte*>(room_), bytes_}; }
    [[nodiscard]] na::Segment segment() const noexcept { return {static_cast<std::byte*>(room_), bytes_}; }

  private:
    [[nodiscard]] void* map(int flags) const noexcept {
        return ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    }
    const std::size_t bytes_;
    void* room_;
};

// A forked child that does nothing.
class IdleChild {
  public:
    IdleChild() : child_(::fork()) {
        if (child_ != 0) return;
        (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) (void)::pause();
    }
    ~IdleChild() {
        (void)::kill(child_, SIGKILL);
        (void)::waitpid(child_, nullptr, 0);
    }
    IdleChild(const IdleChild&) = delete;
    IdleChild& operator=(const IdleChild&) = delete;

  private:
    const pid_t child_;
};

}  // namespace

class MappedMemory : public ContractTest {
  protected:
    void move(na::OpKind kind, const Mapping& local, const Mapping& remote, std::uint64_t seed) {
        const std::size_t bytes = std::min(local.bytes().size(), large_rma());
        const bool put = kind == na::OpKind::put;
        support::fill_pattern((put ? local : remote).bytes(), seed);
        TestOp& op = make_rma(kind, *peer_, *memory_, *lent_memory_, bytes);
        post(*nodes_.front(), op);
        ASSERT_TRUE(run_until_done(op));
        ASSERT_EQ(op.result, Errc::ok) << to_string(op.result);
        EXPECT_TRUE(support::holds_pattern((put ? remote : local).bytes().first(bytes), seed));
    }
    void open(const Mapping& local, const Mapping& remote) {
        Node& a = make_node("a");
        Node& b = make_node("b");
        peer_ = &peer_of(a, b);
        memory_ = register_memory(a, {local.segment()});
        lent_memory_ = &lend(b, {remote.segment()});
    }

    na::Peer* peer_ = nullptr;
    std::unique_ptr<na::Memory> memory_;
    Lent* lent_memory_ = nullptr;
};
CINNABAR_CONTRACT(MappedMemory);

TEST_P(MappedMemory, InHugePages) {
    constexpr std::size_t huge_page = 2 * 1024 * 1024;
    const Mapping local(huge_page, Pages::huge);
    const Mapping remote(2 * huge_page, Pages::huge);
    open(local, remote);
    move(na::OpKind::put, local, remote, 31);
    move(na::OpKind::get, local, remote, 32);
    revoke(*lent_memory_);
    memory_.reset();
}

// This process reads what the network has written, no matter which process writes to the page first after the fork.
TEST_P(MappedMemory, IsNotLostToAForkedChild) {
    const Mapping local(256 * 1024, Pages::common);
    const Mapping remote(256 * 1024, Pages::common);
    open(local, remote);
    move(na::OpKind::put, local, remote, 33);
    const IdleChild child;
    move(na::OpKind::put, local, remote, 34);
    move(na::OpKind::get, local, remote, 35);
    revoke(*lent_memory_);
    memory_.reset();
}

}  // namespace cinnabar::contract
