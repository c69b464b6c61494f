// SPDX-License-Identifier: BSD-3-Clause
// The header that most programs need; link cinnabar::hl. Separate headers: cinnabar/hl/remote_memory.hpp, for memory
// that nodes share for longer than a call; and three adapters, each of which depends on another library:
// cinnabar/hl/cereal.hpp (cereal), cinnabar/hl/macros.hpp (Boost.Preprocessor) and cinnabar/hl/spdlog.hpp (spdlog).
#pragma once

#include <cinnabar/hl/app_error.hpp>
#include <cinnabar/hl/bulk.hpp>
#include <cinnabar/hl/call.hpp>
#include <cinnabar/hl/call_ending.hpp>
#include <cinnabar/hl/future.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/pool.hpp>
#include <cinnabar/hl/request.hpp>
#include <cinnabar/hl/rpc.hpp>
#include <cinnabar/hl/scope.hpp>
#include <cinnabar/hl/serve.hpp>
#include <cinnabar/hl/sync_wait.hpp>
#include <cinnabar/hl/task.hpp>
#include <cinnabar/hl/when_all.hpp>
#include <cinnabar/hl/with_deadline.hpp>
#include <cinnabar/rpc/policy.hpp>

namespace cinnabar {

using hl::app_error;
using hl::Buffer;
using hl::Bulk;
using hl::call_ending;
using hl::CallEnding;
using hl::CallOptions;
using hl::CallPhase;
using hl::Connected;
using hl::default_deadline;
using hl::Fetched;
using hl::Future;
using hl::Histogram;
using hl::idempotent;
using hl::no_deadline;
using hl::Node;
using hl::NodeOptions;
using hl::NodeRef;
using hl::NoValue;
using hl::on;
using hl::on_arrival;
using hl::OneWay;
using hl::Pending;
using hl::Pool;
using hl::PoolOptions;
using hl::Priority;
using hl::provider;
using hl::Request;
using hl::RequestOf;
using hl::Rpc;
using hl::RpcCounts;
using hl::Scope;
using hl::sync_wait;
using hl::Task;
using hl::this_task;
using hl::TransferOptions;
using hl::when_all;
using hl::with_deadline;
using hl::with_stop;

using bulk::Region;
using na::Access;
using na::Addr;

using rpc::AuditEvent;
using rpc::caller_name;
using rpc::Guests;
using rpc::Policy;

}  // namespace cinnabar
