// SPDX-License-Identifier: BSD-3-Clause
// A file that a client saves. Several windows are transferred at once, pulled by the server or pushed by the client;
// they are hashed and written in file order. Belongs to the loop, except that disk threads write the file, one window
// at a time.
#pragma once

#include "file/arriving_sum.hpp"
#include "file/blocks.hpp"
#include "session/buffers.hpp"
#include "session/disk.hpp"
#include "session/known_remains.hpp"
#include "session/moving_windows.hpp"
#include "session/protocol.hpp"
#include "session/waiting.hpp"

#include <cinnabar/files/new_file.hpp>
#include <cinnabar/files/root.hpp>
#include <cinnabar/files/source_file.hpp>
#include <cinnabar/hl/bulk.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/task.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace cinnabar::files {

class Arrival;

class Upload {
  public:
    // `checked`: commit() will be given a checksum. `sparse`: NewFile::set_sparse was called.
    Upload(Buffers& buffers, SessionPart& session, Disk& disk, const Root& root, NewFile file, std::uint64_t bytes,
           bool checked, bool sparse) noexcept;
    // Requires: none of its tasks is running. On a disk thread, removes a file that was not committed, or keeps the
    // part on disk as remains, if neither side's data was at fault; then trims the root's remains.
    ~Upload();
    Upload(const Upload&) = delete;
    Upload& operator=(const Upload&) = delete;

    // Skips the part of the remains that `known` says was compared, if the client is the same, and neither the remains
    // nor the source file have changed since; with `rereads`, skips nothing. If this object leaves remains, a disk
    // thread stores in `known` how much of them was compared, so `known` must outlive the disk's work. Call before the
    // first window.
    void use_known(KnownRemains& known, KnownRemains::Sender sender, bool rereads);
    // Sets the older version of the file; blocks that it has are not pulled. Call before the first window.
    void compare_with(SourceFile basis) { basis_.emplace(std::move(basis)); }

    // Pulls one window, except for the parts that the server already has. ok: the window is written. invalid_argument:
    // the file has no such window, or has received it before. Any error ends the file, and all its windows fail with
    // that error. With `may_come_again`, the file ends only if the data or the disk is at fault, or if the window lies
    // below resumed_bytes(); a window that could not be pulled may be received once more, over another connection
    // (WindowIn::again). If that fails as well, the file ends. Requires for the second time: !moves(in.offset).
    [[nodiscard]] hl::Task<Result<WindowOut>> receive(const WindowIn& in, bool may_come_again = false);
    // Whether a task receives that window.
    [[nodiscard]] bool moves(std::uint64_t offset) const { return moving_.contains(offset); }
    // Whether the file has failed, was given up, or is being committed.
    [[nodiscard]] bool ended() const noexcept { return failure_.has_value(); }
    // Reads windows that remain from an interrupted save, and compares them with the checksums. Returns how many
    // windows, from the first one on, are as claimed; these count as received. Errors: those of receive().
    [[nodiscard]] hl::Task<Result<ClaimOut>> claim(const ClaimIn& in);
    // Receives a window of a sparse file that is a hole.
    [[nodiscard]] hl::Task<Result<void>> receive_hole(const WindowIn& in);
    // Grants the client a buffer by calling `ask`. The client writes the window into it and then notifies `node` with
    // the value `notice`. `ask` ends when the client no longer uses the buffer. Errors and `may_come_again`: as for
    // receive().
    using Ask = std::function<hl::Task<Result<void>>(hl::Bulk buffer, std::uint32_t notice)>;
    [[nodiscard]] hl::Task<Result<void>> grant(const PushIn& in, const hl::NodeRef& node, const na::Addr& client,
                                               const Ask& ask, bool may_come_again = false);
    // Verifies the checksum, which covers the file from proven_bytes() on, syncs the file and renames it into place.
    // invalid_argument: windows are missing. bad_checksum. Also the errors of NewFile::commit(). `before_naming` must
    // live until the task ends.
    [[nodiscard]] hl::Task<Result<void>> commit(std::uint64_t checksum, const NewFile::BeforeNaming& before_naming = {},
                                                bool synced = true);
    // Ends the file early: waiting and later windows fail with `why`.
    void close(Error why);
    // As close(), and leaves no remains.
    void give_up(Error why);
    // Whether windows wait for an earlier one that was not sent, and none is being transferred.
    [[nodiscard]] bool has_gap() const noexcept { return taking_.waited_for() && share_.idle(); }
    // Call once a second. Returns for how many seconds the longest lost window has waited to be sent again; 0 without
    // one.
    [[nodiscard]] unsigned count_lost_second() noexcept;
    // Whether the window came before, and so has counted in the client's rate: it is written, or its buffer is kept.
    [[nodiscard]] bool came_before(std::uint64_t offset) const {
        return offset < writing_.position() || to_come_again_.contains(offset);
    }

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::uint64_t resumed_bytes() const noexcept { return file_.resumed_bytes(); }
    [[nodiscard]] std::uint64_t basis_bytes() const noexcept { return basis_ ? basis_->bytes() : 0; }
    [[nodiscard]] std::uint64_t proven_bytes() const noexcept { return proven_bytes_; }
    // XXH3 of the whole file, once commit() has begun. Empty if the file is not checked.
    [[nodiscard]] std::optional<std::uint64_t> checksum() const noexcept {
        return checked_ ? std::optional(sum_.whole().digest()) : std::nullopt;
    }

  private:
    [[nodiscard]] hl::Task<Result<WindowOut>> pull(const WindowIn& in, bool may_come_again);
    // The buffer that the window had over the lost connection, or a new one.
    [[nodiscard]] hl::Task<Result<Buffer>> buffer_for(std::uint64_t offset, bool again);
    void keep_for_again(std::uint64_t offset, Buffer buffer);
    [[nodiscard]] hl::Task<Result<WindowOut>> compare(const WindowIn& in);
    [[nodiscard]] hl::Task<Result<ClaimOut>> verify(const ClaimIn& in);
    // Fills the buffer with the window: blocks that the older version has are read from it, blocks of zeros of a sparse
    // file are filled in, the others are pulled. Returns the number of bytes that were not pulled.
    [[nodiscard]] hl::Task<Result<std::uint64_t>> pull_into(const Buffer& buffer, const WindowIn& in);
    [[nodiscard]] std::vector<ByteRange> take_from_basis(const WindowIn& in, Bytes content) const;
    [[nodiscard]] hl::Task<Result<void>> have_pushed(const PushIn& in, const hl::NodeRef& node, const na::Addr& client,
                                                     const Ask& ask, bool may_come_again);
    [[nodiscard]] hl::Task<Result<void>> write_when_there(Arrival& arrival, std::uint64_t offset, ConstBytes content);
    [[nodiscard]] hl::Task<Result<void>> leave_out(const WindowIn& in, std::uint64_t bytes);
    // Awaits a buffer for the window, in file order.
    [[nodiscard]] hl::Task<Result<Buffer>> take(std::uint64_t offset, std::uint64_t bytes);
    // Writes the window in its turn. `so_far`: the client's checksum of the file from proven_bytes() to the end of the
    // window, if the client sent one. bad_checksum: the data that has arrived has another checksum, and the window is
    // not written.
    using SoFar = std::optional<std::uint64_t>;
    [[nodiscard]] hl::Task<Result<void>> write(std::uint64_t offset, ConstBytes content, SoFar so_far);
    // Requires: the caller has the turn for `offset` (writing_).
    [[nodiscard]] hl::Task<Result<void>> write_now(std::uint64_t offset, ConstBytes content, SoFar so_far);
    // Call on a disk thread when the window is written. `sum` includes the window, and was compared with `so_far`.
    void keep_sum(ArrivingSum sum, SoFar so_far) noexcept;
    // What is known of the remains that this object leaves. Empty: nothing.
    [[nodiscard]] std::optional<KnownRemains::Part> known_part();
    // Call when everything before `offset` is written: starts a checkpoint if one is due, and lets later windows
    // continue.
    void advance(std::uint64_t offset);
    [[nodiscard]] bool keeps() const noexcept;
    // The size of the window at `offset`; 0: the file has no window there.
    [[nodiscard]] std::uint64_t window_bytes(std::uint64_t offset) const noexcept;
    // The error to report for a wait that ended with `code`: that of the file, if it has failed.
    [[nodiscard]] Error reason(Errc code) const { return failure_ ? *failure_ : Error{code, "no such window is due"}; }

    Buffers& buffers_;
    Disk& disk_;
    const Root& root_;
    NewFile file_;
    std::optional<SourceFile> basis_;
    const std::uint64_t bytes_;
    const bool checked_;
    const bool sparse_;
    Share share_;
    struct Kept {
        Buffer buffer;
        unsigned seconds = 0;
    };
    // Buffers of windows whose connection was lost, by offset. They are kept because later windows may have taken all
    // other buffers, and wait until these windows are written.
    std::map<std::uint64_t, Kept> to_come_again_;
    MovingWindows moving_;
    Sequence taking_;   // order in which windows take buffers
    Sequence writing_;  // order in which windows are written
    ArrivingSum sum_;   // of everything that was written or compared
    KnownRemains* known_ = nullptr;
    KnownRemains::Sender sender_;
    std::uint64_t proven_bytes_ = 0;
    bool compared_ = true;  // everything in sum_ was compared with a checksum of the client
    std::optional<Error> failure_;
    bool given_up_ = false;
};

}  // namespace cinnabar::files
