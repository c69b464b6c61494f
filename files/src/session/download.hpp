// SPDX-License-Identifier: BSD-3-Clause
// A file that a client fetches. The file is read and hashed in order; several windows are pushed at once. Belongs to
// the loop, except that disk threads read the file.
#pragma once

#include "file/blocks.hpp"
#include "file/checksum.hpp"
#include "session/buffers.hpp"
#include "session/disk.hpp"
#include "session/moving_windows.hpp"
#include "session/protocol.hpp"
#include "session/waiting.hpp"

#include <cinnabar/files/source_file.hpp>
#include <cinnabar/hl/bulk.hpp>
#include <cinnabar/hl/task.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace cinnabar::files {

class Download {
  public:
    Download(Buffers& buffers, SessionPart& session, Disk& disk, SourceFile file) noexcept
        : buffers_(buffers), session_(session), disk_(disk), file_(std::move(file)), share_(buffers, session) {}
    // Requires: none of its tasks is running. A disk thread closes the file.
    ~Download();
    Download(const Download&) = delete;
    Download& operator=(const Download&) = delete;

    // Sends one window. ok: the data is in the client's memory; holes and ranges that the client already has are not
    // sent. Errors, `may_come_again` and moves(): as for Upload::receive(). See also ReadIn::again.
    [[nodiscard]] hl::Task<Result<ReadOut>> send(const ReadIn& in, bool may_come_again = false);
    [[nodiscard]] bool moves(std::uint64_t offset) const { return moving_.contains(offset); }
    // Lends one window to the client by calling `give`, which fills in the rest of `take` and ends when the client no
    // longer uses the memory. Errors: those of Upload::receive().
    using Give = std::function<hl::Task<Result<void>>(TakeIn& take)>;
    [[nodiscard]] hl::Task<Result<LendOut>> lend(const LendIn& in, const Give& give);
    // Reads and hashes the file from position() on, without sending it, until the time `until` or the end of the file;
    // reads at least one window. At the end of the file, finish() returns the checksum. Requires: no other task reads
    // the file.
    [[nodiscard]] hl::Task<Result<void>> sum(std::chrono::steady_clock::time_point until);
    // How much was read.
    [[nodiscard]] std::uint64_t position() const noexcept { return reading_.position(); }
    // Returns the checksum of the whole file. invalid_argument: windows are missing. bad_checksum: the file was changed
    // while it was read.
    [[nodiscard]] hl::Task<Result<std::uint64_t>> finish();
    void close(Error why);
    // Whether windows wait for an earlier one that was not requested, and none is being transferred.
    [[nodiscard]] bool has_gap() const noexcept { return reading_.waited_for() && share_.idle(); }

    [[nodiscard]] std::uint64_t bytes() const noexcept { return file_.bytes(); }
    [[nodiscard]] const SourceFile& file() const noexcept { return file_; }

  private:
    [[nodiscard]] hl::Task<Result<ReadOut>> move(const ReadIn& in);
    // Reads a window once more and sends it; its bytes were counted in the checksum at the first time.
    [[nodiscard]] hl::Task<Result<ReadOut>> move_again(const ReadIn& in);
    [[nodiscard]] static hl::Task<Result<ReadOut>> push(const ReadIn& in, const Buffer& buffer,
                                                        std::vector<ByteRange> ranges);
    [[nodiscard]] hl::Task<Result<LendOut>> hand_out(const LendIn& in, const Give& give);
    [[nodiscard]] Result<ReadOut> read(const ReadIn& in, Bytes content);
    [[nodiscard]] static std::vector<ByteRange> lacking(const ReadIn& in, ConstBytes content);
    [[nodiscard]] Result<void> check(std::uint64_t offset, const hl::Bulk& window) const;
    [[nodiscard]] Error reason(Errc code) const { return failure_ ? *failure_ : Error{code, "no such window is due"}; }

    Buffers& buffers_;
    SessionPart& session_;
    Disk& disk_;
    SourceFile file_;
    Share share_;
    MovingWindows moving_;
    Sequence reading_;
    Checksum sum_;
    std::optional<Error> failure_;
};

}  // namespace cinnabar::files
