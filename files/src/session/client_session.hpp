// SPDX-License-Identifier: BSD-3-Clause
// The client's side of a session with one server: it logs in, saves and fetches files. Several windows of a file are
// under way at once. Belongs to one executor (client.hpp). Its buffers bound its memory.
#pragma once

#include "session/buffers.hpp"
#include "session/disk.hpp"
#include "session/pace.hpp"
#include "session/protocol.hpp"
#include "session/rate.hpp"
#include "session/seal.hpp"
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

namespace cinnabar::files {

// Whether a server can have told the truth.
[[nodiscard]] bool can_be(const Attributes& attributes) noexcept;
// Whether only those blocks of a file are moved that the older version lacks. For smaller files that would not be
// faster.
[[nodiscard]] constexpr bool compares_blocks(Existing existing, bool whole, std::uint64_t bytes) noexcept {
    return existing == Existing::replace && !whole && bytes > small_file_bytes_max;
}

class ClientSession {
  public:
    // `key` may be null; it must outlive the session.
    ClientSession(const hl::NodeRef& node, na::Addr server, const Key* key, Keyless keyless);
    // Requires: it was closed, or never opened.
    ~ClientSession() = default;
    ClientSession(const ClientSession&) = delete;
    ClientSession& operator=(const ClientSession&) = delete;

    // Logs in and holds the session. permission: a key is missing, wrong, or the server could not prove it.
    // unsupported, protocol, no_such_rpc: no save service of this version. And what calls fail with.
    [[nodiscard]] hl::Task<Result<void>> open();
    // Ends the session; the server removes unfinished files. Also needed after open() has failed.
    [[nodiscard]] hl::Task<void> close();

    // Saves a file under a name. The errors of the server's Root and of SourceFile; bad_checksum: it changed meanwhile.
    // unsupported: a push over a transport that cannot notify. Requires: open() was ok. Several at once.
    [[nodiscard]] hl::Task<Result<Moved>> save(OpenSource open_source, const std::string& name, SaveMode mode,
                                               BytesMoved progress);
    [[nodiscard]] hl::Task<std::vector<Result<Moved>>> save_small(const std::vector<SmallFile>& files, SaveMode mode);
    [[nodiscard]] std::uint64_t window_bytes() const noexcept { return window_bytes_; }
    // Fetches a file into a directory, under `mode.as`. Errors as above, from both sides.
    [[nodiscard]] hl::Task<Result<Moved>> fetch(const std::string& name, const Root& into, FetchMode mode,
                                                BytesMoved progress, std::function<void(std::uint64_t)> announced);

    // Makes `to` pull a file of this server. See copy().
    [[nodiscard]] hl::Task<Result<Moved>> copy(const std::string& name, ClientSession& to, const std::string& as,
                                               CopyMode mode, BytesMoved progress,
                                               std::function<void(std::uint64_t)> announced);

    // See Client.
    void limit_rate(std::uint64_t bytes_per_second) noexcept { rate_ = Rate(bytes_per_second); }
    [[nodiscard]] hl::Task<Result<void>> make(MakeIn in);
    [[nodiscard]] hl::Task<Result<Listing>> list(std::string name, ExtendedKinds extended);
    [[nodiscard]] hl::Task<Result<bool>> has_content(OpenSource open_source, const std::string& name);
    [[nodiscard]] hl::Task<Result<Verified>> verify(const std::string& name);
    [[nodiscard]] hl::Task<Result<Seen>> look(const std::string& name, ExtendedKinds extended);
    [[nodiscard]] hl::Task<Result<void>> remove(const std::string& name);
    [[nodiscard]] hl::Task<Result<std::vector<Remains>>> list_remains();
    [[nodiscard]] hl::Task<Result<std::uint32_t>> remove_remains(std::string name);

  private:
    struct Sending;
    struct Receiving;
    struct Packing;
    struct Copying;
    [[nodiscard]] hl::Task<Result<Moved>> save_alone(const SmallFile& file, SaveMode mode);
    [[nodiscard]] hl::Task<Result<void>> send_pack(Packing& pack, const std::vector<SmallFile>& files, SaveMode mode);
    [[nodiscard]] hl::Task<Result<LoginOut>> log_in();
    [[nodiscard]] Result<void> serve_own_calls();
    [[nodiscard]] static hl::Task<void> hold(hl::NodeRef node, na::Addr server, HoldIn in);
    [[nodiscard]] hl::Task<Result<std::optional<std::uint64_t>>> compare(const SourceFile& source,
                                                                         const std::string& name);
    [[nodiscard]] hl::Task<Result<Moved>> find_saved(const SourceFile& source, const std::string& name);
    [[nodiscard]] hl::Task<Result<std::uint64_t>> sum_here(const SourceFile& source);
    [[nodiscard]] hl::Task<Result<void>> fill(hl::Request<FillIn> request);
    // Waits until the rate allows so many bytes more, or `failure` is set.
    [[nodiscard]] hl::Task<Errc> keep_rate(std::uint64_t bytes, const std::optional<Error>& failure);
    // Opens a file to be fetched. protocol: the server's description of it is impossible.
    [[nodiscard]] hl::Task<Result<AskOut>> ask_for(const std::string& name, ExtendedKinds extended);
    [[nodiscard]] hl::Task<Result<OpenOut>> open_copy(OpenIn open);
    [[nodiscard]] hl::Task<Result<Moved>> find_copied(const std::string& name, ClientSession& to,
                                                      const std::string& as);
    [[nodiscard]] hl::Task<Result<void>> take(hl::Request<TakeIn> request);
    [[nodiscard]] hl::Task<void> give_up(std::uint64_t file, bool keep = false);
    [[nodiscard]] std::uint64_t lanes_for(std::uint64_t bytes) const noexcept;

    hl::NodeRef node_;
    na::Addr server_;
    const Key* key_;
    const Keyless keyless_;
    hl::Scope scope_;
    Disk disk_;
    Seals seals_;
    std::uint64_t window_bytes_ = 0;
    std::uint32_t windows_max_ = 1;
    Pace pace_;
    Rate rate_;
    Pace packs_;  // under way: their files count at the server
    SessionPart part_;
    std::unique_ptr<Buffers> buffers_;  // made of the size that the server wants
    std::map<std::uint64_t, std::shared_ptr<Sending>> pushing_;
    std::map<std::uint64_t, std::shared_ptr<Copying>> copying_;
    std::optional<std::uint16_t> provider_;  // of its handlers; other sessions of the node have others
    Inside inside_;                          // handlers in progress
};

}  // namespace cinnabar::files
