// SPDX-License-Identifier: BSD-3-Clause
// The server of the file save service, for a program that serves it beside its own calls: it keeps files below one root
// and decides, with the program's policy, who may save and fetch what. docs/save-service.md has the guarantees.
//
// Order of life: the server, then the node; the node goes first, and with it the last handler. The server keeps its
// work on the node's loop; only drain() is for other threads.
#pragma once

#include <cinnabar/base/export.hpp>
#include <cinnabar/base/result.hpp>
#include <cinnabar/files/access_policy.hpp>
#include <cinnabar/files/key.hpp>
#include <cinnabar/files/root.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/na/addr.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace cinnabar::files {

struct ServerOptions {
    std::size_t window_bytes = 1u << 20;
    std::uint32_t buffers = 32;
    unsigned disk_threads = 4;
    std::uint32_t windows_max = 8;        // of one file at once, as clients are told
    std::size_t session_files_max = 256;  // under way at once
    std::uint64_t session_bytes_max = std::numeric_limits<std::uint64_t>::max();  // of the files that are being saved
    std::uint32_t files_max = 4096;                                               // of all sessions
    // Who may do what; null: every client that is served may do everything. Checked before ServerHooks::may_access.
    std::shared_ptr<const AccessPolicy> policy = {};
    // Limits for one client, however often it connects. A client is its proven identity (tcps), otherwise the user that
    // the kernel reports (shm), otherwise its host. A quota of the policy replaces them.
    std::uint64_t client_bytes_max = std::numeric_limits<std::uint64_t>::max();  // saved while the server runs
    std::uint64_t client_files_max = std::numeric_limits<std::uint64_t>::max();  // the same; links and folders count
    std::uint64_t client_bytes_per_second = 0;        // both directions together; 0: no limit
    unsigned gap_seconds_max = 30;                    // how long windows wait for one before them
    std::chrono::milliseconds journal_interval{200};  // Resumable::interval
};

// Something that came to its end, for whoever runs the server.
struct ServerEvent {
    enum class Kind : std::uint8_t { saved, fetched, failed, refused, removed };
    Kind kind = Kind::saved;
    std::string name;  // any bytes
    std::string client;
    std::uint64_t bytes = 0;
    std::optional<std::uint64_t> checksum;  // XXH3
    std::optional<Error> error;
};

// What a client asks for. The views are good during the call that is told of it.
struct AccessRequest {
    enum class Kind : std::uint8_t {
        save,            // a file
        fetch,           // a file; also asked of the target of a hard link, whose content gets a name more
        make,            // a folder
        link,            // a symbolic link
        hard_link,       // another name of a file
        list,            // a folder; the empty name is the root
        look,            // at anything: kind, size, times, stored checksum
        remove,          // a file, a link or an empty folder
        list_remains,    // of interrupted saves, of whatever name; the name is empty
        remove_remains,  // those of one name; all of them for the empty one
        follow,          // `target` is another server's address; this server connects to it for a file's content
    };
    Kind kind = Kind::save;
    std::string_view name;    // any bytes, and not looked at yet: it may be malformed
    std::uint64_t bytes = 0;  // save: as the client says
    bool replace = false;     // save, link, hard_link: an existing file of the name would go
    // link: what it leads to, as it will be in the link: relative to the folder that the link is in. Names that lead
    // over the link are asked for as they are: a policy about names has to refuse links, or those that leave its
    // folder. hard_link: the name of the file. As malformed as `name`.
    std::string_view target;
    const na::Addr& client;
};

// A saved file that is whole, verified and synced, and has no name yet.
struct StagedFile {
    std::string_view name;  // that it will have
    std::uint64_t bytes = 0;
    std::optional<std::uint64_t> checksum;  // XXH3, if the client sent one
    int fd = -1;                            // for pread, during the call
};

// The program's part. Each may be empty. None may throw.
struct ServerHooks {
    // An error is the client's answer, and nothing was touched. On the loop: it must be short.
    std::function<Result<void>(const AccessRequest&)> may_access;
    // Before a file gets its name. An error is the client's answer, and the file is removed. On a disk thread, several
    // at once: it may read the file, and other files wait as long.
    std::function<Result<void>(const StagedFile&)> before_naming;
    // After a file has got its name, was fetched, or failed; and after a client was refused. On the loop: it must be
    // short.
    std::function<void(const ServerEvent&)> ended;
};

class Service;

class CINNABAR_API Server {
  public:
    // `key`: clients must prove it; none: every caller of the node is served. out_of_memory: none for the buffers.
    [[nodiscard]] static Result<std::unique_ptr<Server>> make(Root root, std::optional<Key> key,
                                                              const ServerOptions& options = {},
                                                              ServerHooks hooks = {});
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // The node must have one loop and a progress thread, or be driven. exists: it serves a save service already.
    [[nodiscard]] Result<void> serve_on(const hl::NodeRef& node);

    // Replaces ServerOptions::policy at once, for all requests from now on; null: everything is allowed. Files in
    // progress continue. A client gets the quota of the new rules from its next session on; it counts what the client
    // has saved since it first had a quota. Any thread.
    void replace_policy(std::shared_ptr<const AccessPolicy> policy);

    // Takes no new file from now on and waits for those under way; false when some were left after `span`. Any thread
    // but the loop's.
    [[nodiscard]] bool drain(std::chrono::duration<double> span);

  private:
    explicit Server(std::unique_ptr<Service> service) noexcept;
    std::unique_ptr<Service> service_;
};

}  // namespace cinnabar::files
