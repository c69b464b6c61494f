// SPDX-License-Identifier: BSD-3-Clause
// Operations on memory that another process shares, in shared memory: words one after the other, and many blocks at
// once beside as many bytes without a gap. Nodes of two processes, both polling.
#pragma once

#include "../harness/subject.hpp"
#include "endpoint.hpp"

#include <cstdint>
#include <memory>

namespace cinnabar::bench {

enum class WordKind : std::uint8_t { read, write, fetch_add };
// One in flight, of 8 bytes. Work: operations.
[[nodiscard]] std::unique_ptr<Subject> make_word_operations(Cores cores, WordKind kind);

// One operation after the other, each reads 15,000 blocks of 4 KiB, which are `gap_bytes` apart, into memory without
// gaps. Work: bytes.
[[nodiscard]] std::unique_ptr<Subject> make_block_reads(Cores cores, Wire wire, std::uint64_t gap_bytes);

}  // namespace cinnabar::bench
