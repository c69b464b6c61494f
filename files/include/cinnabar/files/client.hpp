// SPDX-License-Identifier: BSD-3-Clause
// The client of the file save service: a session with one server that saves and fetches files. It transfers several
// windows of a file at once. Its buffers take at most 64 MiB, whatever window size the server announces.
//
// Threads: a client belongs to the loop of its node. Run its tasks there (NodeRef::spawn), or use a node without a
// progress thread, which sync_wait drives. A coroutine of another library that awaits these tasks is resumed on the
// loop.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/files/attribute_precision.hpp>
#include <cinnabar/files/batch.hpp>
#include <cinnabar/files/entry.hpp>
#include <cinnabar/files/key.hpp>
#include <cinnabar/files/remains.hpp>
#include <cinnabar/files/root.hpp>
#include <cinnabar/files/verified.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/task.hpp>
#include <cinnabar/na/addr.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cinnabar::files {

struct Moved {
    std::uint64_t bytes = 0;
    // Bytes that were not sent, because an interrupted attempt or the older version being replaced already had them.
    std::uint64_t had_bytes = 0;
    std::uint64_t sent_bytes = 0;  // bytes that were sent: neither had_bytes nor holes
    // The XXH3 of the file; empty: not computed. If a save did not read the beginning of its source again, the server
    // has computed the checksum.
    std::optional<std::uint64_t> checksum;
    // How many connections moved the session's windows when the file ended. A session begins with one connection. Over
    // tcp and tcps, if the session's rate is not limited, more are added as long as measurements show that they help.
    std::uint32_t connections = 1;
};

// An entry on a server.
struct Seen {
    Entry entry;
    StoredChecksum stored;  // for files only
};

// How a file is saved. `push`: the client writes into buffers that the server grants; otherwise the server reads the
// client's memory. `checked`: both sides compute a checksum, and the server compares the two.
struct SaveMode {
    Existing existing = Existing::keep;
    bool push = false;
    bool checked = true;
    // Apply all attributes of the source: mode, modification time, and the extended ones that `extended` names.
    // Otherwise apply only the mode, less the server's umask.
    bool exact = false;
    ExtendedKinds extended{};
    // Set when repeating a save whose answer may have been lost: if a file with this name and content already exists,
    // the save succeeds.
    bool again = false;
    Sync sync = Sync::batch;
    // Always send the whole file. Otherwise, when a large file (over small_file_bytes_max) replaces another one and is
    // checked, only the blocks that differ are sent, and both sides read and hash the whole file.
    bool whole = false;
    // Read the whole source, and let the server read all that it kept of an interrupted save. Otherwise neither side
    // rereads bytes that the server compared during the interrupted save, unless something has changed since.
    bool rereads = false;
};

struct FetchMode {
    Existing existing = Existing::keep;
    std::string_view as{};  // name below the destination folder; empty: the last component of the server's name
    bool exact = false;     // as in SaveMode
    ExtendedKinds extended{};
    bool whole = false;  // as in SaveMode; the older version is the file in the destination folder
    // The size that the server listed. If the server then offers a larger file, nothing is fetched. Empty: a file of
    // any size is fetched, if there is room for it.
    std::optional<std::uint64_t> listed_bytes{};
    Sync sync = Sync::batch;  // when this side syncs
};
// g++ 12 destroys a temporary of an awaited expression twice if it owns memory (decision 37).
static_assert(std::is_trivially_destructible_v<SaveMode> && std::is_trivially_destructible_v<FetchMode>);

// Opens the file to save. Called on a disk thread: once, or twice if save_small() has opened the file and then saves it
// individually.
using OpenSource = std::function<Result<SourceFile>()>;

// A file for Client::save_small().
struct SmallFile {
    OpenSource open;
    std::string name;
};
// A file for Client::fetch_small().
struct ListedFile {
    std::string name;
    std::string as;           // as FetchMode::as
    std::uint64_t bytes = 0;  // the size that the server listed
};
inline constexpr std::size_t small_files_max = 64;                 // per call
inline constexpr std::uint64_t small_file_bytes_max = 128u << 10;  // per file; larger files are moved individually

// Progress callback: called with the number of bytes that the receiver (in a save the server, in a fetch the local
// disk) has taken. Runs on the session's executor.
using BytesMoved = std::function<void(std::uint64_t bytes)>;

// What to do if a server requires no key. Such a server may be anyone who listens at the address (on the loopback, any
// user of the host), and would receive and supply the files. proven: the transport has verified the server's identity
// (na::Caps::proves_peers), so no key is needed.
enum class Keyless : std::uint8_t { accepted, refused, proven };

class ClientSession;
struct CopiedFile;
struct CopyMode;

class CINNABAR_API Client {
  public:
    // `key` may be null. The key and the node must outlive the client.
    Client(const hl::NodeRef& node, na::Addr server, const Key* key, Keyless keyless = Keyless::accepted);
    // Requires: the client was closed, or never opened.
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    // Limits the transfer rate in bytes per second, for all files together; 0, the default: no limit. The limit holds
    // on average over several windows (1 MiB each by default), not within one.
    void limit_rate(std::uint64_t bytes_per_second) noexcept;

    // Opens the session. permission: the key is missing or wrong, the server could not prove that it has the key, or
    // neither side has a key and Keyless::refused was given. unsupported, protocol, no_such_rpc: the server has no save
    // service of this version. Also the errors of calls.
    [[nodiscard]] hl::Task<Result<void>> open();
    // Ends the session. If a part of an unfinished file can be used by a later save, the server keeps that part.
    // Required after open(), even if open() has failed.
    [[nodiscard]] hl::Task<void> close();

    // Saves a file under a name. Continues where an interrupted save of the same file stopped, as fetch() does. Errors:
    // those of Root on the server and of SourceFile. bad_checksum: the file changed while it was read. unsupported:
    // SaveMode::push over a transport without notifications. Requires: open() succeeded. Several saves may run at once.
    // The strings must live until the task ends.
    [[nodiscard]] hl::Task<Result<Moved>> save(const std::string& path, const std::string& name, SaveMode mode = {},
                                               BytesMoved progress = {});
    [[nodiscard]] hl::Task<Result<Moved>> save(OpenSource source, const std::string& name, SaveMode mode = {},
                                               BytesMoved progress = {});
    // Saves up to small_files_max files in one call; their total size should not exceed window_bytes(). Returns one
    // result per file, in order, as for save(). Requires: as for save().
    [[nodiscard]] hl::Task<std::vector<Result<Moved>>> save_small(const std::vector<SmallFile>& files,
                                                                  SaveMode mode = {});
    // The total size of the files that fit into one call of save_small(). Requires: open() succeeded.
    [[nodiscard]] std::uint64_t window_bytes() const noexcept;
    // How exactly the server's file system holds permissions and times, as found when the server started. Requires:
    // open() succeeded.
    [[nodiscard]] const AttributePrecision& precision() const noexcept;
    // Fetches a file into a directory. Calls `announced` with the size of the file. Errors: those of save(), with Root
    // on this side and SourceFile on the server. bad_checksum: also if the file is larger than FetchMode::listed_bytes.
    [[nodiscard]] hl::Task<Result<Moved>> fetch(const std::string& name, const Root& into, FetchMode mode = {},
                                                BytesMoved progress = {},
                                                std::function<void(std::uint64_t)> announced = {});
    // Fetches up to small_files_max files in one call; their total size should not exceed window_bytes(). Files that do
    // not fit, or whose size has changed since they were listed, are fetched one by one. FetchMode::as and listed_bytes
    // are not used. Returns one result per file, in order, as for fetch(). Requires: as for save(); `files` and `into`
    // must live until the task ends.
    [[nodiscard]] hl::Task<std::vector<Result<Moved>>> fetch_small(const std::vector<ListedFile>& files,
                                                                   const Root& into, FetchMode mode = {});

    // Each does on the server's root what the function of Root with the same name does. make_folder() also succeeds if
    // the folder exists, and may make it writable for its owner: call finish_folder() afterwards, which sets the final
    // mode.
    [[nodiscard]] hl::Task<Result<void>> make_folder(const std::string& name);
    [[nodiscard]] hl::Task<Result<void>> finish_folder(const std::string& name, const Attributes& attributes);
    [[nodiscard]] hl::Task<Result<void>> make_link(const std::string& name, const std::string& target,
                                                   const Attributes& attributes, Existing existing = Existing::keep);
    [[nodiscard]] hl::Task<Result<void>> make_hard_link(const std::string& name, const std::string& of,
                                                        Existing existing = Existing::keep);
    // Makes folders and links, in order, up to batch_entries_max in one call to the server. Makes each entry as the
    // function above for its kind does. The server syncs each folder that has changed once per call. Returns one result
    // per entry, in order. `entries` must live until the task ends.
    [[nodiscard]] hl::Task<std::vector<Result<void>>> make_many(const std::vector<NewEntry>& entries);
    // Lists all entries of a folder on the server. `no_links_below`: as in Root::list(). `budget` limits the total size
    // of all listings that share it; it must live until the task ends. Null: this listing has a budget of its own.
    // protocol: the server's listing is invalid, or exceeds the budget.
    [[nodiscard]] hl::Task<Result<Listing>> list(const std::string& name, ExtendedKinds extended = {},
                                                 std::optional<std::string_view> no_links_below = {},
                                                 ListingBudget* budget = nullptr);

    // Returns whether the server's file has the same content as `source`. Compares the sizes and the checksums; both
    // sides read the whole file to compute its checksum. Errors: those of fetch() and of SourceFile.
    [[nodiscard]] hl::Task<Result<bool>> has_content(OpenSource source, const std::string& name);
    // Returns whether the server's file was saved with the content of `source` and was not modified since. Compares the
    // size and the checksum that the server stored with its file, so only `source` is read. False also if the server
    // has stored no checksum. Errors: those of look() and of SourceFile.
    [[nodiscard]] hl::Task<Result<bool>> was_saved_from(OpenSource source, const std::string& name);
    // Makes the server read a file from disk again. Returns the checksum of what was read, and the checksum that was
    // stored when the file was saved. Errors: those of fetch().
    [[nodiscard]] hl::Task<Result<Verified>> verify(const std::string& name);
    // As Root::look(), on the server's root. protocol: the server's answer is invalid.
    [[nodiscard]] hl::Task<Result<Seen>> look(const std::string& name, ExtendedKinds extended = {});
    [[nodiscard]] hl::Task<Result<void>> remove(const std::string& name,
                                                std::optional<std::string_view> no_links_below = {});
    // Removes each name as remove() does, in order. Calls to the server, syncs and results are as for make_many(). The
    // strings must live until the task ends.
    [[nodiscard]] hl::Task<std::vector<Result<void>>> remove_many(const std::vector<std::string>& names,
                                                                  std::optional<std::string_view> no_links_below = {});

    // Lists what interrupted saves left on the server, sorted by name. protocol: the server's answer is invalid.
    [[nodiscard]] hl::Task<Result<std::vector<Remains>>> list_remains();
    // Removes the remains of one name, or all if `name` is empty. Returns how many were removed.
    [[nodiscard]] hl::Task<Result<std::uint32_t>> remove_remains(const std::string& name = {});

  private:
    friend hl::Task<Result<Moved>> copy(Client& from, const std::string& name, Client& to, const std::string& as,
                                        CopyMode mode, BytesMoved progress,
                                        std::function<void(std::uint64_t bytes)> announced);
    friend hl::Task<std::vector<Result<Moved>>> copy_small(Client& from, const std::vector<CopiedFile>& files,
                                                           Client& to, CopyMode mode);
    std::unique_ptr<ClientSession> session_;
};

}  // namespace cinnabar::files
