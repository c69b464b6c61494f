// SPDX-License-Identifier: BSD-3-Clause
// The calls of the save service, as both sides share them. What they mean, in which order they come and what each side
// promises is in docs/save-service.md; change both together.
#pragma once

#include <cinnabar/files/entry.hpp>
#include <cinnabar/files/key.hpp>
#include <cinnabar/files/new_file.hpp>
#include <cinnabar/files/remains.hpp>
#include <cinnabar/files/verified.hpp>
#include <cinnabar/hl/bulk.hpp>
#include <cinnabar/hl/rpc.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace cinnabar::files {

inline constexpr std::uint32_t protocol_version = 4;

// --- opening a session

struct HelloIn {
    std::uint32_t version = 0;
    Nonce nonce{};  // the client's
};
// The server keeps nothing of it: the login brings it back, and the server knows it by the tag.
struct Challenge {
    Nonce nonce{};                // the server's
    std::uint64_t issued_us = 0;  // on the server's clock
    Proof tag{};  // HMAC-SHA256 by a secret of the server over this, the client's nonce, and the connection
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
    Proof proof{};                   // the server's, over all of this; zeros without a key
    std::uint64_t window_bytes = 0;  // how much a window call may carry
    std::uint32_t windows_max = 0;   // how many of a file the server works on at once
};
inline constexpr hl::Rpc<LoginOut(LoginIn)> login_rpc{"cinnabar.save.login"};

// What every call of a session begins with, of either side.
struct Seal {
    Token token;               // of the session; good on the connection that it was given to
    std::uint64_t number = 0;  // of this call, among those of its side; each is good once
    Proof mac{};               // by the session's secret, over the call (seal.hpp); zeros without a key
};

struct HoldIn {
    Seal seal;
    std::uint16_t provider = 0;  // of the client's own calls (fill, take), since a node may have several sessions
};
// Stays open as long as the session; never answered but by an error. When it ends, for whatever reason, the server
// forgets the session and removes what it had not finished.
inline constexpr hl::Rpc<void(HoldIn)> hold_rpc{"cinnabar.save.hold"};

// Files are no larger, as the operating system counts (off_t). Whoever is told of more refuses the file.
inline constexpr std::uint64_t file_bytes_max = (std::uint64_t{1} << 63) - 1;

// --- saving a file

struct OpenIn {
    Seal seal;
    std::string name;
    std::uint64_t bytes = 0;
    Attributes attributes;
    bool exact = false;  // it gets all of the attributes; otherwise its mode, less the server's umask
    bool sparse = false;
    bool replace = false;
    bool checked = true;    // the commit carries a checksum
    bool compares = false;  // skip blocks that equal those of the file with this name
};
struct OpenOut {
    std::uint64_t file = 0;  // names it in the following calls
    // Of an interrupted save, the server has so much from the beginning: whole windows, or all. They are offered to it,
    // also in a push: it takes only those that are not what it has.
    std::uint64_t resumed_bytes = 0;
    // Size of the file that has the name now. Windows below it are offered to the server like those below
    // resumed_bytes, with the checksums of their blocks.
    std::uint64_t basis_bytes = 0;
};
inline constexpr hl::Rpc<OpenOut(OpenIn)> open_rpc{"cinnabar.save.open"};

struct WindowIn {
    Seal seal;
    std::uint64_t file = 0;
    std::uint64_t offset = 0;
    bool hole = false;                  // a hole of a sparse file: all zeros, and nothing is lent
    std::uint64_t checksum = 0;         // XXH3 of this window if it is below resumed_bytes; otherwise 0
    std::vector<std::uint64_t> blocks;  // block_checksums() of it if it is below basis_bytes; or none
    hl::Bulk window;                    // readable
};
struct WindowOut {
    std::uint64_t had_bytes = 0;  // those that the server had already and did not read
};
// Answered when the bytes are written.
inline constexpr hl::Rpc<WindowOut(WindowIn)> window_rpc{"cinnabar.save.window"};

// The same the other way round: the server grants a buffer, in a fill call to the client, which writes into it.
struct PushIn {
    Seal seal;
    std::uint64_t file = 0;
    std::uint64_t offset = 0;
};
// Answered when the bytes are written.
inline constexpr hl::Rpc<void(PushIn)> push_rpc{"cinnabar.save.push"};

struct FillIn {
    Seal seal;  // shows that it is the server
    std::uint64_t file = 0;
    std::uint64_t offset = 0;
    std::uint32_t notice = 0;  // notifies with this when the bytes are in place
    hl::Bulk buffer;           // writable; as long as the window
};
inline constexpr hl::Rpc<void(FillIn)> fill_rpc{"cinnabar.save.fill"};

struct CommitIn {
    Seal seal;
    std::uint64_t file = 0;
    std::uint64_t checksum = 0;  // XXH3, 64 bits, of the whole file, if it is checked
    bool synced = true;
};
// Answered when the file has its name and, if it is to be synced, is on disk.
inline constexpr hl::Rpc<void(CommitIn)> commit_rpc{"cinnabar.save.commit"};

// --- saving many small files at once

inline constexpr std::size_t pack_files_max = 64;
inline constexpr std::uint64_t packed_file_bytes_max = 128u << 10;  // larger ones are saved by themselves
inline constexpr std::size_t pack_text_bytes_max = 64u << 10;       // of names and extended attributes together

struct PackedFile {
    std::string name;
    std::uint64_t bytes = 0;
    std::uint64_t checksum = 0;  // XXH3, if it is checked
    Attributes attributes;
};
struct PackIn {
    Seal seal;
    std::vector<PackedFile> files;  // their contents follow each other in the window
    bool exact = false;             // as in OpenIn, for all of them
    bool replace = false;
    bool checked = true;
    Sync sync = Sync::batch;
    hl::Bulk window;  // readable; as long as all of them together
};
struct PackedOutcome {
    Errc code = Errc::ok;
    std::string text;
};
struct PackOut {
    std::vector<PackedOutcome> outcomes;  // one for each file, in their order
};
// Answered when all files have their names and are on disk, as `sync` says, or have failed.
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
    bool offered = false;               // the client already has all of it
    std::uint64_t checksum = 0;         // XXH3 of the offered bytes
    std::vector<std::uint64_t> blocks;  // block_checksums() of the older version there; or none
    hl::Bulk window;                    // writable; as long as the range to read
};
struct ReadOut {
    bool hole = false;            // a hole of a sparse file: all zeros, and nothing was written
    std::uint64_t had_bytes = 0;  // of the offered bytes, those that were the same and were not written
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

// --- copying a file to another server

// Asks the server to lend a window of an opened file to the client, in a take call. The client passes the memory on to
// the other server, in a window call, so the bytes go from server to server.
struct LendIn {
    Seal seal;
    std::uint64_t file = 0;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;  // window size of the other server
    bool offered = false;     // the other server may have it already, and needs its checksum
    bool compares = false;    // the same, with the checksums of its blocks
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
// Completes when the other server no longer uses the memory.
inline constexpr hl::Rpc<void(TakeIn)> take_rpc{"cinnabar.save.take"};

// Reads a file again, as it is now on the server's disk.
struct SumIn {
    Seal seal;
    std::string name;
};
inline constexpr hl::Rpc<Verified(SumIn)> sum_rpc{"cinnabar.save.sum"};

// --- what is there

struct LookIn {
    Seal seal;
    std::string name;  // of anything; a link is not followed
    ExtendedKinds extended;
};
struct LookOut {
    Entry entry;
    StoredChecksum stored;  // of a file
};
inline constexpr hl::Rpc<LookOut(LookIn)> look_rpc{"cinnabar.save.look"};

struct RemoveIn {
    Seal seal;
    std::string name;  // of a file, a link, or an empty folder
};
// Answered when it is gone from the disk.
inline constexpr hl::Rpc<void(RemoveIn)> remove_rpc{"cinnabar.save.remove"};

// --- trees

enum class MakeKind : std::uint8_t {
    folder,         // of its owner alone until it is finished
    finish_folder,  // gives it its attributes
    link,           // to `target`
    hard_link,      // another name of the file `target`
};
struct MakeIn {
    Seal seal;
    MakeKind kind = MakeKind::folder;
    std::string name;
    std::string target;
    Attributes attributes;
    bool replace = false;
};
// Answered when it is on disk.
inline constexpr hl::Rpc<void(MakeIn)> make_rpc{"cinnabar.save.make"};

struct ListIn {
    Seal seal;
    std::string name;  // of a folder; empty: the root
    std::uint64_t cursor = 0;
    ExtendedKinds extended;
};
inline constexpr hl::Rpc<Listing(ListIn)> list_rpc{"cinnabar.save.list"};

// --- what interrupted saves left

struct RemainsIn {
    Seal seal;
    bool remove = false;  // those of `name`, or all for an empty one; otherwise they are told
    std::string name;     // to be told: those behind it, by name
};
struct RemainsOut {
    std::vector<Remains> remains;  // up to listing_entries_max, or of listing_bytes_max of names
    bool more = false;
    std::uint32_t removed = 0;
};
inline constexpr hl::Rpc<RemainsOut(RemainsIn)> remains_rpc{"cinnabar.save.remains"};

// --- both

struct AbortIn {
    Seal seal;
    std::uint64_t file = 0;
    bool keep = false;  // what is on disk of it, for the same save later
};
// Gives a file up.
inline constexpr hl::Rpc<void(AbortIn)> abort_rpc{"cinnabar.save.abort"};

// Whether what is on disk of a file is as good as it was when it ended so: neither data nor disk are to blame.
[[nodiscard]] constexpr bool may_resume_after(Errc code) noexcept {
    return code != Errc::bad_checksum && code != Errc::io && code != Errc::invalid_argument && code != Errc::protocol;
}
// Smaller files begin anew.
inline constexpr std::uint64_t resumed_windows_min = 4;

// How long a client waits for each, from sending to answer. A commit waits for the disk to take what it has cached.
inline constexpr std::chrono::microseconds session_deadline = std::chrono::seconds(10);
inline constexpr std::chrono::microseconds open_deadline = std::chrono::seconds(30);
// At the server: whoever stops in the middle of a window keeps its buffers this long, however late its deadline is.
inline constexpr std::chrono::microseconds window_time_max = std::chrono::seconds(30);
inline constexpr std::chrono::microseconds window_deadline = std::chrono::seconds(60);
// At the server: a window that would have to wait longer for its client's rate is refused while the client still waits.
inline constexpr std::chrono::microseconds rate_wait_max = std::chrono::seconds(40);
inline constexpr std::chrono::microseconds fill_deadline = std::chrono::seconds(30);
inline constexpr std::chrono::microseconds take_deadline = std::chrono::seconds(30);
// Deadline of the window call that a take call leads to. It ends before the take call, so that the client knows which
// server was late.
inline constexpr std::chrono::microseconds handed_on_deadline = std::chrono::seconds(28);
inline constexpr std::chrono::microseconds commit_deadline = std::chrono::minutes(10);

}  // namespace cinnabar::files
