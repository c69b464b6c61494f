// SPDX-License-Identifier: BSD-3-Clause
// A file that a client saves. Several windows are pulled, or pushed by the client, at once; they are hashed and written
// in the order of the file. Belongs to the loop, except that disk threads write the file, one window at a time.
#pragma once

#include "file/blocks.hpp"
#include "file/checksum.hpp"
#include "session/buffers.hpp"
#include "session/disk.hpp"
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
#include <optional>
#include <vector>

namespace cinnabar::files {

class Arrival;

class Upload {
  public:
    // `checked`: a checksum will be asked for. `sparse`: the file was set_sparse.
    Upload(Buffers& buffers, SessionPart& session, Disk& disk, const Root& root, NewFile file, std::uint64_t bytes,
           bool checked, bool sparse) noexcept;
    // Requires: none of its tasks runs. A disk thread removes a file that was not committed, or keeps what is on disk
    // of it, after an end that neither side's data is to blame for; then the root's remains are trimmed.
    ~Upload();
    Upload(const Upload&) = delete;
    Upload& operator=(const Upload&) = delete;

    // The file that has the name now; its parts of a window are not pulled. Call before the first window.
    void compare_with(SourceFile basis) { basis_.emplace(std::move(basis)); }

    // Pulls one window, except for the parts that are here already. ok: it is written. invalid_argument: the file has
    // no such window, or has received it before. Any other error has ended the file, and is the same for all its
    // windows.
    [[nodiscard]] hl::Task<Result<WindowOut>> receive(const WindowIn& in);
    // One window that is all zeros, of a sparse file.
    [[nodiscard]] hl::Task<Result<void>> receive_hole(std::uint64_t offset);
    // Grants the client a buffer by `ask`, into which it writes the window and then notifies `node` with `notice`.
    // `ask` ends when the client has let go of the buffer. Results as of receive().
    using Ask = std::function<hl::Task<Result<void>>(hl::Bulk buffer, std::uint32_t notice)>;
    [[nodiscard]] hl::Task<Result<void>> grant(std::uint64_t offset, const hl::NodeRef& node, const na::Addr& client,
                                               const Ask& ask);
    // Verifies, syncs, names. invalid_argument: windows are missing. bad_checksum. Those of NewFile::commit.
    // `before_naming` must live until the task ends.
    [[nodiscard]] hl::Task<Result<void>> commit(std::uint64_t checksum, const NewFile::BeforeNaming& before_naming = {},
                                                bool synced = true);
    // Ends the file early: windows that wait, and later ones, end with `why`.
    void close(Error why);
    // The same, and nothing is kept of it.
    void give_up(Error why);
    // Its windows wait for an earlier one that has not been sent, and none is being moved.
    [[nodiscard]] bool has_gap() const noexcept { return taking_.waited_for() && share_.idle(); }

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] bool checked() const noexcept { return checked_; }
    [[nodiscard]] std::uint64_t resumed_bytes() const noexcept { return file_.resumed_bytes(); }
    [[nodiscard]] std::uint64_t basis_bytes() const noexcept { return basis_ ? basis_->bytes() : 0; }

  private:
    [[nodiscard]] hl::Task<Result<WindowOut>> pull(const WindowIn& in);
    [[nodiscard]] hl::Task<Result<WindowOut>> compare(const WindowIn& in);
    // Fills the buffer, from the older version as far as possible. Returns how many bytes came from there.
    [[nodiscard]] hl::Task<Result<std::uint64_t>> pull_into(const Buffer& buffer, const WindowIn& in);
    [[nodiscard]] std::vector<ByteRange> take_from_basis(const WindowIn& in, Bytes content) const;
    [[nodiscard]] hl::Task<Result<void>> have_pushed(std::uint64_t offset, std::uint64_t bytes, const hl::NodeRef& node,
                                                     const na::Addr& client, const Ask& ask);
    [[nodiscard]] hl::Task<Result<void>> write_when_there(Arrival& arrival, std::uint64_t offset, ConstBytes content);
    [[nodiscard]] hl::Task<Result<void>> leave_out(std::uint64_t offset, std::uint64_t bytes);
    // Awaits a buffer for the window, in the order of the file.
    [[nodiscard]] hl::Task<Result<Buffer>> take(std::uint64_t offset, std::uint64_t bytes);
    [[nodiscard]] hl::Task<Result<void>> write(std::uint64_t offset, ConstBytes content);
    // Requires: the turn of `offset` is its own.
    [[nodiscard]] hl::Task<Result<void>> write_now(std::uint64_t offset, ConstBytes content);
    // The window is written: later ones go on.
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
    Sequence taking_;   // of a buffer
    Sequence writing_;  // to the file
    Checksum sum_;
    std::optional<Error> failure_;
    bool given_up_ = false;
};

}  // namespace cinnabar::files
