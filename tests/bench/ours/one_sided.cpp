// SPDX-License-Identifier: BSD-3-Clause
#include "one_sided.hpp"

#include <cinnabar/cinnabar.hpp>
#include <cinnabar/hl/remote_memory.hpp>

#include <optional>
#include <stdexcept>
#include <string>

namespace cinnabar::bench {
namespace {

constexpr Rpc<RemoteSpan<std::uint64_t>()> words_of{"bench.words"};
constexpr std::uint64_t block_bytes = 4096;
constexpr std::uint64_t block_count = 15'000;

NodeOptions polled() {
    NodeOptions options;
    options.progress_thread = false;
    return options;
}

// Shares `bytes` bytes of memory, and polls during slices.
void serve(PartnerSide& side, Wire wire, std::uint64_t bytes) {
    const auto node = Node::listen(wire == Wire::shm ? "shm://" : "tcp://127.0.0.1:0", polled()).value();
    const bulk::Region memory = node.allocate(bytes).value();
    const auto shared = share<std::uint64_t>(node, memory).value();
    node.serve(words_of, [&shared] { return shared.span(); }).value();
    side.announce(node.address());
    while (side.wait_slice()) {
        while (side.running()) node.poll();
        side.end_slice();
    }
}

// Drives the node until the operation has ended.
template <typename F>
auto ended(const Node& node, F future) {
    while (!future.ready()) node.poll();
    auto outcome = future.get();
    if (!outcome) throw std::runtime_error{"an operation ended with " + outcome.error().message()};
    return *std::move(outcome);
}

class OneSided : public Subject {
  public:
    OneSided(Cores cores, Wire wire, std::uint64_t bytes)
        : partner_(cores.server, [wire, bytes](PartnerSide& side) { serve(side, wire, bytes); }),
          node_(Node::open(wire == Wire::shm ? "shm://" : "tcp://", polled()).value()),
          peer_(node_.lookup(partner_.announced()).value()) {}

    Slice run_slice(std::chrono::milliseconds duration) final {
        return measure(partner_, [&] {
            if (words_.empty()) words_ = ended(node_, node_.call(words_of, peer_).future()).at(peer_);
            return work_for(duration);
        });
    }

  protected:
    virtual double work_for(std::chrono::milliseconds duration) = 0;

    Partner partner_;
    Node node_;
    Addr peer_;
    RemoteSpan<std::uint64_t> words_;
};

class WordOperations final : public OneSided {
  public:
    WordOperations(Cores cores, WordKind kind) : OneSided(cores, Wire::shm, 4096), kind_(kind) {}

  private:
    double work_for(std::chrono::milliseconds duration) override {
        const auto word = words_[7];
        return repeat_for(duration, [&] {
            switch (kind_) {
                case WordKind::read:
                    (void)ended(node_, word.read(node_).future());
                    break;
                case WordKind::write:
                    (void)ended(node_, word.write(node_, 1).future());
                    break;
                case WordKind::fetch_add:
                    (void)ended(node_, word.fetch_add(node_, 1).future());
                    break;
            }
        });
    }
    WordKind kind_;
};

class BlockReads final : public OneSided {
  public:
    BlockReads(Cores cores, Wire wire, std::uint64_t gap_bytes)
        : OneSided(cores, wire, block_count * (block_bytes + gap_bytes)),
          into_(node_.allocate(block_count * block_bytes).value()),
          blocks_(Blocks::strided(0, block_bytes, block_bytes + gap_bytes, block_count).value()) {}

  private:
    double work_for(std::chrono::milliseconds duration) override {
        const auto end = seconds_now() + std::chrono::duration<double>(duration).count();
        double bytes = 0;
        do bytes += static_cast<double>(ended(node_, read_blocks(node_, words_.token(), blocks_, into_).future()));
        while (seconds_now() < end);
        return bytes;
    }
    bulk::Region into_;
    Blocks blocks_;
};

}  // namespace

std::unique_ptr<Subject> make_word_operations(Cores cores, WordKind kind) {
    return std::make_unique<WordOperations>(cores, kind);
}

std::unique_ptr<Subject> make_block_reads(Cores cores, Wire wire, std::uint64_t gap_bytes) {
    return std::make_unique<BlockReads>(cores, wire, gap_bytes);
}

}  // namespace cinnabar::bench
