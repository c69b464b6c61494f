// SPDX-License-Identifier: BSD-3-Clause
// The subcommands and their options. Each run_ function reports its errors and returns the exit code of the process.
#pragma once

#include "terminal/exit_code.hpp"

#include <cinnabar/files/attributes.hpp>
#include <cinnabar/files/filter.hpp>
#include <cinnabar/files/new_file.hpp>
#include <cinnabar/hl/introspection.hpp>
#include <cinnabar/na/types.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cinnabar::tools {

// Returns `tls` with the shared key in `key_file`.
[[nodiscard]] inline na::TlsOptions with_key(na::TlsOptions tls, const std::string& key_file) {
    tls.key_file = key_file;
    return tls;
}

// How to connect to a server.
struct SessionOptions {
    std::string key_file;
    na::TlsOptions tls;                  // tcps, ofis, verbss: certificates
    bool insecure = false;               // accept a server on the loopback that requires no key
    std::string transport;               // a scheme; empty: the best one in the address
    double wait_seconds = 0;             // how long to keep redialling a lost server
    std::uint64_t bytes_per_second = 0;  // 0: no limit
};

// --group: members of a group whose save servers share the files; they are asked in turn.
struct GroupAddress {
    std::vector<std::string> members;  // URI, perhaps with a folder; empty: no group
    std::string name = "group";
};

// Options common to save, fetch and copy.
struct TransferOptions : SessionOptions {
    bool replace = false;
    bool json = false;
    bool quiet = false;
    unsigned jobs = 8;  // files in progress at once
    // Keep modes, modification times and `extended`. Trees always do; single files only with `preserve`.
    bool preserve = false;
    files::ExtendedKinds extended;
    files::Filter filter;
    bool safe_links = false;    // skip symbolic links that point out of the tree
    bool ignore_times = false;  // transfer files even if size, time and mode are equal
    bool by_content = false;    // compare files by size, mode and checksum
    bool whole = false;         // send the whole file even if it replaces an older version
    bool dry_run = false;
    bool delete_extraneous = false;              // save, fetch: in the folders that were given
    std::optional<std::uint64_t> deletions_max;  // unset: any number
};

struct SaveOptions : TransferOptions {
    std::vector<std::string> files;
    std::string to;         // URI, perhaps with a folder
    GroupAddress group;     // instead of `to`
    unsigned replicas = 1;  // copies of each file in the group
    std::string as;         // name on the server; empty: that of the file
    bool push = false;
    bool checksum = true;
    files::Sync sync = files::Sync::batch;
};
[[nodiscard]] ExitCode run_save(const SaveOptions& options);

struct FetchOptions : TransferOptions {
    std::vector<std::string> from;  // URI/NAME; of a group only NAME
    GroupAddress group;
    std::string folder = ".";
    files::Sync sync = files::Sync::batch;
};
[[nodiscard]] ExitCode run_fetch(const FetchOptions& options);
namespace group_files {
[[nodiscard]] ExitCode run_save(const SaveOptions& options);
[[nodiscard]] ExitCode run_fetch(const FetchOptions& options);
}  // namespace group_files

struct CopyOptions : TransferOptions {
    std::vector<std::string> from;  // URI/NAME
    std::string to;                 // URI/NEWNAME, or URI/FOLDER/
    std::string from_key_file;      // for the servers in `from`; empty: key_file
    files::Sync sync = files::Sync::batch;
};
[[nodiscard]] ExitCode run_copy(const CopyOptions& options);

struct ListOptions : SessionOptions {
    std::string from;       // URI, perhaps with a folder
    GroupAddress group;     // instead of `from`
    unsigned replicas = 1;  // copies that each file of the group should have
    bool details = false;
    bool json = false;
    bool staged = false;  // list the remains of interrupted saves
    bool clean = false;   // remove remains: those of the name in `from`, or all if it has no path
};
[[nodiscard]] ExitCode run_list(const ListOptions& options);
namespace group_files {
[[nodiscard]] ExitCode run_list(const ListOptions& options);
}

// Options of remove, stat and verify.
struct ManageOptions : SessionOptions {
    std::vector<std::string> names;  // URI/NAME; of a group only NAME
    GroupAddress group;
    bool recursive = false;  // remove: folders with all their contents
    bool json = false;
    bool quiet = false;  // verify: report only problems
    unsigned jobs = 8;   // verify: files in progress at once
};
[[nodiscard]] ExitCode run_remove(const ManageOptions& options);
[[nodiscard]] ExitCode run_stat(const ManageOptions& options);
[[nodiscard]] ExitCode run_verify(const ManageOptions& options);

struct ServeOptions {
    std::string root;
    std::vector<std::string> listen;
    std::string ready_file;
    std::string key_file;
    na::TlsOptions tls;  // tcps, ofis, verbss: certificates
    std::string policy_file;
    bool insecure = false;
    bool clear = false;  // with a key: listen where files cross the network unencrypted
    bool read_only = false;
    bool group = false;  // be a member of a group
    std::string group_name = "group";
    std::vector<std::string> join;     // members to join by; empty, and no roster: create the group
    std::string roster_file;           // the addresses of the group's members
    std::vector<std::string> members;  // callers (rpc/callers.hpp) that may be members; empty: all that can connect
    hl::Introspection introspection = hl::Introspection::own_user;  // who may use cinnabar top
    bool perf = false;                                              // answer cinnabar perf and doctor
    bool mesh = false;                                              // and run loads towards other servers
    bool json = false;
    bool verbose = false;
    unsigned writers = 2;
    std::uint64_t buffer_bytes = 32u << 20;  // all buffers together
    double drain_seconds = 10;
    std::optional<std::uint64_t> keep_free_bytes;  // unset: 1 % of the disk, at most 1 GiB
    std::optional<std::uint64_t> keep_free_files;  // unset: 1 % of the disk's inodes
    std::uint32_t client_files = 256;              // files of one client in progress at once
    std::optional<std::uint64_t> client_bytes;     // announced size of those files; unset: no limit
    std::optional<std::uint64_t> staged_bytes;     // limit for remains; unset: a quarter of the disk
    double staged_hours = 24;                      // how long remains are kept
    // Limits for one client, however often it connects.
    std::optional<std::uint64_t> client_quota;        // bytes that it may save; unset: no limit
    std::optional<std::uint64_t> client_quota_files;  // files, links and folders that it may make; unset: no limit
    std::uint64_t bytes_per_second = 0;               // 0: no limit
};
[[nodiscard]] ExitCode run_serve(const ServeOptions& options);

struct PingOptions {
    std::string to;
    std::string transport;  // a scheme; empty: the best one in the address
    na::TlsOptions tls;     // for tcps, ofis and verbss
    std::uint32_t count = 4;
    double interval_seconds = 1;
    double timeout_seconds = 5;
    bool json = false;
};
[[nodiscard]] ExitCode run_ping(const PingOptions& options);

struct InfoOptions {
    std::string to;      // a server to check; empty: only this machine
    na::TlsOptions tls;  // for tcps, ofis and verbss
    bool json = false;
    bool verbose = false;
};
[[nodiscard]] ExitCode run_info(const InfoOptions& options);

}  // namespace cinnabar::tools
