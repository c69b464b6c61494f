// SPDX-License-Identifier: BSD-3-Clause
// A directory into which files are saved and from which they are fetched. The kernel resolves every path below the
// directory (openat2), so neither `..` nor a symbolic link leads out of the directory, even if others change the tree
// at the same time. Any thread.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/base/unique_fd.hpp>
#include <cinnabar/files/attribute_precision.hpp>
#include <cinnabar/files/entry.hpp>
#include <cinnabar/files/new_file.hpp>
#include <cinnabar/files/remains.hpp>
#include <cinnabar/files/room.hpp>
#include <cinnabar/files/source_file.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::files {

enum class NameRules : std::uint8_t;

class CINNABAR_API Root {
  public:
    // Opens the root of a server. Unfinished files are kept in a staging folder. Remains that an earlier server left
    // there are kept within `limits`, other leftovers are removed. Saving leaves `kept` of the disk free.
    //   busy              another server serves the directory
    //   not_found, permission
    //   permission        also: another user owns the staging folder or may write to it
    //   invalid_argument  not a directory
    //   unsupported       the kernel is older than 5.6
    [[nodiscard]] static Result<Root> serve(const std::string& path, const KeptFree& kept = {},
                                            const RemainsLimits& limits = {});
    // Opens the root of a read-only server: files can be fetched; functions that write fail with `permission`.
    [[nodiscard]] static Result<Root> serve_read_only(const std::string& path);
    // Opens the destination folder of a client. Unfinished files are hidden files in this folder; they are removed when
    // their NewFile is destroyed, unless they were parked. If the process is killed, they stay until
    // remove_leftovers().
    [[nodiscard]] static Result<Root> open(const std::string& path);

    Root(Root&&) noexcept = default;
    Root& operator=(Root&&) = delete;
    ~Root();

    // Creates a new file that commit() will rename to `name`, with the permission bits `mode` less the umask. `bytes`
    // is the file's expected size: that much space must be free, and is reserved where the file system can do so;
    // nothing else is checked against `bytes`. Without a reservation, each write checks the free space again. A
    // resumable file continues from the remains of an earlier file with the same name, size and mode. If space is
    // short, other remains are removed. In a folder opened by open(), a sparse file that is larger than the free space
    // must leave a hundredth of the disk free (default_kept_free()). If `sibling` is in the same directory, the
    // directory is not opened again. Errors: those of check_name(), and:
    //   exists            the name exists, and Existing::keep was given
    //   invalid_argument  a directory, or something else that is not a file, has that name; or the file system cannot
    //                     hold the name
    //   not_found         the directory does not exist
    //   permission        the directory is outside the root, on another file system, not writable; or a read-only root
    //   no_space          the disk is full, or would have less than the kept space left; or the file system, or a limit
    //                     of this process, allows no file of that size
    [[nodiscard]] Result<NewFile> create(std::string_view name, std::uint64_t bytes, std::uint32_t mode,
                                         Existing existing, const Resumable& resumable = {},
                                         const NewFile* sibling = nullptr) const;

    // Opens a file for reading. not_found; permission; invalid_argument: not a regular file; busy: another program has
    // a lease on the file. Also the errors of check_name().
    [[nodiscard]] Result<SourceFile> open_source(std::string_view name) const;

    // --- trees: names as above; the result of each step is on disk when the function returns. If `unsynced` is given,
    // a folder that has changed is not synced but returned in `unsynced`, and the caller has to sync it.

    // Makes a folder that only its owner may access until finish_folder(). If the folder exists and belongs to this
    // user, its owner gets all permissions, so that entries can be made in it until finish_folder() sets its mode; the
    // permissions of other users stay. exists: something that is not a folder has that name. Also the errors of
    // create().
    [[nodiscard]] Result<void> make_folder(std::string_view name, UniqueFd* unsynced = nullptr) const;
    // Sets the permissions, time and extended attributes of a folder. Call it when the folder is complete. not_found:
    // the folder does not exist. invalid_argument: it is not a folder. Also the errors of give_attributes().
    [[nodiscard]] Result<void> finish_folder(std::string_view name, const Attributes& attributes,
                                             UniqueFd* unsynced = nullptr) const;
    // Makes a symbolic link. `target` may be any path and is not followed. Of `attributes`, only the modification time
    // is used. invalid_argument: `target` is empty or contains a zero byte, or the file system has no symbolic links.
    // too_large: `target` is longer than name_bytes_max. Also the errors of create().
    [[nodiscard]] Result<void> make_link(std::string_view name, const std::string& target, const Attributes& attributes,
                                         Existing existing, UniqueFd* unsynced = nullptr) const;
    // Makes a hard link to the file `of`, which is below this root. not_found: `of` does not exist. invalid_argument:
    // `of` is not a regular file, or the file system has no hard links. Also the errors of create().
    [[nodiscard]] Result<void> make_hard_link(std::string_view name, std::string_view of, Existing existing,
                                              UniqueFd* unsynced = nullptr) const;
    // Returns one page of a folder's entries, in the order of the file system, without ".", ".." and unfinished files.
    // Start with `cursor` 0, then pass the cursor of the page before. Entries that are added or removed at the same
    // time may or may not appear. Empty `name`: the root itself. `no_links_below`: a folder that is `name` or contains
    // it. Neither this folder nor a later component of `name` may be a symbolic link. not_found: the folder does not
    // exist. invalid_argument: `name` is not a folder, or not within `no_links_below`. permission: also if a component
    // below `no_links_below` is a symbolic link.
    [[nodiscard]] Result<Listing> list(std::string_view name, std::uint64_t cursor, const ExtendedKinds& kinds,
                                       std::optional<std::string_view> no_links_below = {}) const;

    // Returns the entry of that name, of any kind; a symbolic link is not followed. not_found. Also the errors of
    // check_name().
    [[nodiscard]] Result<Entry> look(std::string_view name, const ExtendedKinds& kinds) const;
    // Removes a file, a link, or an empty folder. `no_links_below`: as in list(), for the folder that contains `name`.
    // not_found; permission; busy: the folder is not empty; invalid_argument: another kind of entry; io: the entry was
    // removed, but its directory could not be synced.
    [[nodiscard]] Result<void> remove(std::string_view name, std::optional<std::string_view> no_links_below = {},
                                      UniqueFd* unsynced = nullptr) const;

    // Removes from a folder opened by open() what killed fetches left in it: unfinished files of this user that nobody
    // works on and that no fetch can resume, and links that do not have their final name yet. If such a link belongs to
    // a fetch in progress, the fetch makes it again. Returns how many files and links were removed.
    std::uint32_t remove_leftovers() const;

    // --- remains of interrupted saves; only for a root opened by serve()

    // Lists the remains, oldest first, without those of files that are being saved at this moment.
    [[nodiscard]] std::vector<Remains> list_remains() const;
    // Removes the remains of one name, or all if `name` is empty. Returns how many were removed.
    std::uint32_t remove_remains(std::string_view name) const;
    // Removes the remains beyond the limits given to serve(). Returns how many were removed.
    std::uint32_t trim_remains() const;

    // How exactly the file system stores permissions and times. Finds out by making a file in the folder for unfinished
    // files and removing it again. If no file can be made there, or the root is read-only, returns that everything is
    // stored exactly.
    [[nodiscard]] AttributePrecision probe_precision() const;

    // The number of leftovers that serve() removed.
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
    [[nodiscard]] Result<void> check_new_name(std::string_view name) const;
    [[nodiscard]] Result<UniqueFd> open_parent(std::string_view name) const;
    [[nodiscard]] Result<std::shared_ptr<const UniqueFd>> parent_for(std::string_view name,
                                                                     const NewFile* sibling) const;
    [[nodiscard]] Result<UniqueFd> open_folder(std::string_view name) const;
    [[nodiscard]] Result<UniqueFd> open_without_links(std::string_view name, std::string_view below) const;
    [[nodiscard]] Result<Entry> look_in(int parent, std::string_view name, const ExtendedKinds& kinds) const;
    [[nodiscard]] Result<UniqueFd> open_target(std::string_view name, Existing existing) const;
    [[nodiscard]] Result<void> check_served(int fd, std::string_view name) const;
    [[nodiscard]] Result<void> check_not_staged(int fd, std::string_view name) const;
    template <typename Make>
    [[nodiscard]] Result<void> stage(std::string_view name, Existing existing, UniqueFd* unsynced,
                                     std::string_view without, Make make) const;

    std::shared_ptr<const UniqueFd> directory_;
    std::shared_ptr<const UniqueFd> staging_;  // null: read-only
    bool own_staging_ = false;                 // the staging folder belongs to this object, which removes it at the end
    KeptFree kept_;
    RemainsLimits limits_;
    std::uint64_t device_ = 0;
    NameRules name_rules_{};           // of the file system, the same for the whole root
    std::uint64_t staging_inode_ = 0;  // of the staging folder, if own_staging_
    std::uint32_t removed_ = 0;
    // Held from the check of the free space until the space is reserved.
    std::shared_ptr<std::mutex> reserving_ = std::make_shared<std::mutex>();
};

}  // namespace cinnabar::files
