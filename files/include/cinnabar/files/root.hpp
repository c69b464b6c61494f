// SPDX-License-Identifier: BSD-3-Clause
// A directory that files are saved into and fetched from, and the wall around it: every path is resolved by the kernel
// below the directory (openat2), so neither `..` nor a link leads out, whatever others do to the tree meanwhile.
// Any thread.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/files/entry.hpp>
#include <cinnabar/files/new_file.hpp>
#include <cinnabar/files/remains.hpp>
#include <cinnabar/files/room.hpp>
#include <cinnabar/files/source_file.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::files {

class CINNABAR_API Root {
  public:
    // For a server: unfinished files live in a staging folder of their own. Of those that an earlier server left there,
    // what can be gone on with stays within `limits`, and the rest is removed. One server at a time: `busy` while
    // another one serves the directory. Files leave `kept` of the disk.
    // not_found, permission (also: the staging folder is somebody else's, or others may write into it),
    // invalid_argument (not a directory), unsupported (a kernel before 5.6).
    [[nodiscard]] static Result<Root> serve(const std::string& path, const KeptFree& kept = {},
                                            const RemainsLimits& limits = {});
    // For a server that only gives: nothing is written, create() is refused with `permission`.
    [[nodiscard]] static Result<Root> serve_read_only(const std::string& path);
    // For a client: unfinished files lie beside the finished ones, hidden, and are removed when the NewFile goes,
    // unless they are parked.
    [[nodiscard]] static Result<Root> open(const std::string& path);

    Root(Root&&) noexcept = default;
    Root& operator=(Root&&) = delete;
    ~Root();

    // A file that will be called `name`, its permission bits `mode` less the umask. `bytes` is its size to be, only
    // compared with the room there is, as each of its writes is. A resumable one goes on from what an earlier one of
    // equal name, size and mode left; other remains make room where there is none.
    //   those of check_name
    // A `sibling` in the same directory spares looking for that again.
    //   exists            something of that name is there, and it is to be kept
    //   invalid_argument  a directory, or something else than a file, has that name
    //   not_found         its directory is missing
    //   permission        the directory lies outside, or on another file system than the root; or not writable
    //   no_space
    [[nodiscard]] Result<NewFile> create(std::string_view name, std::uint64_t bytes, std::uint32_t mode,
                                         Existing existing, const Resumable& resumable = {},
                                         const NewFile* sibling = nullptr) const;

    // A file to be read. Those of check_name, not_found, permission, invalid_argument (not a regular file),
    // busy (another program has a lease on it).
    [[nodiscard]] Result<SourceFile> open_source(std::string_view name) const;

    // --- trees; the names as above, each step is on disk when it returns

    // A folder, only for its owner until finish_folder. Nothing happens where one is. exists: something else is there.
    // Those of create().
    [[nodiscard]] Result<void> make_folder(std::string_view name) const;
    // Gives a folder its permissions and time, once what is in it has its names. not_found, invalid_argument: there is
    // no such folder. Those of give_attributes.
    [[nodiscard]] Result<void> finish_folder(std::string_view name, const Attributes& attributes) const;
    // A symbolic link, whatever `target` leads to: nothing is followed. Its time of modification is kept.
    // invalid_argument: no target, or one with a zero byte; too_large. Those of create().
    [[nodiscard]] Result<void> make_link(std::string_view name, const std::string& target, const Attributes& attributes,
                                         Existing existing) const;
    // Another name of the file `of`, which is below this root. not_found; invalid_argument: it is not a file. Those of
    // create().
    [[nodiscard]] Result<void> make_hard_link(std::string_view name, std::string_view of, Existing existing) const;
    // Some of what a folder has, without ".", ".." and unfinished files, in the order of the file system. `cursor` is 0
    // at first, then the listing's own. Names that come or go meanwhile may be missing or not. Empty `name`: the root
    // itself. not_found, invalid_argument: there is no such folder.
    [[nodiscard]] Result<Listing> list(std::string_view name, std::uint64_t cursor, const ExtendedKinds& kinds) const;

    // Anything of that name; a link is not followed. not_found. Those of check_name.
    [[nodiscard]] Result<Entry> look(std::string_view name, const ExtendedKinds& kinds) const;
    // A file, a link, or a folder with nothing in it. not_found; busy: the folder is not empty; invalid_argument: it is
    // something else; permission; io: it is gone, but its directory could not be synced.
    [[nodiscard]] Result<void> remove(std::string_view name) const;

    // --- what interrupted files left; of a server's root

    // Oldest first, and none that somebody is at work on.
    [[nodiscard]] std::vector<Remains> list_remains() const;
    // Those of one name, or of all for an empty one. How many there were.
    std::uint32_t remove_remains(std::string_view name) const;
    // Removes those over the limits of serve(). How many there were.
    std::uint32_t trim_remains() const;

    // How many left-overs the opening removed.
    [[nodiscard]] std::uint32_t removed() const noexcept { return removed_; }

  private:
    Root() = default;
    [[nodiscard]] static Result<Root> open_directory(const std::string& path);
    [[nodiscard]] Result<void> lock(const std::string& path) const;
    [[nodiscard]] Result<void> make_staging();
    [[nodiscard]] Result<void> stage(NewFile& file, std::uint32_t mode) const;
    [[nodiscard]] Result<void> resume(NewFile& file, std::uint64_t bytes, std::uint32_t mode,
                                      const Resumable& resumable) const;
    [[nodiscard]] Result<void> make_room(int parent, std::uint64_t bytes, std::string_view name) const;
    [[nodiscard]] Result<UniqueFd> open_parent(std::string_view name) const;
    [[nodiscard]] Result<std::shared_ptr<const UniqueFd>> parent_for(std::string_view name,
                                                                     const NewFile* sibling) const;
    [[nodiscard]] Result<UniqueFd> open_folder(std::string_view name) const;
    [[nodiscard]] Result<UniqueFd> open_target(std::string_view name, Existing existing) const;
    [[nodiscard]] Result<void> check_served(int fd, std::string_view name) const;
    template <typename Make>
    [[nodiscard]] Result<void> stage(std::string_view name, Existing existing, Make make) const;

    std::shared_ptr<const UniqueFd> directory_;
    std::shared_ptr<const UniqueFd> staging_;  // null: read-only
    bool own_staging_ = false;                 // the folder is ours: clean it, remove it at the end
    KeptFree kept_;
    RemainsLimits limits_;
    std::uint64_t device_ = 0;
    std::uint64_t staging_inode_ = 0;  // of the folder that is ours
    std::uint32_t removed_ = 0;
};

}  // namespace cinnabar::files
