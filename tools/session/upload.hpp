// SPDX-License-Identifier: BSD-3-Clause
// A file on its way into the root: its windows are pulled, or pushed by the client, several at once, and hashed and
// written in the order of the file. Belongs to the loop, but for the writing, which the disk threads do one window at a
// time.
#pragma once

#include "file/checksum.hpp"
#include "file/new_file.hpp"
#include "session/buffers.hpp"
#include "session/disk.hpp"
#include "session/waiting.hpp"

#include <cinnabar/hl/bulk.hpp>
#include <cinnabar/hl/node.hpp>
#include <cinnabar/hl/task.hpp>

#include <cstdint>
#include <functional>
#include <optional>

namespace cinnabar::tools {

class Arrival;

class Upload {
  public:
    // `checked`: a checksum will be asked for.
    Upload(Buffers& buffers, Disk& disk, NewFile file, std::uint64_t bytes, bool checked) noexcept;
    // Requires: no task of it runs. What has not got its name is removed, by a disk thread.
    ~Upload();
    Upload(const Upload&) = delete;
    Upload& operator=(const Upload&) = delete;

    // One window. ok: it is written. invalid_argument: no window of this file, or one that came before. Otherwise the
    // error that ended the file, which is that of all windows.
    [[nodiscard]] hl::Task<Result<void>> receive(std::uint64_t offset, const hl::Bulk& window);
    // Has the client, who is asked for it on `node`, write the window into a buffer. As receive(). `ask` grants the
    // buffer, as the pushing side is to notify with that value; it ends when the client has let go of it.
    using Ask = std::function<hl::Task<Result<void>>(hl::Bulk buffer, std::uint32_t notice)>;
    [[nodiscard]] hl::Task<Result<void>> grant(std::uint64_t offset, const hl::NodeRef& node, const na::Addr& client,
                                               const Ask& ask);
    // Verifies, syncs, names. invalid_argument: windows are missing. bad_checksum. Those of NewFile::commit.
    [[nodiscard]] hl::Task<Result<void>> commit(std::uint64_t checksum);
    // Ends it early: windows that wait, or come later, end with `why`.
    void close(Error why);
    // Its windows wait for one before them that has not come, and nothing else of it is under way.
    [[nodiscard]] bool has_gap() const noexcept { return taking_.waited_for() && share_.idle(); }

    [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] bool checked() const noexcept { return checked_; }

  private:
    [[nodiscard]] hl::Task<Result<void>> pull(std::uint64_t offset, const hl::Bulk& window);
    [[nodiscard]] hl::Task<Result<void>> have_pushed(std::uint64_t offset, std::uint64_t bytes, const hl::NodeRef& node,
                                                     const na::Addr& client, const Ask& ask);
    [[nodiscard]] hl::Task<Result<void>> write_when_there(Arrival& arrival, std::uint64_t offset, ConstBytes content);
    // A buffer, in the order of the file.
    [[nodiscard]] hl::Task<Result<Buffer>> take(std::uint64_t offset, std::uint64_t bytes);
    [[nodiscard]] hl::Task<Result<void>> write(std::uint64_t offset, ConstBytes content);
    // Of the window at `offset`; 0: the file has none there.
    [[nodiscard]] std::uint64_t window_bytes(std::uint64_t offset) const noexcept;
    // Why a wait ended: the file's own failure, if it has one.
    [[nodiscard]] Error reason(Errc code) const { return failure_ ? *failure_ : Error{code, "no such window is due"}; }

    Buffers& buffers_;
    Disk& disk_;
    NewFile file_;
    const std::uint64_t bytes_;
    const bool checked_;
    Share share_;
    Sequence taking_;   // of a buffer
    Sequence writing_;  // to the file
    Checksum sum_;
    std::optional<Error> failure_;
};

}  // namespace cinnabar::tools
