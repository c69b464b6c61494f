// SPDX-License-Identifier: BSD-3-Clause
// A new file that is still in a staging folder under a temporary name. commit() syncs it and renames it into place
// atomically. If this object is destroyed before commit(), the temporary file is removed and nothing else has changed.
// park() keeps the part that is already on disk, so that a later file of the same name can continue from it. Made by
// Root::create. One thread at a time.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/files/attributes.hpp>
#include <cinnabar/files/file_stamp.hpp>
#include <cinnabar/files/remains.hpp>
#include <cinnabar/files/room.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace cinnabar::files {

enum class Existing : std::uint8_t { keep, replace };

// When a saved file is synced. A name appears only when its file is complete and, except with `none`, on disk.
enum class Sync : std::uint8_t {
    each,   // each file and its directory, before the next name appears
    batch,  // small files of one call: sync all files, then rename them all, then sync each directory once
    none,   // never: after a power loss, names may refer to incomplete files
};

class ArrivingSum;
class Journal;

class CINNABAR_API NewFile {
  public:
    NewFile(NewFile&& other) noexcept;
    NewFile& operator=(NewFile&& other) noexcept;
    ~NewFile() { discard(); }

    // Sets the final size and makes the file sparse: zeros are left out as holes. Call before the first write.
    // no_space: the file system does not support files of this size.
    [[nodiscard]] Result<void> set_sparse(std::uint64_t bytes);
    // Reserves `bytes` on the disk. Does nothing if the file system cannot reserve space, on tmpfs, and below
    // reserved_bytes_min. Call before the first write. no_space: the disk is full.
    static constexpr std::uint64_t reserved_bytes_min = 1u << 20;
    [[nodiscard]] Result<void> reserve(std::uint64_t bytes);
    // Makes commit() apply `attributes` in place of the mode less the umask; commit() may then also fail with the
    // errors of give_attributes().
    void keep(Attributes attributes) { attributes_ = std::move(attributes); }

    // Makes commit() store the checksum with the file, if the file system supports extended attributes.
    void keep_checksum(std::uint64_t checksum) noexcept { checksum_ = checksum; }

    // Writes any number of bytes at an offset. Writing in order is fastest, because write-back is started for
    // everything before the end of a write. A resumable file must be written block by block, in order. Errors: those of
    // file_error(), such as no_space and io.
    [[nodiscard]] Result<void> write(std::uint64_t offset, ConstBytes from);
    // Skips a range of zeros of a sparse file; otherwise as write().
    [[nodiscard]] Result<void> leave_out(std::uint64_t offset, std::uint64_t bytes);

    // --- resumable files

    // The number of bytes, from the beginning of the file, that remain from an earlier attempt. A block of these bytes
    // counts as written once its checksum was compared: by find_block() or verify_block(), or by the caller with the
    // result of read_block(). A block that differs must be written again.
    [[nodiscard]] std::uint64_t resumed_bytes() const noexcept;
    // The state in which the staged file was found, if resumed_bytes() is not 0. If park() left the file in the same
    // state, the bytes that the caller knew to be written when it called park() may still be counted as written.
    [[nodiscard]] const FileStamp& found() const noexcept { return found_; }
    // Reads a block that remains from an earlier attempt into `to` and returns its checksum. Empty: the block is
    // damaged or missing.
    [[nodiscard]] std::optional<std::uint64_t> read_block(std::uint64_t offset, Bytes to) const;
    // Reads a block into `to` and returns whether the block has this checksum. If the journal records another checksum
    // for the block, this block and all later ones are discarded: they belong to a different file.
    [[nodiscard]] Result<bool> find_block(std::uint64_t offset, Bytes to, std::uint64_t checksum);
    // As find_block(), but reads the block, of `bytes` bytes, piece by piece into `scratch`, which may be smaller than
    // the block. If the block has this checksum, adds its content to `sum`.
    [[nodiscard]] Result<bool> verify_block(std::uint64_t offset, std::uint64_t bytes, std::uint64_t checksum,
                                            Bytes scratch, ArrivingSum& sum);
    // Returns the journal if it is time for a checkpoint, otherwise null. Any thread may run the checkpoint, also while
    // another thread writes the file.
    [[nodiscard]] std::shared_ptr<Journal> due_journal();
    // Keeps the part that is on disk as remains. Afterwards this object is empty. Discards the file if no block is on
    // disk. If a later change of the staged file could be detected, calls `left` with the file's state before anybody
    // else can use the file.
    using Left = std::function<void(const FileStamp& state)>;
    void park(const Left& left = {}) noexcept;

    // Syncs the file, checks the destination again, renames the file into place, and syncs the directory. After an
    // error before the rename, the temporary file is removed and an existing file of that name is unchanged.
    //   exists            a file or link of that name has appeared, and Existing::keep was given
    //   invalid_argument  a directory, or something else that is not a file, has that name
    //   not_found         the directory was moved, removed or replaced
    //   no_space, io      a sync failed; the file is under its name only if the sync of the directory failed
    // `before_naming` is called with a read descriptor of the synced file; if `before_naming` returns an error,
    // commit() fails with that error.
    using BeforeNaming = std::function<Result<void>(int fd)>;
    [[nodiscard]] Result<void> commit(const BeforeNaming& before_naming = {}, Sync sync = Sync::each);
    // The steps of commit(), for several files at once: settle() syncs a file, appear() renames it into place, and
    // sync_folder() is needed once per directory. If settle() or appear() fails, the file was discarded.
    [[nodiscard]] Result<void> settle(const BeforeNaming& before_naming, Sync sync);
    [[nodiscard]] Result<void> appear();
    [[nodiscard]] Result<void> sync_folder() const;
    // Whether both files were created as siblings (Root::create) and so share one directory.
    [[nodiscard]] bool is_beside(const NewFile& other) const noexcept { return parent_ == other.parent_; }
    // Removes the temporary file. Has no effect after commit().
    void discard() noexcept;

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

  private:
    friend class Root;
    NewFile() = default;
    [[nodiscard]] Result<void> write_some(std::uint64_t offset, ConstBytes from);
    [[nodiscard]] Result<void> write_all(std::uint64_t offset, ConstBytes from);
    [[nodiscard]] Result<void> write_block(std::uint64_t offset, ConstBytes from);
    [[nodiscard]] Result<void> cut(std::uint64_t offset);
    [[nodiscard]] Result<void> use_other_than(std::uint64_t offset, std::uint64_t checksum);
    [[nodiscard]] Result<void> sync();
    [[nodiscard]] Result<void> make_ready(const BeforeNaming& before_naming, Sync sync);
    [[nodiscard]] Result<void> take_name() const;

    std::shared_ptr<const UniqueFd> root_;
    std::shared_ptr<const UniqueFd> staging_;
    std::shared_ptr<const UniqueFd> parent_;
    std::shared_ptr<const UniqueFd> file_;
    std::string staged_name_;  // temporary name in the staging folder; empty if there is nothing to remove
    std::string name_;
    std::string leaf_;
    Existing existing_ = Existing::keep;
    KeptFree kept_;
    std::optional<Attributes> attributes_;
    std::optional<std::uint64_t> checksum_;
    bool sparse_ = false;
    bool reserved_ = false;             // disk space for the whole file is reserved
    std::uint64_t bytes_ = 0;           // of a sparse or resumable file
    std::shared_ptr<Journal> journal_;  // null: not resumable
    FileStamp found_;                   // of the staged file, before this object changed it
    bool rewritten_ = false;            // remaining blocks were written again; no checkpoint syncs them
    std::chrono::milliseconds journal_interval_{};
    std::uint64_t flushed_ = 0;  // write-back was started up to this offset
};

}  // namespace cinnabar::files
