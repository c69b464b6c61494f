// SPDX-License-Identifier: BSD-3-Clause
// The journal of a staged file records how many blocks, from the beginning, are on disk, and the checksum of each. It
// lies beside the staged file; an interrupted save or fetch resumes from it.
//
// It never records more than is on disk: blocks are written, then the file is synced, and only then are their checksums
// appended. A record that was torn by a crash or a power loss is a checksum that matches no block.
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

// Identifies the final file. Remains with a different head cannot be resumed.
struct JournalHead {
    std::string name;
    std::uint64_t bytes = 0;
    std::uint32_t block_bytes = 0;  // not 0
    std::uint32_t mode = 0;         // permission bits, as requested
    bool sparse = false;
    std::uint32_t final_mode = 0;  // `mode` less the umask; while staged, the file is readable and writable for its
                                   // owner

    [[nodiscard]] bool is_of_same_file(const JournalHead& other) const {
        return name == other.name && bytes == other.bytes && block_bytes == other.block_bytes && mode == other.mode &&
               sparse == other.sparse;
    }
    [[nodiscard]] std::uint64_t blocks() const { return bytes / block_bytes + (bytes % block_bytes != 0 ? 1 : 0); }
};

// A head has at most this many bytes; reading this many is enough for decode_head().
inline constexpr std::size_t journal_head_bytes_max = 4200;
[[nodiscard]] std::string encode_head(const JournalHead& head);
// Decodes the head at the beginning of `bytes`. Empty: no head, or a damaged one.
struct DecodedHead {
    JournalHead head;
    std::size_t bytes = 0;
};
[[nodiscard]] std::optional<DecodedHead> decode_head(ConstBytes bytes);

// 64-bit XXH3.
[[nodiscard]] std::uint64_t block_checksum(ConstBytes block) noexcept;

class Journal {
  public:
    // Makes the journal of a new staged file `part`, which is empty. Errors of file_error().
    [[nodiscard]] static Result<std::shared_ptr<Journal>> begin(std::shared_ptr<const UniqueFd> staging,
                                                                std::string name, std::shared_ptr<const UniqueFd> part,
                                                                const JournalHead& head);
    // Opens the journal of an existing staged file. Null: it does not exist or belongs to another file.
    [[nodiscard]] static std::shared_ptr<Journal> resume(std::shared_ptr<const UniqueFd> staging, std::string name,
                                                         std::shared_ptr<const UniqueFd> part, const JournalHead& head);
    // The head of a journal, and the number of blocks that it records.
    struct Summary {
        JournalHead head;
        std::size_t head_bytes = 0;
        std::uint64_t blocks = 0;
    };
    [[nodiscard]] static std::optional<Summary> read(int staging, const std::string& name);

    // --- only by the thread that writes the file, except resumed_bytes()

    // Bytes that remain from an earlier attempt. Any thread.
    [[nodiscard]] std::uint64_t resumed_bytes() const noexcept {
        return resumed_bytes_.load(std::memory_order_relaxed);
    }
    void set_resumed_bytes(std::uint64_t bytes) noexcept { resumed_bytes_.store(bytes, std::memory_order_relaxed); }
    // Adds the checksum of the next block, which was written to the file. checkpoint() will record it.
    void add(std::uint64_t checksum);
    // Whether a checkpoint is due: blocks were added, no checkpoint is in progress, and the last checkpoint was at
    // least `interval` ago. If it returns true, the caller must call checkpoint() once.
    [[nodiscard]] bool is_due(std::chrono::milliseconds interval);
    // The recorded checksum of a block. Empty: none is recorded, or it cannot be read.
    [[nodiscard]] std::optional<std::uint64_t> checksum_of(std::uint64_t block) const;
    // The checksum of a block of `bytes` zeros.
    [[nodiscard]] std::uint64_t checksum_of_zeros(std::uint64_t bytes);
    // Truncates the journal to the first `blocks` blocks.
    [[nodiscard]] Result<void> cut(std::uint64_t blocks);

    // --- any thread

    // Syncs the file, then records the blocks added before. Keeps a sync error for failure(), because the kernel
    // reports it only once.
    void checkpoint();
    // Waits for a running checkpoint. Returns the error if a checkpoint could not sync the file.
    [[nodiscard]] Result<void> failure() const;
    [[nodiscard]] std::uint64_t blocks() const;
    [[nodiscard]] const JournalHead& head() const noexcept { return head_; }
    // Ends recording, because the staged file is about to get its final name. From then on the next file of that name
    // may begin a journal under the same name; remove() does not remove that journal.
    void finish() noexcept;
    // Removes the journal; a checkpoint that follows has no effect.
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
    [[nodiscard]] std::uint64_t offset_of(std::uint64_t block) const noexcept { return head_bytes_ + block * 8; }
    [[nodiscard]] bool append(const std::vector<std::uint64_t>& checksums);
    static constexpr std::uint64_t records_read_at_once = 512;  // 4 KiB
    // Requires: files_ is held, and `block` is recorded.
    void read_records(std::uint64_t block) const;
    // Whether the name refers to another journal by now.
    [[nodiscard]] bool is_of_another_file() const noexcept;

    const std::shared_ptr<const UniqueFd> staging_;
    const std::shared_ptr<const UniqueFd> part_;
    const std::string name_;
    const JournalHead head_;
    const std::size_t head_bytes_;

    std::atomic<std::uint64_t> resumed_bytes_{0};
    std::uint64_t zeros_bytes_ = 0;  // size of the block that zeros_checksum_ is for
    std::uint64_t zeros_checksum_ = 0;

    mutable std::mutex files_;  // guards the files; held during syncs and writes, whereas mutex_ is held only briefly
    std::uint64_t blocks_ = 0;  // recorded
    // A cache of the records from the block read_from_ on. Only cut() changes records that were written.
    mutable std::vector<std::uint64_t> read_;
    mutable std::uint64_t read_from_ = 0;
    int sync_errno_ = 0;
    bool broken_ = false;  // writing failed, or the journal was finished or removed: nothing more is recorded
    UniqueFd held_;        // the file of a finished journal: while it is open, no other file has its inode number

    mutable std::mutex mutex_;
    std::vector<std::uint64_t> added_;  // checksums of blocks after blocks_, not recorded yet
    bool under_way_ = false;
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace cinnabar::files
