// SPDX-License-Identifier: BSD-3-Clause
// The subcommands, and the options of each. A run_ function returns the exit code of the process and has reported
// errors by then.
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

// The TLS options with a shared key.
[[nodiscard]] inline na::TlsOptions with_key(na::TlsOptions tls, const std::string& key_file) {
    tls.key_file = key_file;
    return tls;
}

// How a server is reached.
struct SessionOptions {
    std::string key_file;
    na::TlsOptions tls;                  // tcps: certificates
    bool insecure = false;               // accept a server on the loopback that wants no key
    std::string transport;               // a scheme; empty: the best one in the address
    double wait_seconds = 0;             // how long to dial a lost server again
    std::uint64_t bytes_per_second = 0;  // 0: no limit
};

// What save and fetch have in common.
struct TransferOptions : SessionOptions {
    bool replace = false;
    bool json = false;
    bool quiet = false;
    unsigned jobs = 8;  // files under way at once
    // Of trees, and with `preserve` of single files as well: modes, times, and these.
    bool preserve = false;
    files::ExtendedKinds extended;
    files::Filter filter;
    bool safe_links = false;    // leave out links that lead out of their tree
    bool ignore_times = false;  // move also what is the same by size, time and mode
    bool by_content = false;    // compare files by size, mode and checksum
    bool whole = false;         // send all of a file that replaces another
    bool dry_run = false;
};

struct SaveOptions : TransferOptions {
    std::vector<std::string> files;
    std::string to;  // URI, perhaps with a folder
    std::string as;  // name on the server; empty: that of the file
    bool push = false;
    bool checksum = true;
    files::Sync sync = files::Sync::batch;
};
[[nodiscard]] ExitCode run_save(const SaveOptions& options);

struct FetchOptions : TransferOptions {
    std::vector<std::string> from;  // URI/NAME
    std::string folder = ".";
};
[[nodiscard]] ExitCode run_fetch(const FetchOptions& options);

struct CopyOptions : TransferOptions {
    std::vector<std::string> from;  // URI/NAME
    std::string to;                 // URI/NEWNAME, or URI/FOLDER/
    std::string from_key_file;      // for the servers in `from`; empty: key_file
    files::Sync sync = files::Sync::batch;
};
[[nodiscard]] ExitCode run_copy(const CopyOptions& options);

struct ListOptions : SessionOptions {
    std::string from;  // URI, perhaps with a folder
    bool details = false;
    bool json = false;
    bool staged = false;  // what interrupted saves left
    bool clean = false;   // the same, and remove it; of a path in `from`, that of the name alone
};
[[nodiscard]] ExitCode run_list(const ListOptions& options);

// What is done to names on a server.
struct ManageOptions : SessionOptions {
    std::vector<std::string> names;  // URI/NAME
    bool recursive = false;          // remove: a folder with all that is in it
    bool json = false;
    bool quiet = false;  // verify: only what is wrong
};
[[nodiscard]] ExitCode run_remove(const ManageOptions& options);
[[nodiscard]] ExitCode run_stat(const ManageOptions& options);
[[nodiscard]] ExitCode run_verify(const ManageOptions& options);

struct ServeOptions {
    std::string root;
    std::vector<std::string> listen;
    std::string ready_file;
    std::string key_file;
    na::TlsOptions tls;  // tcps: certificates
    std::string policy_file;
    bool insecure = false;
    bool read_only = false;
    hl::Introspection introspection = hl::Introspection::own_user;  // who may use cinnabar top
    bool json = false;
    bool verbose = false;
    unsigned writers = 2;
    std::uint64_t buffer_bytes = 32u << 20;  // all buffers together
    double drain_seconds = 10;
    std::optional<std::uint64_t> keep_free_bytes;  // nothing: a hundredth of the disk, 1 GiB at most
    std::optional<std::uint64_t> keep_free_files;  // nothing: a hundredth of what it can have
    std::uint32_t client_files = 256;              // under way at once, of one client
    std::optional<std::uint64_t> client_bytes;     // the same; nothing: any number
    std::optional<std::uint64_t> staged_bytes;     // of interrupted saves; nothing: a quarter of the disk
    double staged_hours = 24;                      // how long those are kept
    // Limits for one client, however often it connects.
    std::optional<std::uint64_t> client_quota;        // that it may save; unset: no limit
    std::optional<std::uint64_t> client_quota_files;  // the same for files, links and folders
    std::uint64_t bytes_per_second = 0;               // 0: no limit
};
[[nodiscard]] ExitCode run_serve(const ServeOptions& options);

struct PingOptions {
    std::string to;
    std::string transport;  // as above
    na::TlsOptions tls;     // for tcps
    std::uint32_t count = 4;
    double interval_seconds = 1;
    double timeout_seconds = 5;
    bool json = false;
};
[[nodiscard]] ExitCode run_ping(const PingOptions& options);

struct InfoOptions {
    std::string to;      // a server to check; empty: only this machine
    na::TlsOptions tls;  // for tcps
    bool json = false;
    bool verbose = false;
};
[[nodiscard]] ExitCode run_info(const InfoOptions& options);

}  // namespace cinnabar::tools
