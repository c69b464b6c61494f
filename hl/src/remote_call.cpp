// SPDX-License-Identifier: BSD-3-Clause
#include "remote_made.hpp"

#include <cinnabar/hl/chunk_sums.hpp>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace cinnabar::hl::detail {

CallOptions call_options_of(const RemoteOptions& options) noexcept {
    CallOptions made;
    made.deadline = options.deadline;
    made.stop = options.stop;
    return made;
}

na::Addr target_of(const NodeRef& node, const RemoteBytes& token, const RemoteOptions& options) {
    RemoteTable& own = RemoteTable::of(node);
    return token.grant().node == own.id() ? own.own_address() : token.target(options.follow_owner);
}

std::optional<Error> refusal(const RemoteBytes& token, const na::Addr& target, std::uint64_t bytes, na::Access access) {
    if (token.empty()) return Error(Errc::invalid_argument, "an empty token: it names no memory");
    if (token.bytes() != bytes)
        return Error(Errc::invalid_argument, "the token and the local memory differ in size: use RemoteBytes::part");
    if (!na::allows(token.access(), access))
        return Error(Errc::permission, "the token does not allow that access: ask its owner for one that does");
    if (token.is_far() && token.names_version() && na::allows(access, na::Access::write))
        return Error(Errc::unsupported,
                     "the token of a file or of device memory names a version, so it is for reading: ask its owner for "
                     "one that names none (Names::any_version)");
    if (target.empty())
        return Error(Errc::unreachable, "the token does not contain its owner's address: give it by at()");
    return std::nullopt;
}

bool not_followed(const RemoteBytes& token, const RemoteOptions& options) noexcept {
    return !options.follow_owner && token.may_be_of_third_party();
}

RemoteMade refused_call(const NodeRef& node, Error error) {
    const remote_calls::Look nothing;
    return {node.call(remote_calls::look, na::Addr(), nothing, CallOptions()), std::move(error), false};
}

namespace {

template <typename In>
In whole(const RemoteBytes& token) {
    In arguments;
    arguments.grants.push_back(token.grant());
    arguments.pieces.push_back({0, token.offset(), token.bytes()});
    return arguments;
}

// The parts of an operation over many tokens that travel in one call.
template <typename In>
struct Batch {
    na::Addr target;
    In arguments;
    std::vector<na::Segment> memory;
    std::vector<bulk::Region> far;  // in place of `memory`
    std::optional<Error> refused;
    bool not_followed = false;
    bool of_far = false;  // names far memory, and host memory
    bool of_host = false;

    [[nodiscard]] bool full() const noexcept {
        return arguments.pieces.size() == remote_parts_max || arguments.grants.size() == remote_grants_max;
    }
    void add(const RemoteBytes& token, Bytes local) {
        add(token);
        memory.push_back({local.data(), local.size()});
    }
    void add(const RemoteBytes& token, const bulk::Region& local) {
        add(token);
        far.push_back(local);
    }
    [[nodiscard]] Result<bulk::Region> region(na::Access access) const {
        return far.empty() ? bulk::Region::expose(memory, access) : bulk::Region::join(far, access);
    }

  private:
    void add(const RemoteBytes& token) {
        (token.is_far() ? of_far : of_host) = true;
        auto& grants = arguments.grants;
        const auto same = std::find(grants.rbegin(), grants.rend(), token.grant());
        const auto index = same == grants.rend() ? grants.size() : static_cast<std::size_t>(grants.rend() - same) - 1;
        if (index == grants.size()) grants.push_back(token.grant());
        arguments.pieces.push_back({static_cast<std::uint32_t>(index), token.offset(), token.bytes()});
    }
};

template <typename In>
class Batches {
  public:
    Batches(const NodeRef& node, const RemoteOptions& options, na::Access access)
        : node_(node), options_(options), access_(access) {}

    // `local`: Bytes, or a region that is far; all of one kind.
    template <typename Local>
    void add(const RemoteBytes& token, const Local& local, std::uint64_t bytes) {
        const na::Addr target = target_of(node_, token, options_);
        if (auto refused = refusal(token, target, bytes, access_)) {
            batches_.emplace_back();
            batches_.back().refused = std::move(refused);
            return;
        }
        const auto [open, fresh] = open_.try_emplace(&target.body(), batches_.size());
        if (!fresh && batches_[open->second].full()) split_ = true;
        if (fresh || batches_[open->second].full()) {
            open->second = batches_.size();
            batches_.emplace_back();
            batches_.back().target = target;
        }
        batches_[open->second].add(token, local);
        batches_[open->second].not_followed |= not_followed(token, options_);
    }
    // Whether an owner gets more than one call.
    [[nodiscard]] bool split() const noexcept { return split_; }
    // Whether one call names both far memory and host memory.
    [[nodiscard]] bool mixed() const noexcept {
        return std::ranges::any_of(batches_, [](const Batch<In>& batch) { return batch.of_far && batch.of_host; });
    }
    // `lend(region)` puts this side's memory into the arguments.
    template <typename R, typename Lend>
    std::vector<RemoteMade> calls(const R& rpc, na::Access of_memory, Lend lend) {
        std::vector<RemoteMade> calls;
        calls.reserve(batches_.size());
        for (Batch<In>& batch : batches_) {
            if (batch.refused) {
                calls.push_back(refused_call(node_, *std::move(batch.refused)));
                continue;
            }
            auto region = batch.region(of_memory);
            if (!region) {
                calls.push_back(refused_call(node_, std::move(region).error()));
                continue;
            }
            lend(batch.arguments, *region);
            calls.push_back({node_.call(rpc, batch.target, batch.arguments, call_options_of(options_)), std::nullopt,
                             batch.not_followed});
        }
        return calls;
    }

  private:
    const NodeRef& node_;
    const RemoteOptions& options_;
    const na::Access access_;
    std::vector<Batch<In>> batches_;
    bool split_ = false;
    std::unordered_map<const na::AddrBody*, std::size_t> open_;  // the latest batch for each target
};

std::vector<RemoteMade> read_into(Batches<remote_calls::Gather>& batches, const RemoteOptions&) {
    return batches.calls(remote_calls::gather, na::Access::write,
                         [](auto& arguments, const bulk::Region& into) { arguments.into = Bulk(into); });
}

std::vector<RemoteMade> read_into(Batches<remote_calls::CheckedGather>& batches, const RemoteOptions& options) {
    return batches.calls(remote_calls::checked_gather, na::Access::read_write,
                         [&options](auto& arguments, const bulk::Region& into) {
                             arguments.into = Bulk(into);
                             arguments.again_max = options.again_max;
                         });
}

std::vector<RemoteMade> one_refused(const NodeRef& node, Error error) {
    std::vector<RemoteMade> refused;
    refused.push_back(refused_call(node, std::move(error)));
    return refused;
}

std::vector<RemoteMade> write_from(const NodeRef& node, Batches<remote_calls::Scatter>& batches,
                                   const RemoteOptions& options) {
    if (options.notify && batches.split()) return one_refused(node, too_many_to_notify());
    return batches.calls(remote_calls::scatter, na::Access::read,
                         [&options](auto& arguments, const bulk::Region& from) {
                             arguments.from = Bulk(from);
                             arguments.notify = options.notify;
                         });
}

// The owner writes far memory directly, so nothing would keep damaged bytes out of host memory beside it.
Error mixed_memory() {
    return {Errc::unsupported,
            "a checked write does not name files or device memory together with host memory of the same owner: make it "
            "two"};
}

std::vector<RemoteMade> write_from(const NodeRef& node, Batches<remote_calls::CheckedScatter>& batches,
                                   const RemoteOptions& options) {
    if (options.notify && batches.split()) return one_refused(node, too_many_to_notify());
    if (batches.mixed()) return one_refused(node, mixed_memory());
    return batches.calls(remote_calls::checked_scatter, na::Access::read,
                         [&options](auto& arguments, const bulk::Region& from) {
                             arguments.from = Bulk(from);
                             arguments.notify = options.notify;
                             arguments.sums = ChunkSums::of(from, remote_calls::remote_chunk_bytes);
                             arguments.again_max = options.again_max;
                         });
}

// The calls of an operation over many parts; add(batches, part) puts one into its batch.
template <typename In, typename Parts, typename Add>
std::vector<RemoteMade> reads_of(const NodeRef& node, const Parts& parts, const RemoteOptions& options, Add add) {
    Batches<In> batches(node, options, na::Access::read);
    for (const auto& part : parts) add(batches, part);
    return read_into(batches, options);
}

template <typename In, typename Parts, typename Add>
std::vector<RemoteMade> writes_of(const NodeRef& node, const Parts& parts, const RemoteOptions& options, Add add) {
    Batches<In> batches(node, options, na::Access::write);
    for (const auto& part : parts) add(batches, part);
    return write_from(node, batches, options);
}

RemoteMade make_checked_read(const NodeRef& node, const RemoteBytes& from, const bulk::Region& into,
                             const RemoteOptions& options) {
    if (auto refused = not_read_back(into)) return refused_call(node, *std::move(refused));
    auto arguments = whole<remote_calls::CheckedGather>(from);
    arguments.into = Bulk(into, na::Access::read_write);
    arguments.again_max = options.again_max;
    return made(node, remote_calls::checked_gather, from, into.bytes(), na::Access::read, options, arguments);
}

RemoteMade make_checked_write(const NodeRef& node, const RemoteBytes& to, const bulk::Region& from,
                              const RemoteOptions& options) {
    if (from.is_far()) return refused_call(node, no_sums_of_far_memory());
    auto arguments = whole<remote_calls::CheckedScatter>(to);
    arguments.notify = options.notify;
    arguments.from = Bulk(from, na::Access::read);
    arguments.sums = ChunkSums::of(from, remote_calls::remote_chunk_bytes);
    arguments.again_max = options.again_max;
    return made(node, remote_calls::checked_scatter, to, from.bytes(), na::Access::write, options, arguments);
}

}  // namespace

RemoteMade make_look(const NodeRef& node, const RemoteBytes& from, std::uint64_t bytes, const RemoteOptions& options) {
    if (from.is_far()) return refused_call(node, not_of_far_memory());
    const remote_calls::Look arguments{from.grant(), from.offset(), bytes};
    return made(node, remote_calls::look, from, bytes, na::Access::read, options, arguments);
}

RemoteMade make_read(const NodeRef& node, const RemoteBytes& from, Bytes into, const RemoteOptions& options) {
    if (is_inline(from, into.size(), options)) return make_look(node, from, into.size(), options);
    auto region = bulk::Region::expose(into, options.checked ? na::Access::read_write : na::Access::write);
    if (!region) return refused_call(node, std::move(region).error());
    return make_read(node, from, *region, options);
}

RemoteMade make_read(const NodeRef& node, const RemoteBytes& from, const bulk::Region& into,
                     const RemoteOptions& options) {
    if (options.checked) return make_checked_read(node, from, into, options);
    auto arguments = whole<remote_calls::Gather>(from);
    arguments.into = Bulk(into, na::Access::write);
    return made(node, remote_calls::gather, from, into.bytes(), na::Access::read, options, arguments);
}

RemoteMade make_write(const NodeRef& node, const RemoteBytes& to, ConstBytes from, const RemoteOptions& options) {
    if (is_inline(to, from.size(), options)) return make_put(node, to, from, options);
    auto region = bulk::Region::expose(from);
    if (!region) return refused_call(node, std::move(region).error());
    return make_write(node, to, *region, options);
}

RemoteMade make_put(const NodeRef& node, const RemoteBytes& to, ConstBytes from, const RemoteOptions& options) {
    if (to.is_far()) return refused_call(node, not_of_far_memory());
    const remote_calls::Put arguments{to.grant(), to.offset(), options.notify, from};
    const auto& rpc = options.notify ? remote_calls::put_and_notify : remote_calls::put;
    return made(node, rpc, to, from.size(), na::Access::write, options, arguments);
}

RemoteMade make_write(const NodeRef& node, const RemoteBytes& to, const bulk::Region& from,
                      const RemoteOptions& options) {
    if (options.checked) return make_checked_write(node, to, from, options);
    auto arguments = whole<remote_calls::Scatter>(to);
    arguments.notify = options.notify;
    arguments.from = Bulk(from, na::Access::read);
    return made(node, remote_calls::scatter, to, from.bytes(), na::Access::write, options, arguments);
}

RemoteMade make_word(const NodeRef& node, const RemoteBytes& at, WordOp op, std::uint64_t value, std::uint64_t expected,
                     const RemoteOptions& options) {
    if (at.is_far()) return refused_call(node, not_of_far_memory());
    const remote_calls::Word arguments{at.grant(), at.offset(), op, static_cast<std::uint8_t>(at.bytes()),
                                       value,      expected};
    return made(node, remote_calls::word, at, at.bytes(), na::Access::read_write, options, arguments);
}

std::vector<RemoteMade> make_reads(const NodeRef& node, std::span<const RemoteRead> parts,
                                   const RemoteOptions& options) {
    const auto add = [](auto& batches, const RemoteRead& part) { batches.add(part.from, part.into, part.into.size()); };
    if (options.checked) return reads_of<remote_calls::CheckedGather>(node, parts, options, add);
    return reads_of<remote_calls::Gather>(node, parts, options, add);
}

std::vector<RemoteMade> make_far_reads(const NodeRef& node, std::span<const RemotePart> parts,
                                       const RemoteOptions& options) {
    const auto add = [](auto& batches, const RemotePart& part) {
        batches.add(part.remote, part.local, part.local.bytes());
    };
    if (options.checked) return reads_of<remote_calls::CheckedGather>(node, parts, options, add);
    return reads_of<remote_calls::Gather>(node, parts, options, add);
}

std::vector<RemoteMade> make_writes(const NodeRef& node, std::span<const RemoteWrite> parts,
                                    const RemoteOptions& options) {
    const auto add = [](auto& batches, const RemoteWrite& part) {
        // The region is exposed read-only, so the memory is never written.
        batches.add(part.to, Bytes(const_cast<std::byte*>(part.from.data()), part.from.size()), part.from.size());
    };
    if (options.checked) return writes_of<remote_calls::CheckedScatter>(node, parts, options, add);
    return writes_of<remote_calls::Scatter>(node, parts, options, add);
}

std::vector<RemoteMade> make_far_writes(const NodeRef& node, std::span<const RemotePart> parts,
                                        const RemoteOptions& options) {
    if (options.checked) return one_refused(node, no_sums_of_far_memory());
    return writes_of<remote_calls::Scatter>(node, parts, options, [](auto& batches, const RemotePart& part) {
        batches.add(part.remote, part.local, part.local.bytes());
    });
}

Error not_of_far_memory() {
    return {Errc::unsupported, "files and the memory of devices have no single objects or words: use RemoteSpan"};
}

std::optional<Error> not_read_back(const bulk::Region& into) {
    if (na::allows(into.access(), na::Access::read_write)) return std::nullopt;
    return Error(Errc::permission, "what was read is read back to check it: make the local region read_write");
}

Error no_sums_of_far_memory() {
    return {Errc::unsupported,
            "a checked write sends checksums of host memory: copy the file or device memory there first, or have the "
            "owner pull it with ChunkSums::read"};
}

Error too_many_to_notify() {
    return {Errc::too_large,
            "a write that notifies is one call, so that its owner learns of it once all is in place: write in several "
            "steps, and notify with the last"};
}

Error remote_error(std::optional<Error>& refused, bool not_followed, Error error) {
    if (refused) return *std::move(refused);
    if (not_followed && (error.code == Errc::stale || error.code == Errc::permission))
        error.hint =
            "the caller was asked, since RemoteOptions::follow_owner is not set: set it if the memory is a third "
            "party's";
    return error;
}

}  // namespace cinnabar::hl::detail
