// SPDX-License-Identifier: BSD-3-Clause
// Operations on memory that another process shares: single words one after the other, and many blocks at once, compared
// with as many contiguous bytes. The nodes are in two processes, and both poll.
#pragma once

#include "../harness/subject.hpp"
#include "endpoint.hpp"

#include <cstdint>
#include <memory>

namespace cinnabar::bench {

enum class WordKind : std::uint8_t { read, write, fetch_add };
// One 8-byte operation in flight. Work: operations.
[[nodiscard]] std::unique_ptr<Subject> make_word_operations(Cores cores, WordKind kind);

// One operation after the other; each one reads 15,000 blocks of 4 KiB, `gap_bytes` apart, into contiguous memory.
// Work: bytes.
[[nodiscard]] std::unique_ptr<Subject> make_block_reads(Cores cores, Wire wire, std::uint64_t gap_bytes);

}  // namespace cinnabar::bench
