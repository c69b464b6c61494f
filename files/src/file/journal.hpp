// SPDX-License-Identifier: BSD-3-Clause
// The journal of a staged file: how many of its blocks, from the beginning, are on disk, and the checksum of each. It
// lies beside the file and is what an interrupted save or fetch goes on from.
//
// It never promises more than is on disk: blocks are written, then the file is synced, and only then are their
// checksums appended. A record that the end of a process, or of the power, tore is a checksum that fits no block.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/base/unique_fd.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::files {

// What the file is to be. Remains of another one are of no use.
struct JournalHead {
    std::string name;
    std::uint64_t bytes = 0;
    std::uint32_t block_bytes = 0;  // not 0
    std::uint32_t mode = 0;         // permission bits, as asked for
    bool sparse = false;
    std::uint32_t final_mode = 0;  // less the umask; while the file is staged its owner may read and write it

    [[nodiscard]] bool is_of_same_file(const JournalHead& other) const {
        return name == other.name && bytes == other.bytes && block_bytes == other.block_bytes && mode == other.mode &&
               sparse == other.sparse;
    }
    [[nodiscard]] std::uint64_t blocks() const { return bytes / block_bytes + (bytes % block_bytes != 0 ? 1 : 0); }
};

// Reads what decode_head() takes: the head alone is behind this many bytes at most.
inline constexpr std::size_t journal_head_bytes_max = 4200;
[[nodiscard]] std::string encode_head(const JournalHead& head);
// The head at the beginning of `bytes`, and how many bytes it takes. Nothing: it is none, or damaged.
struct DecodedHead {
    JournalHead head;
    std::size_t bytes = 0;
};
[[nodiscard]] std::optional<DecodedHead> decode_head(ConstBytes bytes);

// XXH3 with 64 bits.
[[nodiscard]] std::uint64_t block_checksum(ConstBytes block) noexcept;

class Journal {
  public:
    // `part` is the staged file, and is empty. Errors of file_error.
    [[nodiscard]] static Result<std::shared_ptr<Journal>> begin(std::shared_ptr<const UniqueFd> staging,
                                                                std::string name, std::shared_ptr<const UniqueFd> part,
                                                                const JournalHead& head);
    // Null: there is none of that file.
    [[nodiscard]] static std::shared_ptr<Journal> resume(std::shared_ptr<const UniqueFd> staging, std::string name,
                                                         std::shared_ptr<const UniqueFd> part, const JournalHead& head);
    // The head of a journal, and the number of blocks that it promises.
    struct Summary {
        JournalHead head;
        std::size_t head_bytes = 0;
        std::uint64_t blocks = 0;
    };
    [[nodiscard]] static std::optional<Summary> read(int staging, const std::string& name);

    // --- the thread that writes the file

    // How much there is from before. The loop looks at it, too.
    [[nodiscard]] std::uint64_t resumed_bytes() const noexcept {
        return resumed_bytes_.load(std::memory_order_relaxed);
    }
    void set_resumed_bytes(std::uint64_t bytes) noexcept { resumed_bytes_.store(bytes, std::memory_order_relaxed); }
    // The next block is written.
    void add(std::uint64_t checksum);
    // True: checkpoint() is to be called, once. Some blocks wait for it, and the last one was `interval` ago.
    [[nodiscard]] bool is_due(std::chrono::milliseconds interval);
    // What it promises of a block. Nothing: nothing.
    [[nodiscard]] std::optional<std::uint64_t> checksum_of(std::uint64_t block) const;
    // Of a block that is a hole.
    [[nodiscard]] std::uint64_t checksum_of_zeros(std::uint64_t bytes);
    // It promises only the first `blocks` of them from now on.
    [[nodiscard]] Result<void> cut(std::uint64_t blocks);

    // --- any thread

    // Syncs the file, then promises what was added before. Keeps an error for failure(), since the kernel reports it
    // only once.
    void checkpoint();
    // Waits for a checkpoint, and says whether one could not sync the file.
    [[nodiscard]] Result<void> failure() const;
    [[nodiscard]] std::uint64_t blocks() const;
    [[nodiscard]] const JournalHead& head() const noexcept { return head_; }
    // It promises nothing any more, also if a checkpoint is still to come.
    void remove() noexcept;

  private:
    Journal(std::shared_ptr<const UniqueFd> staging, std::string name, std::shared_ptr<const UniqueFd> part,
            Summary summary)
        : staging_(std::move(staging)),
          part_(std::move(part)),
          name_(std::move(name)),
          head_(std::move(summary.head)),
          head_bytes_(summary.head_bytes),
          blocks_(summary.blocks) {}
    [[nodiscard]] std::uint64_t place_of(std::uint64_t block) const noexcept { return head_bytes_ + block * 8; }
    [[nodiscard]] bool append(const std::vector<std::uint64_t>& checksums);

    const std::shared_ptr<const UniqueFd> staging_;
    const std::shared_ptr<const UniqueFd> part_;
    const std::string name_;
    const JournalHead head_;
    const std::size_t head_bytes_;

    std::atomic<std::uint64_t> resumed_bytes_{0};
    std::uint64_t zeros_bytes_ = 0;  // of which the next is the checksum
    std::uint64_t zeros_checksum_ = 0;

    mutable std::mutex files_;  // held while it syncs and writes; the other is never waited for long
    std::uint64_t blocks_ = 0;  // promised
    int sync_errno_ = 0;
    bool broken_ = false;  // it can promise no more

    mutable std::mutex mutex_;
    std::vector<std::uint64_t> added_;  // behind those promised
    bool under_way_ = false;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace cinnabar::files
