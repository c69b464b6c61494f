// SPDX-License-Identifier: BSD-3-Clause
// A file that does not have its name yet. It is written under a name of its own in a staging folder; commit() puts it
// on disk and gives it its name in one step. Destroyed before that, it vanishes and nothing was touched; park() keeps
// what is on disk of it for a later one of the same name. Made by Root::create. One thread at a time.
#pragma once

#include <cinnabar/base/bytes.hpp>
#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/files/attributes.hpp>
#include <cinnabar/files/remains.hpp>
#include <cinnabar/files/room.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace cinnabar::files {

enum class Existing : std::uint8_t { keep, replace };

// When what is saved is synced. A name appears only when its file is whole and, but with `none`, on disk.
enum class Sync : std::uint8_t {
    each,   // each file and its directory, before the next name appears
    batch,  // of small files that came together: all of them, then all names appear, then each directory once
    none,   // the system does it when it likes: after a loss of power names may lead to files that are not whole
};

class Journal;

class CINNABAR_API NewFile {
  public:
    NewFile(NewFile&& other) noexcept;
    NewFile& operator=(NewFile&& other) noexcept;
    ~NewFile() { discard(); }

    // It will be of that size, and zeros are not written but left out as holes. Before the first write. no_space: the
    // file system has no such sizes.
    [[nodiscard]] Result<void> set_sparse(std::uint64_t bytes);
    // Reserves room on the disk for so many bytes, if the file system can and it is worth a system call: not in memory
    // (tmpfs), and not for files below reserved_bytes_min. Call before the first write. no_space.
    static constexpr std::uint64_t reserved_bytes_min = 1u << 20;
    [[nodiscard]] Result<void> reserve(std::uint64_t bytes);
    // commit() gives it these, in place of the mode less the umask; its errors are then also those of give_attributes.
    void keep(Attributes attributes) { attributes_ = std::move(attributes); }

    // commit() stores it with the file, where the file system can.
    void keep_checksum(std::uint64_t checksum) noexcept { checksum_ = checksum; }

    // Any size; best in the order of the file, since the disk is set to work on what lies before. Errors of file_error:
    // no_space, io. A resumable file: block by block, in its order.
    [[nodiscard]] Result<void> write(std::uint64_t offset, ConstBytes from);
    // The same for zeros that are not written. Of a sparse file.
    [[nodiscard]] Result<void> leave_out(std::uint64_t offset, std::uint64_t bytes);

    // --- resumable files

    // So much, from the beginning, is left of an earlier attempt. Its blocks count as written, once they were compared:
    // find_block(), or the checksum of what read_block() got. Others are to be written again.
    [[nodiscard]] std::uint64_t resumed_bytes() const noexcept;
    // The checksum of the block, all of which is in `to` then. Nothing: it is damaged, or not there.
    [[nodiscard]] std::optional<std::uint64_t> read_block(std::uint64_t offset, Bytes to) const;
    // True: the block has that checksum, and is in `to`. Where another one was promised, nothing behind is used either:
    // those are the remains of another file.
    [[nodiscard]] Result<bool> find_block(std::uint64_t offset, Bytes to, std::uint64_t checksum);
    // The journal is to be written; by any thread, also while others write the file. Null: it is not.
    [[nodiscard]] std::shared_ptr<Journal> due_journal();
    // Keeps what is written of it; the NewFile is empty then. discard() if that is nothing.
    void park() noexcept;

    // Syncs the bytes, looks at the place again, gives the name, syncs the directory. After an error before the naming
    // the file is gone and what was there before is untouched.
    //   exists            a file (or link) of that name came up meanwhile and is to be kept
    //   invalid_argument  a directory, or something else than a file, has that name
    //   not_found         its directory has been moved, removed or replaced meanwhile
    //   no_space, io      the sync failed. Only when syncing the directory failed does the whole file have its name.
    // `before_naming` is called with a descriptor of the synced file, for reading; its error is that of the commit.
    using BeforeNaming = std::function<Result<void>(int fd)>;
    [[nodiscard]] Result<void> commit(const BeforeNaming& before_naming = {}, Sync sync = Sync::each);
    // The steps of commit(), for several files at once: settle() syncs a file, appear() gives it its name, and
    // sync_folder() is needed once for those that are beside each other. An error of the first two has discarded the
    // file.
    [[nodiscard]] Result<void> settle(const BeforeNaming& before_naming, Sync sync);
    [[nodiscard]] Result<void> appear();
    [[nodiscard]] Result<void> sync_folder() const;
    // It was made with the other one, or one beside that, as its sibling, and is in the same directory.
    [[nodiscard]] bool is_beside(const NewFile& other) const noexcept { return parent_ == other.parent_; }
    // Removes it. Nothing after commit().
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
    std::string staged_name_;  // in the staging folder; empty when there is nothing to remove
    std::string name_;
    std::string leaf_;
    Existing existing_ = Existing::keep;
    KeptFree kept_;
    std::optional<Attributes> attributes_;
    std::optional<std::uint64_t> checksum_;
    bool sparse_ = false;
    bool reserved_ = false;             // all of it has room, whatever others write
    std::uint64_t bytes_ = 0;           // of a sparse or resumable file
    std::shared_ptr<Journal> journal_;  // null: not resumable
    std::chrono::milliseconds journal_interval_{};
    std::uint64_t flushed_ = 0;  // up to where the disk was set to work
};

}  // namespace cinnabar::files
