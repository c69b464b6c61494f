// SPDX-License-Identifier: BSD-3-Clause
// Memory that a node shares, and that others read, write and change atomically. Include this header in addition to
// cinnabar/cinnabar.hpp. See docs/guide.md, "Remote memory".
#pragma once

#include <cinnabar/hl/direct_span.hpp>
#include <cinnabar/hl/remote.hpp>
#include <cinnabar/hl/remote_blocks.hpp>
#include <cinnabar/hl/remote_many.hpp>
#include <cinnabar/hl/remote_steps.hpp>
#include <cinnabar/hl/remote_writes.hpp>
#include <cinnabar/hl/share.hpp>

namespace cinnabar {

using bulk::Blocks;
using hl::DirectSpan;
using hl::map_remote;
using hl::Names;
using hl::read_blocks;
using hl::read_in_steps;
using hl::read_many;
using hl::read_parts;
using hl::Remote;
using hl::RemoteBytes;
using hl::RemoteNotice;
using hl::RemoteOptions;
using hl::RemotePart;
using hl::RemoteRead;
using hl::RemoteSpan;
using hl::RemoteSteps;
using hl::RemoteWrite;
using hl::RemoteWrites;
using hl::share;
using hl::Shared;
using hl::SharedBytes;
using hl::TransferPlan;
using hl::write_blocks;
using hl::write_in_steps;
using hl::write_many;
using hl::write_parts;
using hl::WriteLevel;

}  // namespace cinnabar
