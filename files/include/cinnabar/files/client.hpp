// SPDX-License-Identifier: BSD-3-Clause
// The client's side of a session with one server of the file save service: it logs in, saves and fetches files. Several
// windows of a file are under way at once. Its buffers bound its memory, at 64 MiB whatever the server says.
//
// Threads: it belongs to its node's loop. Run its tasks there (NodeRef::spawn), or give it a node without a progress
// thread of its own, which sync_wait drives.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
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
    // Those of `bytes` that were there from an interrupted attempt, or in the older version that was replaced, and were
    // not sent.
    std::uint64_t had_bytes = 0;
    std::uint64_t sent_bytes = 0;           // those of `bytes` that were sent: neither had_bytes nor holes
    std::optional<std::uint64_t> checksum;  // XXH3, if one was computed
};

// Something on a server.
struct Seen {
    Entry entry;
    StoredChecksum stored;  // of a file
};

// How a file is saved. `push`: the client writes into buffers that the server grants; otherwise the server reads the
// client's memory. `checked`: both sides compute a checksum, and the server compares the two.
struct SaveMode {
    Existing existing = Existing::keep;
    bool push = false;
    bool checked = true;
    bool exact = false;  // it gets the mode and time of the source, not the mode less the server's umask
    ExtendedKinds extended{};
    // An earlier attempt may have ended well without its answer: a file of that name and content is what is wanted.
    bool again = false;
    Sync sync = Sync::batch;
    // Send the whole file. Otherwise, if a larger file replaces another and is checked, only the blocks that the other
    // one lacks are sent; both sides read and hash all of it.
    bool whole = false;
};

struct FetchMode {
    Existing existing = Existing::keep;
    std::string_view as{};  // its name below the folder; empty: the last component of its name
    bool exact = false;     // as above
    ExtendedKinds extended{};
    bool whole = false;  // as above; the older version is the file in the folder
};
// g++ 12 destroys twice what owns memory and is made inside of an awaited expression (decision 37).
static_assert(std::is_trivially_destructible_v<SaveMode> && std::is_trivially_destructible_v<FetchMode>);

// Opens what is to be saved; called on a disk thread, once or, where it turns out to be larger than it was, twice.
using OpenSource = std::function<Result<SourceFile>()>;

// One of many that are saved together.
struct SmallFile {
    OpenSource open;
    std::string name;
};
inline constexpr std::size_t small_files_max = 64;                 // at once
inline constexpr std::uint64_t small_file_bytes_max = 128u << 10;  // of each; larger ones are saved by themselves

// Called with the number of bytes that the server (or, in a fetch, the own disk) has taken, on the session's executor.
using BytesMoved = std::function<void(std::uint64_t bytes)>;

// What to do if a server wants no key. Whoever listens at the address then receives and supplies the files; on the
// loopback that may be any user of the host. proven: the transport made the server prove its identity
// (na::Caps::proves_peers), so no key is needed.
enum class Keyless : std::uint8_t { accepted, refused, proven };

class ClientSession;
struct CopyMode;

class CINNABAR_API Client {
  public:
    // `key` may be null; it must outlive the client, as the node must.
    Client(const hl::NodeRef& node, na::Addr server, const Key* key, Keyless keyless = Keyless::accepted);
    // Requires: it was closed, or never opened.
    ~Client();
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    // Limits the bytes per second, over all files together; 0, the default: no limit. The rate holds on average over
    // several windows (1 MiB each by default), not within one.
    void limit_rate(std::uint64_t bytes_per_second) noexcept;

    // Logs in and holds the session. permission: a key is missing, wrong, or the server could not prove it; or nobody
    // has one, and that is refused.
    // unsupported, protocol, no_such_rpc: no save service of this version. And what calls fail with.
    [[nodiscard]] hl::Task<Result<void>> open();
    // Ends the session; the server removes unfinished files. Also needed after open() has failed.
    [[nodiscard]] hl::Task<void> close();

    // Saves a file under a name; an interrupted save of it is gone on with, and so is a fetch below. The errors of the
    // server's Root and of SourceFile; bad_checksum: it changed meanwhile. unsupported: a push over a transport that
    // cannot notify. Requires: open() was ok. Several at once. The strings must live until the task ends.
    [[nodiscard]] hl::Task<Result<Moved>> save(const std::string& path, const std::string& name, SaveMode mode = {},
                                               BytesMoved progress = {});
    [[nodiscard]] hl::Task<Result<Moved>> save(OpenSource source, const std::string& name, SaveMode mode = {},
                                               BytesMoved progress = {});
    // Saves up to small_files_max files in one call, whose sizes should not be more than a window together. One result
    // for each, in their order: as of save(). Requires: as above.
    [[nodiscard]] hl::Task<std::vector<Result<Moved>>> save_small(const std::vector<SmallFile>& files,
                                                                  SaveMode mode = {});
    // How many bytes go into one call of save_small. Requires: open() was ok.
    [[nodiscard]] std::uint64_t window_bytes() const noexcept;
    // Fetches a file into a directory; `announced` is called with its size. Errors as above, from both sides.
    [[nodiscard]] hl::Task<Result<Moved>> fetch(const std::string& name, const Root& into, FetchMode mode = {},
                                                BytesMoved progress = {},
                                                std::function<void(std::uint64_t)> announced = {});

    // Root's functions of these names, on the server's root. A folder that is there is no error.
    [[nodiscard]] hl::Task<Result<void>> make_folder(const std::string& name);
    [[nodiscard]] hl::Task<Result<void>> finish_folder(const std::string& name, const Attributes& attributes);
    [[nodiscard]] hl::Task<Result<void>> make_link(const std::string& name, const std::string& target,
                                                   const Attributes& attributes, Existing existing = Existing::keep);
    [[nodiscard]] hl::Task<Result<void>> make_hard_link(const std::string& name, const std::string& of,
                                                        Existing existing = Existing::keep);
    // All that a folder of the server has. protocol: what the server tells cannot be, or has no end.
    [[nodiscard]] hl::Task<Result<Listing>> list(const std::string& name, ExtendedKinds extended = {});

    // Whether the server's file has the content of `source`, by size and checksum; both sides read all of it. Errors:
    // those of fetch() and of SourceFile.
    [[nodiscard]] hl::Task<Result<bool>> has_content(OpenSource source, const std::string& name);
    // Has the server read a file again, and tells what that and what was saved have as checksums. Those of fetch().
    [[nodiscard]] hl::Task<Result<Verified>> verify(const std::string& name);
    // Root's function of this name, on the server's root. protocol: what the server tells cannot be.
    [[nodiscard]] hl::Task<Result<Seen>> look(const std::string& name, ExtendedKinds extended = {});
    [[nodiscard]] hl::Task<Result<void>> remove(const std::string& name);

    // What interrupted saves left at the server, by name. protocol: as above.
    [[nodiscard]] hl::Task<Result<std::vector<Remains>>> list_remains();
    // Removes that of one name, or all for an empty one; tells how many there were.
    [[nodiscard]] hl::Task<Result<std::uint32_t>> remove_remains(const std::string& name = {});

  private:
    friend hl::Task<Result<Moved>> copy(Client& from, const std::string& name, Client& to, const std::string& as,
                                        CopyMode mode, BytesMoved progress,
                                        std::function<void(std::uint64_t bytes)> announced);
    std::unique_ptr<ClientSession> session_;
};

}  // namespace cinnabar::files
