// SPDX-License-Identifier: BSD-3-Clause
// The server of the file save service, for a program that serves it together with its own RPCs. The server keeps files
// below one root, and asks a policy, which the program supplies, whether a client may save or fetch a file.
// docs/save-service.md describes the guarantees.
//
// Lifetime: create the server before the node, and destroy the node first, which ends all handlers. The server runs on
// the node's loop; only functions whose comments say so may be called from other threads.
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
    std::uint32_t windows_max = 8;        // per file at once; clients are told this number
    std::size_t session_files_max = 256;  // files in progress at once, per session
    std::uint64_t session_bytes_max = std::numeric_limits<std::uint64_t>::max();  // total size of the files that one
                                                                                  // session is saving
    std::uint32_t files_max = 4096;                                               // files in progress of all sessions
    // Access rules; null: every client may do everything. Checked before ServerHooks::may_access.
    std::shared_ptr<const AccessPolicy> policy = {};
    // Limits for one client, over all its connections together. A client is identified by its proven identity (tcps,
    // ofis, verbss), otherwise by the user that the kernel reports (shm), otherwise by its host. If the policy has a
    // quota for the client, the quota applies instead of these limits.
    std::uint64_t client_bytes_max = std::numeric_limits<std::uint64_t>::max();  // bytes saved while the server runs
    std::uint64_t client_files_max = std::numeric_limits<std::uint64_t>::max();  // files, links and folders saved while
                                                                                 // the server runs
    std::uint64_t client_bytes_per_second = 0;  // saves and fetches together; 0: no limit
    unsigned gap_seconds_max = 30;              // how long windows wait for a missing earlier one
    // How long the buffer of a window is kept whose connection was lost. Longer than a client waits for an answer (60
    // s), since it may notice the loss only then.
    unsigned again_seconds_max = 70;
    std::chrono::milliseconds journal_interval{200};  // Resumable::interval
    // How long the server reads before it answers one step of Client::verify(); it reads at least one window. The
    // client then asks for the next step.
    std::chrono::milliseconds sum_step{5000};
};

// The end of an operation, reported to the program.
struct ServerEvent {
    enum class Kind : std::uint8_t { saved, fetched, failed, refused, removed };
    Kind kind = Kind::saved;
    std::string name;  // any bytes
    std::string client;
    std::uint64_t bytes = 0;
    std::optional<std::uint64_t> checksum;  // XXH3
    std::optional<Error> error;
};

// A request of a client, for an access decision. The string views are valid only during the call.
struct AccessRequest {
    enum class Kind : std::uint8_t {
        save,            // a file
        fetch,           // a file; also checked for the target of a hard link, because the link gives access to its
                         // content
        make,            // a folder
        link,            // a symbolic link
        hard_link,       // a hard link
        list,            // a folder; the empty name is the root
        look,            // query any entry: kind, size, times, stored checksum
        remove,          // a file, a link or an empty folder
        list_remains,    // of interrupted saves, all names; `name` is empty
        remove_remains,  // those of one name; all of them if `name` is empty
        follow,          // connect to another server, whose address is `target`, to pull a file from it
    };
    Kind kind = Kind::save;
    std::string_view name;    // any bytes, not validated: it may be malformed
    std::uint64_t bytes = 0;  // save, follow: the size as the client announces it
    bool replace = false;     // save, link, hard_link: may replace an existing file
    // link: the target of the link as it will be stored, so a relative path starts at the folder of the link. A later
    // request for a path through the link has the unresolved path as its name. So a policy that decides by names must
    // refuse links, or at least links that lead out of the client's folder. hard_link: the name of the existing file.
    // The target may be malformed, like `name`.
    std::string_view target;
    const na::Addr& client;
};

// A saved file that is complete, verified and synced, but not yet renamed into place.
struct StagedFile {
    std::string_view name;  // its final name
    std::uint64_t bytes = 0;
    std::optional<std::uint64_t> checksum;  // XXH3, if the client sent one
    int fd = -1;                            // for pread; valid during the call
};

// Callbacks of the program. Each may be empty; none may throw.
struct ServerHooks {
    // Decides whether a request is allowed, before anything is changed. A returned error is sent to the client. Runs on
    // the loop, so it must be short.
    std::function<Result<void>(const AccessRequest&)> may_access;
    // Runs before a file is renamed into place, for example to read and check it. A returned error is sent to the
    // client and the file is removed. Runs on a disk thread, possibly for several files at once; it delays the other
    // work of its thread.
    std::function<Result<void>(const StagedFile&)> before_naming;
    // Runs after a file was saved or fetched, has failed, or was removed, and after a request was refused. Runs on the
    // loop, so it must be short.
    std::function<void(const ServerEvent&)> ended;
};

class Service;

class CINNABAR_API Server {
  public:
    // `key`: clients must prove that they have it; nullopt: every client that can connect to the node is served.
    // out_of_memory: no memory for the buffers.
    [[nodiscard]] static Result<std::unique_ptr<Server>> make(Root root, std::optional<Key> key,
                                                              const ServerOptions& options = {},
                                                              ServerHooks hooks = {});
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    // The node must have exactly one loop, and a progress thread or a caller that drives it. exists: the node serves a
    // save service already.
    [[nodiscard]] Result<void> serve_on(const hl::NodeRef& node);

    // Replaces ServerOptions::policy; the new rules apply to all requests from now on; null: everything is allowed.
    // Files in progress continue. A client's new quota applies from its next session on and counts everything that the
    // client has saved since it first had a quota. Any thread.
    void replace_policy(std::shared_ptr<const AccessPolicy> policy);

    // Refuses new files from now on and waits up to `span` for the files in progress. Returns false if some files are
    // still in progress. Any thread except the loop's.
    [[nodiscard]] bool drain(std::chrono::duration<double> span);

  private:
    explicit Server(std::unique_ptr<Service> service) noexcept;
    std::unique_ptr<Service> service_;
};

}  // namespace cinnabar::files
