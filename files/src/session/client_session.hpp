// SPDX-License-Identifier: BSD-3-Clause
// The implementation of Client: a session with one server. Belongs to one executor (client.hpp).
#pragma once

#include "session/buffers.hpp"
#include "session/disk.hpp"
#include "session/pace.hpp"
#include "session/protocol.hpp"
#include "session/rate.hpp"
#include "session/signed_calls.hpp"
#include "session/streams.hpp"
#include "session/waiting.hpp"

#include <cinnabar/files/client.hpp>
#include <cinnabar/files/copy.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/request.hpp>
#include <cinnabar/hl/scope.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::files {

// Whether a server that was asked for `extended` may send these attributes: without this check, the server could give
// fetched files and folders an ACL that nobody has asked for.
[[nodiscard]] bool can_be(const Attributes& attributes, const ExtendedKinds& extended) noexcept;
// Whether only the blocks that differ from the older version are sent. For small files this would not be faster.
[[nodiscard]] constexpr bool compares_blocks(Existing existing, bool whole, std::uint64_t bytes) noexcept {
    return existing == Existing::replace && !whole && bytes > small_file_bytes_max;
}

class ClientSession {
  public:
    // `key` may be null. It must outlive the session.
    ClientSession(const hl::NodeRef& node, na::Addr server, const Key* key, Keyless keyless);
    // Requires: the session was closed, or never opened.
    ~ClientSession() = default;
    ClientSession(const ClientSession&) = delete;
    ClientSession& operator=(const ClientSession&) = delete;

    // See Client::open().
    [[nodiscard]] hl::Task<Result<void>> open();
    // See Client::close().
    [[nodiscard]] hl::Task<void> close();

    // See Client::save().
    [[nodiscard]] hl::Task<Result<Moved>> save(OpenSource open_source, const std::string& name, SaveMode mode,
                                               BytesMoved progress);
    [[nodiscard]] hl::Task<std::vector<Result<Moved>>> save_small(const std::vector<SmallFile>& files, SaveMode mode);
    [[nodiscard]] std::uint64_t window_bytes() const noexcept { return window_bytes_; }
    [[nodiscard]] const AttributePrecision& precision() const noexcept { return precision_; }
    // See Client::fetch().
    [[nodiscard]] hl::Task<Result<Moved>> fetch(const std::string& name, const Root& into, FetchMode mode,
                                                BytesMoved progress, std::function<void(std::uint64_t)> announced);
    [[nodiscard]] hl::Task<std::vector<Result<Moved>>> fetch_small(const std::vector<ListedFile>& files,
                                                                   const Root& into, FetchMode mode);

    // Makes the server of `to` pull a file from this session's server. See files::copy().
    [[nodiscard]] hl::Task<Result<Moved>> copy(const std::string& name, ClientSession& to, const std::string& as,
                                               CopyMode mode, BytesMoved progress,
                                               std::function<void(std::uint64_t)> announced);

    // See files::copy_small().
    [[nodiscard]] hl::Task<std::vector<Result<Moved>>> copy_small(const std::vector<CopiedFile>& files,
                                                                  ClientSession& to, CopyMode mode);

    // Where the session's tasks run if the coroutine that awaits them has no executor.
    [[nodiscard]] hl::Executor& executor() const noexcept { return executor_; }
    // See the functions of Client with these names.
    void limit_rate(std::uint64_t bytes_per_second) noexcept { rate_ = Rate(bytes_per_second); }
    [[nodiscard]] hl::Task<Result<void>> make(MakeIn in);
    [[nodiscard]] hl::Task<Result<Listing>> list(std::string name, ExtendedKinds extended,
                                                 std::optional<std::string_view> no_links_below, ListingBudget* budget);
    [[nodiscard]] hl::Task<Result<bool>> has_content(OpenSource open_source, const std::string& name);
    [[nodiscard]] hl::Task<Result<bool>> was_saved_from(OpenSource open_source, const std::string& name);
    [[nodiscard]] hl::Task<Result<Verified>> verify(const std::string& name);
    [[nodiscard]] hl::Task<Result<Seen>> look(const std::string& name, ExtendedKinds extended);
    [[nodiscard]] hl::Task<Result<void>> remove(const std::string& name,
                                                std::optional<std::string_view> no_links_below);
    [[nodiscard]] hl::Task<std::vector<Result<void>>> make_many(const std::vector<NewEntry>& entries);
    [[nodiscard]] hl::Task<std::vector<Result<void>>> remove_many(const std::vector<std::string>& names,
                                                                  std::optional<std::string_view> no_links_below);
    [[nodiscard]] hl::Task<Result<std::vector<Remains>>> list_remains();
    [[nodiscard]] hl::Task<Result<std::uint32_t>> remove_remains(std::string name);

  private:
    struct Sending;
    struct Receiving;
    struct Packing;
    struct Unpacking;
    struct Copying;
    struct CopyingPack;
    struct MoreStreams;
    [[nodiscard]] hl::Task<Result<Moved>> save_alone(const SmallFile& file, SaveMode mode);
    [[nodiscard]] hl::Task<Result<void>> send_pack(Packing& pack, const std::vector<SmallFile>& files, SaveMode mode);
    [[nodiscard]] hl::Task<Result<LoginOut>> log_in();
    [[nodiscard]] Result<void> serve_own_calls();
    [[nodiscard]] static hl::Task<void> hold(hl::NodeRef node, na::Addr server, HoldIn in);
    [[nodiscard]] hl::Task<Result<std::optional<std::uint64_t>>> compare(const SourceFile& source,
                                                                         const std::string& name);
    [[nodiscard]] hl::Task<Result<Moved>> find_saved(const SourceFile& source, const std::string& name, Error exists);
    [[nodiscard]] hl::Task<Result<std::uint64_t>> sum_here(const SourceFile& source);
    [[nodiscard]] hl::Task<Result<void>> fill(hl::Request<FillIn> request);
    // Waits until the rate limit allows `bytes` more, or `failure` is set.
    [[nodiscard]] hl::Task<Errc> keep_rate(std::uint64_t bytes, const std::optional<Error>& failure);
    // Opens a file to be fetched. protocol: the server's description of it is impossible.
    [[nodiscard]] hl::Task<Result<AskOut>> ask_for(const std::string& name, ExtendedKinds extended);
    [[nodiscard]] hl::Task<Result<OpenOut>> open_copy(OpenIn open);
    [[nodiscard]] hl::Task<Result<Moved>> find_copied(const std::string& name, ClientSession& to, const std::string& as,
                                                      Error exists);
    [[nodiscard]] hl::Task<Result<void>> take(hl::Request<TakeIn> request);
    [[nodiscard]] hl::Task<void> give_up(std::uint64_t file, bool keep = false);
    [[nodiscard]] std::uint64_t lanes_for(std::uint64_t bytes) const noexcept;

    hl::NodeRef node_;
    hl::Executor& executor_;
    na::Addr server_;
    const Key* key_;
    const Keyless keyless_;
    hl::Scope scope_;
    Disk disk_;
    Seals seals_;
    std::uint64_t window_bytes_ = 0;
    std::uint32_t windows_max_ = 1;
    AttributePrecision precision_;  // of the file system of the server
    Pace pace_;
    Streams streams_;
    Rate rate_;
    Pace packs_;  // limits calls with packs in progress; the server counts each of their files
    SessionPart part_;
    std::unique_ptr<Buffers> buffers_;  // of the window size that the server announced
    std::map<std::uint64_t, std::shared_ptr<Sending>> pushing_;
    std::map<std::uint64_t, std::shared_ptr<Copying>> copying_;
    std::map<std::uint64_t, std::shared_ptr<CopyingPack>> packs_asked_;      // being copied from this server
    std::map<std::uint64_t, std::shared_ptr<CopyingPack>> packs_handed_on_;  // being copied to this server
    std::uint64_t next_pack_ = 1;
    std::optional<std::uint16_t> provider_;  // provider number of this session's handlers; each session of a node has
                                             // its own
    Inside inside_;                          // handlers in progress
};

}  // namespace cinnabar::files
