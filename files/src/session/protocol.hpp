// SPDX-License-Identifier: BSD-3-Clause
// The RPCs of the save service, shared by client and server. docs/save-service.md describes their meaning, their order
// and the guarantees of each side; change both together.
#pragma once

#include "session/source_mark.hpp"

#include <cinnabar/files/attribute_precision.hpp>
#include <cinnabar/files/batch.hpp>
#include <cinnabar/files/entry.hpp>
#include <cinnabar/files/key.hpp>
#include <cinnabar/files/new_file.hpp>
#include <cinnabar/files/remains.hpp>
#include <cinnabar/files/verified.hpp>
#include <cinnabar/hl/bulk.hpp>
#include <cinnabar/hl/rpc.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cinnabar::files {

inline constexpr std::uint32_t protocol_version = 10;

// --- opening a session

struct HelloIn {
    std::uint32_t version = 0;
    Nonce nonce{};  // the client's
};
// The server keeps no copy: the login returns the challenge, and the server recognises it by the tag.
struct Challenge {
    Nonce nonce{};                // the server's
    std::uint64_t issued_us = 0;  // on the server's clock
    Proof tag{};  // HMAC-SHA256 with a secret of the server over these fields, the client's nonce, and the connection
};
struct HelloOut {
    std::uint32_t version = 0;
    bool wants_key = false;
    Challenge challenge;
};
inline constexpr hl::Rpc<HelloOut(HelloIn)> hello_rpc{"cinnabar.save.hello"};

struct LoginIn {
    Nonce nonce{};  // the client's, as in its hello
    Challenge challenge;
    Proof proof{};  // zeros without a key
};
struct LoginOut {
    Token token;
    Proof proof{};                   // the server's, over all these fields; zeros without a key
    std::uint64_t window_bytes = 0;  // size of a window
    std::uint32_t windows_max = 0;   // windows of one file that the server handles at once
    AttributePrecision precision;    // of the file system of the root
};
inline constexpr hl::Rpc<LoginOut(LoginIn)> login_rpc{"cinnabar.save.login"};

// The first field of every call of a session, from either side.
struct Seal {
    Token token;               // of the session; valid only on its connections
    std::uint64_t number = 0;  // number of this call among those of its sender; each is valid once
    Proof mac{};               // MAC with the session's secret over the call (signed_calls.hpp); zeros without a key
};

struct HoldIn {
    Seal seal;
    std::uint16_t provider = 0;  // provider number of the RPCs that the client serves (fill, take); a node may have
                                 // several sessions
};
// This call stays open as long as the session, and ends only with an error. When it ends, for whatever reason, the
// server ends the session and the session's files in progress, and keeps what can be resumed as remains.
inline constexpr hl::Rpc<void(HoldIn)> hold_rpc{"cinnabar.save.hold"};

// --- more connections of a session

// If one connection does not fill the network path, windows of the session's files go over several connections. Over
// each further connection, the client makes a hello call, and then a join call in place of a login. The answer to join
// proves that the server at the other end is the session's. From then on, calls of the session may come over this
// connection, sealed as over the first one; only window, read and push calls gain from that. A hold call stays open
// over each further connection, too; when that call ends, only its connection leaves the session.
inline constexpr unsigned session_connections_max = 8;  // with the first one
struct JoinIn {
    Seal seal;            // of the session
    Nonce nonce{};        // the client's, as in its hello over the new connection
    Challenge challenge;  // from the answer to that hello
};
struct JoinOut {
    Proof proof{};  // MAC with the session's secret over the token and the fields of JoinIn; zeros without a key
};
inline constexpr hl::Rpc<JoinOut(JoinIn)> join_rpc{"cinnabar.save.join"};

// The largest file size that the operating system supports (off_t). A receiver refuses a file that is announced to be
// larger.
inline constexpr std::uint64_t file_bytes_max = (std::uint64_t{1} << 63) - 1;

// --- saving a file

struct OpenIn {
    Seal seal;
    std::string name;
    std::uint64_t bytes = 0;
    Attributes attributes;
    bool exact = false;  // apply all attributes; otherwise the mode less the server's umask
    bool sparse = false;
    bool replace = false;
    bool checked = true;    // the commit carries a checksum
    bool compares = false;  // skip blocks that equal those of the file with this name
    SourceMark source{};    // of the file on the client's disk and its state; zeros: unknown
    bool rereads = false;   // OpenOut::proven_bytes is to be 0
};
struct OpenOut {
    std::uint64_t file = 0;  // identifies the file in later calls
    // The number of bytes, from the beginning of the file, that the server kept of an interrupted save: whole windows,
    // or the whole file. The client claims these windows, or lends them with their checksums, even if it pushes later
    // windows; the server pulls only windows that differ.
    std::uint64_t resumed_bytes = 0;
    // The size of the existing file of this name. The client lends also the windows that begin below this size, and
    // sends the checksums of their blocks; the server pulls only the blocks that differ.
    std::uint64_t basis_bytes = 0;
    // How many of resumed_bytes need not be read again: whole windows, from the beginning of the file, that this server
    // compared with this client's checksums when they arrived. Neither the source nor the staged file has changed
    // since. These bytes count as received: the client sends only what follows them, and its checksums of the file
    // begin there, too.
    std::uint64_t proven_bytes = 0;
};
inline constexpr hl::Rpc<OpenOut(OpenIn)> open_rpc{"cinnabar.save.open"};

struct WindowIn {
    Seal seal;
    std::uint64_t file = 0;
    std::uint64_t offset = 0;
    bool again = false;          // the same window was sent over another connection, which was lost
    bool hole = false;           // a hole of a sparse file: all zeros, and nothing is lent
    std::uint64_t checksum = 0;  // XXH3 of this window if it is below resumed_bytes; otherwise 0
    // block_checksums() of this window, if it starts below basis_bytes, or if the file is sparse and the window has
    // blocks of zeros: the server does not pull blocks that its older version has, nor, for a sparse file, blocks of
    // zeros. May be empty.
    std::vector<std::uint64_t> blocks;
    // XXH3 of the file from proven_bytes to the end of this window, if the client knows it. The server compares it with
    // the checksum of its own data before it writes the window.
    std::optional<std::uint64_t> so_far;
    hl::Bulk window;  // readable
};
struct WindowOut {
    std::uint64_t had_bytes = 0;  // bytes that the server did not pull, because it had them or because they are zeros
};
// Answered when the bytes are written.
inline constexpr hl::Rpc<WindowOut(WindowIn)> window_rpc{"cinnabar.save.window"};

// Sends the checksums, without the bytes, of windows that the server kept of an interrupted save. A file has one such
// call at a time, and only before its first window call; each claim begins where the previous one ended.
inline constexpr std::size_t claimed_windows_max = 16;
// A claim is read in pieces that stay in the cache of the processor while they are hashed.
inline constexpr std::size_t claimed_piece_bytes = 128u << 10;
struct ClaimIn {
    Seal seal;
    std::uint64_t file = 0;
    std::uint64_t offset = 0;
    std::vector<std::uint64_t> checksums;  // XXH3 of each window from `offset` on; at most claimed_windows_max
};
struct ClaimOut {
    // How many of these windows, from the first one on, the server has read from its disk and found to be as claimed.
    // The client sends the window after these by a window call. If the disk is slow, the server answers before it has
    // read all windows (claim_step).
    std::uint32_t windows = 0;
};
inline constexpr hl::Rpc<ClaimOut(ClaimIn)> claim_rpc{"cinnabar.save.claim"};

// Sends a window by a push: the server grants a buffer in a fill call to the client, which writes into it.
struct PushIn {
    Seal seal;
    std::uint64_t file = 0;
    std::uint64_t offset = 0;
    bool again = false;  // as WindowIn::again
};
// Answered when the bytes are written.
inline constexpr hl::Rpc<void(PushIn)> push_rpc{"cinnabar.save.push"};

struct FillIn {
    Seal seal;  // proves that the server sent the call
    std::uint64_t file = 0;
    std::uint64_t offset = 0;
    std::uint32_t notice = 0;  // value of the notification that the client sends when the bytes are in place
    hl::Bulk buffer;           // writable; of the size of the window
};
inline constexpr hl::Rpc<void(FillIn)> fill_rpc{"cinnabar.save.fill"};

struct CommitIn {
    Seal seal;
    std::uint64_t file = 0;
    std::uint64_t checksum = 0;  // 64-bit XXH3 of the file from proven_bytes to its end, if checked
    bool synced = true;
};
struct CommitOut {
    std::uint64_t checksum = 0;  // 64-bit XXH3 of the whole file, if checked
};
// Answered when the file was renamed into place and, if `synced`, is on disk.
inline constexpr hl::Rpc<CommitOut(CommitIn)> commit_rpc{"cinnabar.save.commit"};

// --- saving many small files at once

inline constexpr std::size_t pack_files_max = 64;
inline constexpr std::uint64_t packed_file_bytes_max = 128u << 10;  // larger ones are saved by themselves
inline constexpr std::size_t pack_text_bytes_max = 64u << 10;       // total size of names and extended attributes

struct PackedFile {
    std::string name;
    std::uint64_t bytes = 0;
    std::uint64_t checksum = 0;  // XXH3, if checked
    Attributes attributes;
};
struct PackIn {
    Seal seal;
    std::vector<PackedFile> files;  // their contents are concatenated in the window
    bool exact = false;             // as in OpenIn, for all files
    bool replace = false;
    bool checked = true;
    Sync sync = Sync::batch;
    hl::Bulk window;  // readable; of the total size of the files
    // If another server lends the window: a number, chosen by the client, with which a `pulled` call tells the client
    // that the window is no longer used. 0: only the answer to this call tells the client.
    std::uint64_t pulled = 0;
};
struct PackedOutcome {
    Errc code = Errc::ok;
    std::string text;
};
struct PackOut {
    std::vector<PackedOutcome> outcomes;  // one for each file, in order
};
// Answered when all files were renamed into place, synced as `sync` says, or have failed.
inline constexpr hl::Rpc<PackOut(PackIn)> pack_rpc{"cinnabar.save.pack"};

// --- fetching a file

struct AskIn {
    Seal seal;
    std::string name;
    ExtendedKinds extended;
};
struct AskOut {
    std::uint64_t file = 0;
    std::uint64_t bytes = 0;
    Attributes attributes;
    bool sparse = false;
};
inline constexpr hl::Rpc<AskOut(AskIn)> ask_rpc{"cinnabar.save.ask"};

struct ReadIn {
    Seal seal;
    std::uint64_t file = 0;
    std::uint64_t offset = 0;
    bool again = false;                 // the same window was requested over another connection, which was lost
    bool offered = false;               // the client already has the whole window
    std::uint64_t checksum = 0;         // XXH3 of the offered bytes
    std::vector<std::uint64_t> blocks;  // block_checksums() of what the client has there: its older version, followed
                                        // by zeros if the file is sparse; may be empty
    hl::Bulk window;                    // writable; of the size of the range to read
};
struct ReadOut {
    bool hole = false;            // a hole of a sparse file: all zeros, and nothing was written
    std::uint64_t had_bytes = 0;  // of the offered bytes, those that matched and were not sent
};
// Answered when the bytes are in place.
inline constexpr hl::Rpc<ReadOut(ReadIn)> read_rpc{"cinnabar.save.read"};

struct FinishIn {
    Seal seal;
    std::uint64_t file = 0;
};
struct FinishOut {
    std::uint64_t checksum = 0;  // of everything that was read
};
inline constexpr hl::Rpc<FinishOut(FinishIn)> finish_rpc{"cinnabar.save.finish"};

// --- fetching many small files at once; the limits are those of packs that are saved

struct WantedFile {
    std::string name;
    std::uint64_t bytes = 0;  // the size that the server listed
};
struct ReadPackIn {
    Seal seal;
    std::vector<WantedFile> files;  // their contents are concatenated in the window
    ExtendedKinds extended;
    hl::Bulk window;  // writable; of the total size of the files
};
struct GivenFile {
    // again: its size has changed, or the answer has no room for its attributes; fetch it by a call of its own
    PackedOutcome outcome;
    std::uint64_t checksum = 0;  // XXH3 of its content
    Attributes attributes;
    bool sparse = false;  // its content is in the window nevertheless
};
struct ReadPackOut {
    std::vector<GivenFile> files;  // one for each file, in order
};
// Answered when the contents of all files that have not failed are in place.
inline constexpr hl::Rpc<ReadPackOut(ReadPackIn)> read_pack_rpc{"cinnabar.save.read_pack"};

// --- copying a file to another server

// Asks the server to lend a window of an opened file to the client, in a take call. The client forwards the memory to
// the destination server in a window call, so the data goes directly between the servers.
struct LendIn {
    Seal seal;
    std::uint64_t file = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;  // window size of the destination server
    bool offered = false;     // the destination server may already have it and needs its checksum
    bool compares = false;    // the destination server skips blocks that it has and, of a sparse file, blocks of zeros:
                              // it needs the checksums of the blocks
};
struct LendOut {
    bool hole = false;  // a hole of a sparse file: all zeros, and nothing was lent
};
// Completes when the client has answered the take call.
inline constexpr hl::Rpc<LendOut(LendIn)> lend_rpc{"cinnabar.save.lend"};

struct TakeIn {
    Seal seal;  // proves that the server sent it
    std::uint64_t file = 0;
    std::uint64_t offset = 0;
    std::uint64_t checksum = 0;         // XXH3 of this window, if offered
    std::vector<std::uint64_t> blocks;  // block_checksums() of it, if requested
    hl::Bulk window;                    // readable
};
// Completes when the destination server no longer uses the memory.
inline constexpr hl::Rpc<void(TakeIn)> take_rpc{"cinnabar.save.take"};

// Asks the server to read many small files, as in a read_pack call, and to lend their contents to the client, in a
// take_pack call. The client forwards the memory to the destination server in a pack call.
struct LendPackIn {
    Seal seal;
    std::uint64_t pack = 0;         // chosen by the client, for the take_pack call
    std::vector<WantedFile> files;  // at most pack_files_max
    ExtendedKinds extended;
    std::uint64_t text_bytes = 0;  // how many bytes of extended attributes there may be, at most pack_text_bytes_max
};
// Completes when the client has answered the take_pack call.
inline constexpr hl::Rpc<void(LendPackIn)> lend_pack_rpc{"cinnabar.save.lend_pack"};

struct TakePackIn {
    Seal seal;  // proves that the server sent it
    std::uint64_t pack = 0;
    std::vector<GivenFile> files;  // one for each file, in order; again: also for a sparse file
    hl::Bulk window;               // readable; the contents of the files that have not failed, one after another
};
// Completes when the destination server no longer uses the memory.
inline constexpr hl::Rpc<void(TakePackIn)> take_pack_rpc{"cinnabar.save.take_pack"};

struct PulledIn {
    Seal seal;                 // proves that the destination server sent it
    std::uint64_t pulled = 0;  // PackIn::pulled
};
// From the destination server: the contents of a pack have arrived, and are being written.
inline constexpr hl::Rpc<void(PulledIn)> pulled_rpc{"cinnabar.save.pulled"};

// Makes the server read a file from disk again and return its checksum, step by step: each call reads for a few seconds
// (ServerOptions::sum_step), at least one window, so the deadline of a call does not depend on the size of the file.
struct SumIn {
    Seal seal;
    std::string name;
    std::uint64_t file = 0;  // 0: the first step; otherwise SumOut::file, and the name is not used
};
struct SumOut {
    std::uint64_t file = 0;  // 0: the file was read to its end; otherwise identifies it for the next step
    std::uint64_t position = 0;
    Verified verified;  // at the end
};
inline constexpr hl::Rpc<SumOut(SumIn)> sum_rpc{"cinnabar.save.sum"};

// --- querying and removing entries

struct LookIn {
    Seal seal;
    std::string name;  // any entry; a symbolic link is not followed
    ExtendedKinds extended;
};
struct LookOut {
    Entry entry;
    StoredChecksum stored;  // of a file
};
inline constexpr hl::Rpc<LookOut(LookIn)> look_rpc{"cinnabar.save.look"};

// Where the path of a name may contain symbolic links: anywhere, or only above the folder `below`, which contains the
// name.
struct LinkLimit {
    bool limited = false;
    std::string below;  // if limited; empty: the root

    [[nodiscard]] static LinkLimit of(std::optional<std::string_view> no_links_below) {
        return no_links_below ? LinkLimit{true, std::string(*no_links_below)} : LinkLimit{};
    }
    [[nodiscard]] std::optional<std::string_view> no_links_below() const {
        return limited ? std::optional<std::string_view>(below) : std::nullopt;
    }
};

struct RemoveIn {
    Seal seal;
    std::string name;  // of a file, a link, or an empty folder
    LinkLimit links;   // of the folder that it is in
};
// Answered when the removal is on disk.
inline constexpr hl::Rpc<void(RemoveIn)> remove_rpc{"cinnabar.save.remove"};

// --- trees

struct MakeIn {
    Seal seal;
    MakeKind kind = MakeKind::folder;
    std::string name;
    std::string target;
    Attributes attributes;
    bool replace = false;
};
// Answered when the change is on disk.
inline constexpr hl::Rpc<void(MakeIn)> make_rpc{"cinnabar.save.make"};

// --- many entries at once; at most batch_entries_max and batch_text_bytes_max, and each name only once

struct BatchOut {
    std::vector<PackedOutcome> outcomes;  // one for each entry, in order
};
struct MakeManyIn {
    Seal seal;
    std::vector<NewEntry> entries;  // made in order
};
// Answered when all changes are on disk, or have failed. Each folder is synced once, after the last change.
inline constexpr hl::Rpc<BatchOut(MakeManyIn)> make_many_rpc{"cinnabar.save.make_many"};

struct RemoveManyIn {
    Seal seal;
    std::vector<std::string> names;  // removed in order; as RemoveIn::name
    LinkLimit links;                 // of the folders that they are in
};
// Answered as make_many.
inline constexpr hl::Rpc<BatchOut(RemoveManyIn)> remove_many_rpc{"cinnabar.save.remove_many"};

struct ListIn {
    Seal seal;
    std::string name;  // of a folder; empty: the root
    std::uint64_t cursor = 0;
    ExtendedKinds extended;
    LinkLimit links;
};
inline constexpr hl::Rpc<Listing(ListIn)> list_rpc{"cinnabar.save.list"};

// --- what interrupted saves left

struct RemainsIn {
    Seal seal;
    bool remove = false;  // true: remove the remains of `name`, or all if it is empty; false: list them
    std::string name;     // to list: return remains whose names sort after this one
};
struct RemainsOut {
    std::vector<Remains> remains;  // at most listing_entries_max entries, or listing_bytes_max of names
    bool more = false;
    std::uint32_t removed = 0;
};
inline constexpr hl::Rpc<RemainsOut(RemainsIn)> remains_rpc{"cinnabar.save.remains"};

// --- saving and fetching

struct AbortIn {
    Seal seal;
    std::uint64_t file = 0;
    bool keep = false;  // keep the part on disk, so that the same save can resume
};
// Ends a file early.
inline constexpr hl::Rpc<void(AbortIn)> abort_rpc{"cinnabar.save.abort"};

// Whether a save that ended with this error may be resumed: neither the data nor the disk was at fault.
[[nodiscard]] constexpr bool may_resume_after(Errc code) noexcept {
    return code != Errc::bad_checksum && code != Errc::io && code != Errc::invalid_argument && code != Errc::protocol;
}
// Files with fewer windows are not resumed.
inline constexpr std::uint64_t resumed_windows_min = 4;

// Deadlines of the client's calls. A commit waits until the server's disk has written its cache. A step of a sum has
// the same deadline, so that the client waits even for a disk that takes minutes for one window.
inline constexpr std::chrono::microseconds session_deadline = std::chrono::seconds(10);
inline constexpr std::chrono::microseconds open_deadline = std::chrono::seconds(30);
// At the server: a client that stops within a window keeps the buffer no longer than this, even if its deadline is
// later.
inline constexpr std::chrono::microseconds window_time_max = std::chrono::seconds(30);
inline constexpr std::chrono::microseconds window_deadline = std::chrono::seconds(60);
// At the server: a window that the client's rate limit would delay longer than this is refused, because the client
// might no longer be waiting when the window is moved (window_deadline).
inline constexpr std::chrono::microseconds rate_wait_max = std::chrono::seconds(40);
// At the server: a claim call does not begin another window after this time.
inline constexpr std::chrono::microseconds claim_step = std::chrono::seconds(5);
inline constexpr std::chrono::microseconds fill_deadline = std::chrono::seconds(30);
inline constexpr std::chrono::microseconds take_deadline = std::chrono::seconds(30);
// Deadline of the window call made inside a take call. It is earlier than the take call's own, so that the client knows
// which server was late.
inline constexpr std::chrono::microseconds handed_on_deadline = std::chrono::seconds(28);
inline constexpr std::chrono::microseconds commit_deadline = std::chrono::minutes(10);

}  // namespace cinnabar::files
