// SPDX-License-Identifier: BSD-3-Clause
// The bare program with which `cinnabar save` is compared: the same duties and the same threads, with nothing but
// system calls. Work: bytes of the file; a slice is one whole save, whatever its duration.
#pragma once

#include "../harness/subject.hpp"

#include <filesystem>
#include <memory>

namespace cinnabar::bench {

enum class Duties : std::uint8_t {
    hashed,    // client: map, XXH3, send; server: a thread receives, another hashes and writes; XXH3 compared, fsync,
               // rename
    copied,    // client: map, XXH3; server: a thread reads by process_vm_readv, the rest as above
    sendfile,  // client: sendfile; server: the same without checksums
};

// The client is a separate process for each save, as a command is. `target_root` is an existing directory.
[[nodiscard]] std::unique_ptr<Subject> make_bare_save(Cores cores, Duties duties, std::filesystem::path source,
                                                      std::filesystem::path target_root);

// The `cp` command from `source` into `target_root`, without network or checksums.
[[nodiscard]] std::unique_ptr<Subject> make_copy_command(std::filesystem::path source,
                                                         const std::filesystem::path& target_root);

}  // namespace cinnabar::bench
